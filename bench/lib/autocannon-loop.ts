import autocannon from 'autocannon';
import { type ClosedLoopOptions, type ClosedLoopReport, headersOf, SETTLE_MS } from './closed-loop.ts';
import { bytesBehindUnique, writeUnique } from './unique-number.ts';

/**
 * autocannon, whose latencies are whole milliseconds. Counts from SETTLE_MS on, when all are
 * connected. Rejects if any answer was not 2xx.
 */
export async function autocannonLoop(options: ClosedLoopOptions): Promise<ClosedLoopReport> {
  const { port, connections, durationMs, path, body } = options;
  let connection = 0;
  let counted = 0;
  let endedMs = 0;
  const startMs = performance.now() + SETTLE_MS;
  const onResponse = () => {
    const nowMs = performance.now();
    if (nowMs < startMs || nowMs > startMs + durationMs) return;
    counted += 1;
    endedMs = nowMs;
  };
  const settings: autocannon.Options = {
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: (durationMs + SETTLE_MS) / 1_000,
    sampleInt: 50,
    setupClient: (client) => {
      const common = { path: path(connection), headers: headersOf(options, connection) };
      connection += 1;
      if (body === undefined) {
        client.setRequests([{ ...common, method: 'GET' }]);
        return;
      }
      client.setRequests([{ ...common, method: 'POST', headers: { ...common.headers, ...JSON_TYPE }, body }]);
      numberRequests(client as NumberedClient, body);
    },
  };
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(settings, (error: unknown, result) => (error ? reject(error) : resolve(result)));
    run.on('response', onResponse);
  });
  const bad = result.non2xx + result.errors + result.timeouts;
  if (bad > 0)
    throw new Error(
      `${bad} requests failed: ${JSON.stringify(result.statusCodeStats)}, ${result.errors} errors`,
    );
  return {
    perSecond: (counted * 1_000) / (endedMs - startMs),
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    answered: result['2xx'],
  };
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Fields of autocannon's client that its types lack. */
interface NumberedClient extends autocannon.Client {
  getRequestBuffer(): Buffer;
}

/**
 * Writes the next number into the request's own bytes. autocannon's ways to make requests differ
 * (idReplacement, setupRequest) build the whole request again: 50–65 µs a request more, measured
 * here, twice what sending one costs.
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
