import autocannon from 'autocannon';
import { type ClosedLoopOptions, type ClosedLoopReport, headersOf, SETTLE_MS } from './closed-loop.ts';
import { LatencyHistogram, type Percentiles } from './latency-histogram.ts';
import { bytesBehindUnique, UNIQUE, writeUnique } from './unique-number.ts';

/**
 * Sends as many requests as the connections get through. Counts from SETTLE_MS on, when all are
 * connected. Rejects if any answer was not 2xx.
 */
export async function autocannonLoop(options: ClosedLoopOptions): Promise<ClosedLoopReport> {
  const { port, connections, durationMs, path, body } = options;
  let counted = 0;
  let endedMs = 0;
  const startMs = performance.now() + SETTLE_MS;
  const result = await fire({
    port,
    connections,
    durationMs: durationMs + SETTLE_MS,
    requests: (connection) => {
      const common = { path: path(connection), headers: headersOf(options, connection) };
      if (body === undefined) return [{ ...common, method: 'GET' }];
      return [{ ...common, method: 'POST', headers: { ...common.headers, ...JSON_TYPE }, body }];
    },
    onResponse: () => {
      const nowMs = performance.now();
      if (nowMs < startMs || nowMs > startMs + durationMs) return;
      counted += 1;
      endedMs = nowMs;
    },
  });
  return {
    perSecond: (counted * 1_000) / (endedMs - startMs),
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    answered: result['2xx'],
  };
}

export interface AtRateOptions extends Load {
  /** Of all connections together. */
  readonly ratePerSecond: number;
}

export interface AtRateReport {
  readonly answered: number;
  readonly latencyUs: Percentiles;
  /** As its own table has it: whole milliseconds, with its correction for coordinated omission. */
  readonly tableP99Ms: number;
}

/**
 * Sends at autocannon's `overallRate`: at the beginning of each second a connection sends its share
 * of that second, one request behind the other. Its table has whole milliseconds, too coarse for a
 * bare route. Its correction for coordinated omission adds the times that a request a millisecond
 * would have had, whatever the rate. For a slow server alone these are more and shorter times,
 * which make its p99 better. So the percentiles are of the times that come with the answers,
 * without each connection's first, which connects. Rejects if any answer was not 2xx.
 */
export async function autocannonAtRate(options: AtRateOptions): Promise<AtRateReport> {
  const latency = new LatencyHistogram();
  const connected = new WeakSet<autocannon.Client>();
  const onResponse = (client: autocannon.Client, ms: number) => {
    if (connected.has(client)) latency.recordUs(ms * 1_000);
    connected.add(client);
  };
  const result = await fire({ ...options, onResponse });
  return { answered: result['2xx'], latencyUs: latency.percentiles(), tableP99Ms: result.latency.p99 };
}

export const JSON_TYPE = { 'Content-Type': 'application/json' };

interface Load {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /**
   * Returns the requests that a connection repeats. Either all bodies or none have UNIQUE in them,
   * with the same number of bytes behind it: each request gets another number in its place.
   */
  readonly requests: (connection: number) => readonly autocannon.Request[];
}

interface Fire extends Load {
  readonly ratePerSecond?: number;
  readonly onResponse: (client: autocannon.Client, ms: number) => void;
}

async function fire(load: Fire): Promise<autocannon.Result> {
  const { port, connections, durationMs, ratePerSecond, requests, onResponse } = load;
  let connection = 0;
  const settings: autocannon.Options = {
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: durationMs / 1_000,
    sampleInt: 50,
    ...(ratePerSecond === undefined ? {} : { overallRate: ratePerSecond }),
    setupClient: (client) => {
      const all = requests(connection);
      connection += 1;
      client.setRequests([...all]);
      const body = all[0]?.body;
      if (typeof body === 'string' && body.includes(UNIQUE)) numberRequests(client as NumberedClient, body);
    },
  };
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(settings, (error: unknown, result) => (error ? reject(error) : resolve(result)));
    run.on('response', (client, _status, _bytes, ms) => onResponse(client, ms));
  });
  const bad = result.non2xx + result.errors + result.timeouts;
  if (bad > 0)
    throw new Error(
      `${bad} requests failed: ${JSON.stringify(result.statusCodeStats)}, ${result.errors} errors`,
    );
  return result;
}

/** Fields of autocannon's client that its types lack. */
interface NumberedClient extends autocannon.Client {
  getRequestBuffer(): Buffer;
}

/**
 * Writes the next number into the request's own bytes. autocannon's ways to make requests differ
 * (idReplacement, setupRequest) build the whole request again. That takes 50–65 µs more a request,
 * measured here, twice the cost of sending it.
 */
function numberRequests(client: NumberedClient, body: string): void {
  const behind = bytesBehindUnique(body);
  const original = client.getRequestBuffer.bind(client);
  client.getRequestBuffer = () => {
    const bytes = original();
    writeUnique(bytes, bytes.length - behind);
    return bytes;
  };
}
