import autocannon from 'autocannon';

export interface ClosedLoopOptions {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** Shared by all connections, or by connection. */
  readonly headers: Headers | ((connection: number) => Headers);
  /**
   * The path of a connection, which stays the same: building requests again costs the generator more than sending
   * them.
   */
  readonly path: (connection: number) => string;
  /** JSON with UNIQUE in it once, which each request replaces by a number that never comes again. Without: GET. */
  readonly body?: string;
}

type Headers = Readonly<Record<string, string>>;

export interface ClosedLoopReport {
  readonly perSecond: number;
  /** Whole milliseconds: autocannon counts no finer. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Every request that was answered, also before the counting began. */
  readonly answered: number;
}

/** Stands in a body for the number of the request; as long as what it becomes. */
export const UNIQUE = '000000000000';

/**
 * autocannon: each connection sends its next request as soon as it has the answer to the last one. Counts from
 * SETTLE_MS on, when all are connected. Rejects if any answer was not 2xx.
 */
export async function closedLoop(options: ClosedLoopOptions): Promise<ClosedLoopReport> {
  const { port, connections, durationMs, headers, path, body } = options;
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
      const common = {
        path: path(connection),
        headers: typeof headers === 'function' ? headers(connection) : headers,
      };
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

const SETTLE_MS = 500;
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Fields of autocannon's client that its types lack. */
interface NumberedClient extends autocannon.Client {
  getRequestBuffer(): Buffer;
}

let lastNumber = 0;

/**
 * Writes the next number over the digits in the request's own bytes. autocannon's ways to make requests differ
 * (idReplacement, setupRequest) build the whole request again: 50–65 µs a request more, measured here, twice
 * what sending one costs.
 */
function numberRequests(client: NumberedClient, body: string): void {
  const fromEnd =
    Buffer.byteLength(body) - Buffer.byteLength(body.slice(0, body.indexOf(UNIQUE))) - UNIQUE.length;
  const original = client.getRequestBuffer.bind(client);
  client.getRequestBuffer = () => {
    const bytes = original();
    lastNumber += 1;
    let at = bytes.length - fromEnd - 1;
    for (let rest = lastNumber; rest > 0; rest = Math.floor(rest / 10)) {
      bytes[at] = ZERO + (rest % 10);
      at -= 1;
    }
    return bytes;
  };
}

const ZERO = '0'.charCodeAt(0);
