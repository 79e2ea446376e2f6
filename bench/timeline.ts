import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { startRedis } from '../test/support/redis.ts';
import type { Bar } from './lib/bars.ts';
import { HttpConnections, postRequest } from './lib/http-connections.ts';
import { BODY } from './lib/insert-script.ts';
import { listen } from './lib/listener.ts';
import { openLoop } from './lib/open-loop.ts';
import { type BenchDatabase, startPostgres } from './lib/postgres.ts';
import { SendStand } from './lib/send-stand.ts';
import type { Findings, Session, Work } from './lib/work.ts';
import { RATE } from './p9-nodes.ts';
import type { Trace } from './servers/traced.ts';

/** The parts of a send's time at P9's rate on one node: of a usual send, and of the slowest. */
export const TIMELINE: Work = {
  name: 'timeline',
  title: 'what a slow send waits for',
  fullOnly: true,
  run: async (session) => {
    await session.part('timeline of a send', () => measure(session));
  },
};

const TIMES = {
  full: { warmupMs: 60_000, blockMs: 60_000 },
  short: { warmupMs: 10_000, blockMs: 20_000 },
  brief: { warmupMs: 300, blockMs: 1_000 },
} as const;

/** The times that a send passes, in their order, and the wait before each. */
const STAGES = [
  ['readMs', 'the node reads the request'],
  ['queuedMs', 'rules and rights'],
  ['numberingMs', 'the flush before it'],
  ['beganMs', 'the number from Redis'],
  ['startedMs', 'Postgres reads the statement'],
  ['insertedMs', 'the insert'],
  ['endedMs', 'the sync of the commit, and back'],
  ['committedMs', 'the node reads the rows'],
  ['arrivedMs', 'the frame to a reader'],
] as const;

type Send = { readonly sentMs: number } & { [Stage in (typeof STAGES)[number][0]]?: number };

async function measure(session: Session): Promise<Findings> {
  const { disposer, say } = session;
  const { warmupMs, blockMs } = TIMES[session.scale];
  const { parley } = await startPostgres(disposer, ['parley'], { commitTimes: true });
  const redis = await startRedis({
    teardown: (release) => void disposer.add('redis', undefined, release),
  });
  const stand = await SendStand.open(session, parley, {
    env: { REDIS_URL: redis.url },
    nodeFlags: ['--import=./bench/servers/traced.ts'],
  });
  const { process: node } = stand.product;
  const takeTrace = () => {
    const message = node.message<Trace>();
    node.tell({ trace: true });
    return message;
  };
  const sends = new Map<string, Send>();
  await listen(session, stand.product, stand.conversation('direct', 0), (id) => {
    const send = sends.get(id);
    if (send !== undefined) send.arrivedMs = nowMs();
  });
  await sendFor(stand, warmupMs, sends);
  await takeTrace();
  sends.clear();
  await sendFor(stand, blockMs, sends);
  await delay(SETTLE_MS);
  join(sends, await takeTrace());
  await addCommits(sends, parley);

  const whole = [...sends.values()]
    .filter((send) => STAGES.every(([stage]) => send[stage] !== undefined))
    .sort((a, b) => tookMs(a) - tookMs(b));
  const at = (share: number) => Math.floor((whole.length - 1) * share);
  const bars = [
    barOf('a usual send', whole.slice(at(0.4), at(0.6))),
    barOf('the slowest 1 %', whole.slice(at(0.99))),
    barOf('the slowest', whole.slice(-1)),
  ];
  const text = (share: number) => `${tookMs(whole[at(share)]!).toFixed(1)} ms`;
  say(
    `  ${whole.length} of ${sends.size} sends: median ${text(0.5)}, p99 ${text(0.99)}, p99.9 ${text(0.999)}`,
  );
  const parts = STAGES.map(([, name]) => name);
  for (const part of parts)
    say(`  ${part}: ${bars.map(({ values }) => Math.round(values[part]!)).join(', ')} µs`);
  return {
    rows: [],
    facts: { sends: whole.length, 'messages a second': RATE, p99: text(0.99), 'p99.9': text(0.999) },
    bars: {
      timeline: {
        title: `What a send waits for at ${RATE} a second, in order, in µs`,
        unit: 'µs',
        parts,
        bars,
      },
    },
  };
}

/** The time for the last frames to arrive. */
const SETTLE_MS = 1_000;

const nowMs = () => performance.timeOrigin + performance.now();

function tookMs({ sentMs, arrivedMs = Number.NaN }: Send): number {
  return arrivedMs - sentMs;
}

async function sendFor(stand: SendStand, durationMs: number, sends: Map<string, Send>): Promise<void> {
  const { port, headers } = stand.product;
  const path = stand.path('direct', 0);
  const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: 16 });
  const first = nowMs().toFixed(0);
  const send = (index: number, done: (ok: boolean) => void) => {
    const id = `p9-${first}${index}`;
    const request = postRequest(
      path,
      headers,
      JSON.stringify({ body: `${BODY} ${id}`, client_message_id: id }),
    );
    sends.set(id, { sentMs: nowMs() });
    connections.send(request, (status) => done(status === 201));
  };
  try {
    const { failed } = await openLoop({ ratePerSecond: RATE, durationMs, send });
    if (failed > 0) throw new Error(`${failed} sends failed`);
  } finally {
    connections.close();
  }
}

/** Adds the flushes: a send is in the last flush that got its numbers after the send was queued. */
function join(sends: ReadonlyMap<string, Send>, { sends: traced, numberings, inserts }: Trace): void {
  for (const { clientId, readMs, queuedMs, committedMs } of traced) {
    const send = sends.get(clientId);
    const [beganMs, endedMs] =
      inserts.findLast(([began, ended]) => began >= queuedMs && ended <= committedMs) ?? [];
    if (send === undefined || beganMs === undefined || endedMs === undefined) continue;
    const numberingMs = Math.max(queuedMs, numberings.findLast((ms) => ms <= beganMs) ?? queuedMs);
    Object.assign(send, { readMs, queuedMs, numberingMs, beganMs, endedMs, committedMs });
  }
}

/** Adds when Postgres began each statement, and when it had inserted and began to commit. */
async function addCommits(sends: ReadonlyMap<string, Send>, { database }: BenchDatabase): Promise<void> {
  const ms = (time: string) => sql.raw(`extract(epoch FROM ${time})::float8 * 1000`);
  const { rows } = await sql<{ id: string; startedMs: number; insertedMs: number }>`
    SELECT client_message_id AS id, ${ms('created_at')} AS "startedMs",
      ${ms('pg_xact_commit_timestamp(xmin)')} AS "insertedMs"
    FROM messages WHERE client_message_id LIKE 'p9-%'`.execute(database.kysely);
  for (const { id, startedMs, insertedMs } of rows) {
    const send = sends.get(id);
    if (send !== undefined) Object.assign(send, { startedMs, insertedMs });
  }
}

/** Returns the mean of these sends, in microseconds by stage. */
function barOf(name: string, sends: readonly Send[]): Bar {
  const values = STAGES.map(([stage, part], index) => {
    const before = index === 0 ? 'sentMs' : STAGES[index - 1]![0];
    const sum = sends.reduce((total, send) => total + Math.max(0, send[stage]! - send[before]!), 0);
    return [part, (sum / sends.length) * 1_000];
  });
  return { name, values: Object.fromEntries(values) };
}
