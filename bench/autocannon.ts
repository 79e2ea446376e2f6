import { connect } from 'node:net';
import { type Answering, startAnswering } from './lib/answering.ts';
import { autocannonAtRate } from './lib/autocannon-loop.ts';
import { compareWith } from './lib/compare.ts';
import { type Endpoint, openEndpoints } from './lib/endpoints.ts';
import { openLoop } from './lib/open-loop.ts';
import type { Side } from './lib/pairs.ts';
import { type BenchDatabase, checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { startMeter } from './lib/processor-time.ts';
import { type Product, startProduct } from './lib/product.ts';
import { upgradeRequest } from './lib/websocket-frames.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * The p99 of each of the five endpoints at a fixed rate by autocannon, and of the upgrade to a
 * WebSocket by our open loop. The control is a bare uWebSockets.js route with the same bytes.
 */
export const AUTOCANNON: Work = {
  name: 'autocannon',
  title: 'p99 of the five endpoints at a fixed rate',
  fullOnly: true,
  run,
};

async function run(session: Session): Promise<void> {
  for (const { work, ours, control, atMost } of await openLatencies(session)) {
    const against = [{ work, control, atMost }];
    await session.part(work, () =>
      compareWith(session, { unit: 'ms', ours, against, facts: { connections: CONNECTIONS } }),
    );
  }
}

export interface Latency {
  readonly work: string;
  /** Their figures are the p99 in milliseconds. */
  readonly ours: Side;
  readonly control: Side;
  /** The greatest ratio. */
  readonly atMost: number;
}

const CONNECTIONS = 5;
/** Upgrades a second. */
const UPGRADES = 200;
const MOST_OF_UPGRADES = 5;

export async function openLatencies({ disposer }: Session): Promise<readonly Latency[]> {
  const { parley: postgres } = await startPostgres(disposer, ['parley']);
  const nodeFlags = ['--import=./bench/servers/without-limits.ts'];
  const product = await startProduct(disposer, { databaseUrl: postgres.url, nodeFlags });
  const latencies: Latency[] = [];
  for (const endpoint of await openEndpoints(product, CONNECTIONS)) {
    const control = await startAnswering(disposer, await answersOf(product, endpoint));
    latencies.push({
      work: `p99 of ${endpoint.name} at ${endpoint.rate}/s`,
      ours: endpointSide('parley', product, endpoint, postgres),
      control: endpointSide('bare uws', control, endpoint, postgres),
      atMost: endpoint.atMost,
    });
  }
  const control = await startAnswering(disposer, { frame: await greetingOf(product), status: '200 OK' });
  latencies.push({
    work: `p99 of Realtime at ${UPGRADES} upgrades/s`,
    ours: upgradeSide('parley', product, product.headers, postgres),
    control: upgradeSide('bare uws', control, product.headers, postgres),
    atMost: MOST_OF_UPGRADES,
  });
  return latencies;
}

/** Returns the product's answers. */
async function answersOf({ demo }: Product, { name, prepare }: Endpoint) {
  const [[request] = []] = await prepare(1);
  const { method = 'GET', path = '/', headers = {}, body } = request ?? {};
  const response = await fetch(`${demo.base_url}${path}`, {
    method,
    headers: headers as Record<string, string>,
    ...(body === undefined ? {} : { body: body as string }),
  });
  const frame = await response.text();
  if (!response.ok) throw new Error(`${name}: ${response.status} ${frame}`);
  return { frame, status: `${response.status} ${response.statusText}` };
}

function endpointSide(
  name: string,
  { process, port }: Answering,
  { rate, prepare }: Endpoint,
  postgres: BenchDatabase,
): Side {
  return {
    name,
    run: async (durationMs) => {
      // Counts a share for each second that begins.
      const count = (rate / CONNECTIONS) * (Math.floor(durationMs / 1_000) + 1);
      const requests = await prepare(count);
      await settle(postgres);
      const used = startMeter({ servers: [process], postgres });
      const { answered, latencyUs, tableP99Ms } = await autocannonAtRate({
        port,
        connections: CONNECTIONS,
        ratePerSecond: rate,
        durationMs,
        requests: (connection) => requests[connection]!,
      });
      return {
        figure: latencyUs.p99 / 1_000,
        operations: answered,
        processor: used(answered),
        notes: { p50_ms: latencyUs.p50 / 1_000, max_ms: latencyUs.max / 1_000, table_p99_ms: tableP99Ms },
      };
    },
  };
}

function upgradeSide(
  name: string,
  { process, port }: Answering,
  headers: Readonly<Record<string, string>>,
  postgres: BenchDatabase,
): Side {
  return {
    name,
    run: async (durationMs) => {
      await settle(postgres);
      const used = startMeter({ servers: [process], postgres });
      const { sent, failed, latencyUs, latenessUs } = await openLoop({
        ratePerSecond: UPGRADES,
        durationMs,
        send: (_, done) => void upgrade(port, headers).then(({ isReady }) => done(isReady)),
      });
      if (failed > 0) throw new Error(`${failed} of ${sent} upgrades failed`);
      return {
        figure: latencyUs.p99 / 1_000,
        operations: sent,
        processor: used(sent),
        notes: { p50_ms: latencyUs.p50 / 1_000, generator_late_p99_ms: latenessUs.p99 / 1_000 },
      };
    },
  };
}

/** Waits until the work of earlier blocks and of the preparation is done, outside of any block. */
async function settle(postgres: BenchDatabase): Promise<void> {
  await drainOutbox(postgres);
  await checkpoint(postgres);
}

/** Returns the frames that a new socket gets: `hello` and `ready`. */
async function greetingOf({ port, headers }: Product): Promise<string> {
  const { isReady, received } = await upgrade(port, headers);
  if (!isReady) throw new Error(`no socket was opened: ${received}`);
  return received.slice(received.indexOf('{'));
}

/** Connects and upgrades. Resolves when the server has said that the socket is ready. */
function upgrade(
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly isReady: boolean; readonly received: string }> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const end = (isReady: boolean) => {
      socket.destroy();
      resolve({ isReady, received });
    };
    socket.write(upgradeRequest('/v1/realtime', headers));
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      if (received.includes('"type":"ready"')) end(true);
    });
    socket.once('error', () => end(false)).once('close', () => end(false));
  });
}
