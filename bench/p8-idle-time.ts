import { setTimeout as delay } from 'node:timers/promises';
import { type IdleServer, openIdleControl, openIdleParley } from './lib/idle-servers.ts';
import { raiseOpenFiles } from './lib/open-files.ts';
import { type Block, compareBlocks } from './lib/pairs.ts';
import { cpuSeconds, familySeconds } from './lib/processor-time.ts';
import { comparisonRow } from './lib/row.ts';
import { until } from './lib/until.ts';
import type { Findings, Session, Work } from './lib/work.ts';

/**
 * The processor time of an answered heartbeat, against raw uWebSockets.js that exchanges the same
 * bytes through JavaScript in the same window. It also measures a node without sockets, and its
 * Postgres.
 */
export const P8: Work = { name: 'p8', title: 'processor time of idle sockets', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const sizes = SIZES[session.scale];
  const { accounts, windowMs, windows } = sizes;
  // The sockets of both servers are in this process.
  const most = Math.floor((raiseOpenFiles(2 * sizes.sockets + SPARE_FILES) - SPARE_FILES) / 2);
  const sockets = Math.min(most, sizes.sockets);
  const parley = await openIdleParley(session, sockets);

  await session.part('P8 an idle node', () => measureNode(session, parley, sizes, 0));
  await session.part('P8 an idle node with accounts', async () => {
    await parley.seedAccounts?.(accounts);
    return measureNode(session, parley, sizes, accounts);
  });
  await session.part('P8 heartbeats', () =>
    measureHeartbeats(session, parley, { sockets, windowMs, windows }),
  );
}

/**
 * A node is not idle until V8 has collected the whole heap after its start. V8 does so within the
 * first minute, and takes 0.3 % of that minute.
 */
const SETTLE_START_MS = 70_000;
const SIZES = {
  full: { sockets: 10_000, accounts: 1_000, settleMs: SETTLE_START_MS, windowMs: 50_000, windows: 3 },
  short: { sockets: 5_000, accounts: 1_000, settleMs: SETTLE_START_MS, windowMs: 15_000, windows: 1 },
  brief: { sockets: 500, accounts: 10, settleMs: 0, windowMs: 1_000, windows: 1 },
} as const;
const SPARE_FILES = 1_000;
const MAX_RATIO = 2;
/** Of a core, in per cent: node and Postgres together. */
const MAX_IDLE = 0.5;

async function measureNode(
  session: Session,
  { process, postgresPid }: IdleServer,
  { settleMs, windowMs }: Readonly<Record<'settleMs' | 'windowMs', number>>,
  accounts: number,
) {
  if (postgresPid === undefined) throw new Error('a node of ours has a Postgres');
  await delay(settleMs);
  const read = () => ({ node: cpuSeconds(process.pid), postgres: familySeconds(postgresPid) });
  const startMs = performance.now();
  const before = read();
  await delay(windowMs);
  const after = read();
  const seconds = (performance.now() - startMs) / 1_000;
  const share = (which: 'node' | 'postgres') => ((after[which] - before[which]) / seconds) * 100;
  const [node, postgres] = [share('node'), share('postgres')];
  const both = node + postgres;
  const ours = `${both.toFixed(2)} % (${node.toFixed(2)} node, ${postgres.toFixed(2)} Postgres)`;
  session.say(`  ${ours}`);
  const goal = { text: `≤ ${MAX_IDLE} %`, met: both <= MAX_IDLE };
  const work = `P8 node without sockets, ${accounts} idle accounts`;
  const row = { work, ours, control: '', ratio: null, goal };
  return {
    rows: [{ ...row, processor: { ours: {}, control: {} } }],
    facts: {
      [`idle node, ${accounts} accounts, % of a core`]: node,
      [`its Postgres, ${accounts} accounts, % of a core`]: postgres,
    },
  };
}

interface HeartbeatOptions {
  readonly sockets: number;
  readonly windowMs: number;
  readonly windows: number;
}

async function measureHeartbeats(
  session: Session,
  parley: IdleServer,
  { sockets, windowMs, windows }: HeartbeatOptions,
): Promise<Findings> {
  const { disposer } = session;
  const open = async (server: IdleServer) =>
    disposer.add('sockets', await server.open(sockets), (it) => it.close());
  const ours = await open(parley);
  await until(() => ours.pings > 0, 'the first heartbeat');
  const pingBytes = Math.round(ours.pingBytes / ours.pings);
  const uws = await openIdleControl(session, 'uws-heartbeats', pingOf(pingBytes));
  const servers = [parley, uws];
  const opened = [ours, await open(uws)];

  const measured: { readonly used: readonly number[]; readonly answered: readonly number[] }[] = [];
  for (let window = 0; window < windows; window++) {
    const before = opened.map(({ pings }) => pings);
    const used = await spent(servers, windowMs);
    measured.push({ used, answered: opened.map(({ pings }, index) => pings - before[index]!) });
  }
  for (const [index, { lost }] of opened.entries()) {
    if (lost > 0) throw new Error(`${servers[index]!.name} closed ${lost} sockets`);
  }
  // Measured after the sockets, on servers that have run for the same time: a server that has just
  // started is busy with itself.
  for (const subscribers of opened) subscribers.close();
  const empty = await spent(servers, windowMs / 2);
  const sides = servers.map(({ name }, side) => {
    const blocks = measured.map(({ used, answered }): Block => {
      const heartbeats = answered[side]!;
      if (heartbeats === 0) throw new Error(`${name} sent no heartbeat`);
      const figure = ((used[side]! - empty[side]!) * (windowMs / 1_000) * 1e6) / heartbeats;
      session.say(`  ${name}: ${figure.toFixed(2)} µs a heartbeat`);
      return { figure, processor: { node: figure }, notes: { heartbeats } };
    });
    return { name, blocks };
  });
  const comparison = compareBlocks(sides[0]!, sides[1]!);
  const work = 'P8 heartbeat of an idle socket';
  return {
    rows: [comparisonRow(work, comparison, 'µs', { atMost: MAX_RATIO })],
    comparisons: { [work]: comparison },
    facts: {
      sockets,
      'window, ms': windowMs,
      'bytes of a heartbeat': pingBytes,
      'without sockets again, parley, ms a second': empty[0]! * 1_000,
      'without sockets again, uws, ms a second': empty[1]! * 1_000,
    },
  };
}

/** Returns a heartbeat of so many bytes, which the readers recognize. */
function pingOf(bytes: number): string {
  const beginning = '{"type":"ping","pad":"';
  return `${beginning.padEnd(bytes - 2, 'x')}"}`;
}

/** Returns seconds of processor time a second, of each process. */
async function spent(servers: readonly IdleServer[], ms: number): Promise<number[]> {
  await delay(SETTLE_MS);
  const startMs = performance.now();
  const before = servers.map(({ process }) => cpuSeconds(process.pid));
  await delay(ms);
  const tookS = (performance.now() - startMs) / 1_000;
  return servers.map(({ process }, index) => (cpuSeconds(process.pid) - before[index]!) / tookS);
}

const SETTLE_MS = 1_000;
