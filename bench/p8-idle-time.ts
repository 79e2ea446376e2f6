import { setTimeout as delay } from 'node:timers/promises';
import { type IdleServer, openIdleControl, openIdleParley } from './lib/idle-servers.ts';
import { type Block, compareBlocks } from './lib/pairs.ts';
import type { RawSubscribers } from './lib/raw-subscribers.ts';
import { comparisonRow, type Findings, type Session, type Work } from './lib/work.ts';

/** The processor time of idle sockets, whose heartbeats are answered, against raw uWebSockets.js with pings of its own. */
export const P8: Work = { name: 'p8', title: 'processor time of idle sockets', fullOnly: true, run };

async function run(session: Session): Promise<Findings> {
  const { full, disposer } = session;
  const sockets = full ? FULL.sockets : SHORT.sockets;
  const windowMs = full ? FULL.windowMs : SHORT.windowMs;
  const parley = await openIdleParley(session, sockets);
  const uws = await openIdleControl(session, 'uws', { BENCH_IDLE_TIMEOUT_S: String(UWS_IDLE_TIMEOUT_S) });
  const servers = [parley, uws];
  const opened: RawSubscribers[] = [];
  for (const server of servers) {
    opened.push(disposer.add('sockets', await server.open(sockets), (it) => it.close()));
  }
  const windows: { readonly used: readonly number[]; readonly answered: readonly number[] }[] = [];
  for (let window = 0; window < (full ? FULL.windows : 1); window++) {
    const before = opened.map(({ pings }) => pings);
    const used = await spent(servers, windowMs);
    windows.push({ used, answered: opened.map(({ pings }, index) => pings - before[index]!) });
  }
  for (const [index, { lost }] of opened.entries()) {
    if (lost > 0) throw new Error(`${servers[index]!.name} closed ${lost} sockets`);
  }
  // After the sockets, on servers that have run for the same time: a server that has just started is busy with itself.
  for (const subscribers of opened) await subscribers.close();
  const empty = await spent(servers, windowMs / 2);
  const blocks: [Block[], Block[]] = [[], []];
  for (const { used, answered } of windows) {
    for (const [index, side] of blocks.entries()) {
      const heartbeats = answered[index]!;
      if (heartbeats === 0) throw new Error(`${servers[index]!.name} sent no heartbeat`);
      const idleUs = ((used[index]! - empty[index]!) * 1e6) / sockets;
      // Heartbeats are what is paid for: a window sees a few more or fewer of them than its share.
      const perBeatUs = (idleUs * windowMs * sockets) / 1_000 / heartbeats;
      const figure = perBeatUs / (HEARTBEAT_MS / 1_000);
      side.push({ figure, notes: { heartbeats, us_a_heartbeat: perBeatUs, measured_us_s: idleUs } });
      session.say(`  ${servers[index]!.name}: ${figure.toFixed(2)} µs a second a socket`);
    }
  }
  const comparison = compareBlocks({ name: 'parley', blocks: blocks[0] }, { name: 'uws', blocks: blocks[1] });
  const work = 'P8 idle socket with heartbeats';
  const met = comparison.ours.figure.median <= MAX_US;
  const besides = { text: `≤ ${MAX_US} µs/s`, met };
  return {
    rows: [comparisonRow(work, { comparison, unit: 'µs/s', besides })],
    comparisons: { [work]: comparison },
    facts: {
      sockets,
      'window, ms': windowMs,
      'without sockets, parley, ms a second': empty[0]! * 1_000,
      'without sockets, uws, ms a second': empty[1]! * 1_000,
    },
  };
}

/** The sockets of both servers in this process, which together stay below the usual limit of 20,000 open files. */
const FULL = { sockets: 8_000, windowMs: 50_000, windows: 3 };
const SHORT = { sockets: 2_000, windowMs: 10_000 };
const MAX_US = 1;
/** The product's default. */
const HEARTBEAT_MS = 25_000;
/** The shortest that uWS takes: its pings go out every four seconds, in time for the short window. */
const UWS_IDLE_TIMEOUT_S = 8;

/** Seconds of processor time a second, of each process. */
async function spent(servers: readonly IdleServer[], ms: number): Promise<number[]> {
  await delay(SETTLE_MS);
  const startMs = performance.now();
  const before = servers.map(({ process }) => process.cpuSeconds());
  await delay(ms);
  const tookS = (performance.now() - startMs) / 1_000;
  return servers.map(({ process }, index) => (process.cpuSeconds() - before[index]!) / tookS);
}

const SETTLE_MS = 1_000;
