import type { Bar } from './lib/bars.ts';
import { compareWith } from './lib/compare.ts';
import { Inserts, PGBENCH_FACT } from './lib/inserts.ts';
import { compareBy, type Measured, type Side } from './lib/pairs.ts';
import { checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { cpuSeconds } from './lib/processor-time.ts';
import { COLLECTOR, type Part, type Profile, REST, sharesOf } from './lib/profile-parts.ts';
import { comparisonRow } from './lib/row.ts';
import { openFloor, openWritten, type SendControl } from './lib/send-controls.ts';
import { CONNECTIONS } from './lib/send-load.ts';
import { SendStand } from './lib/send-stand.ts';
import type { ServerProcess } from './lib/server-process.ts';
import { spreadOf } from './lib/spread.ts';
import { type Findings, type Session, TIMINGS, type Work } from './lib/work.ts';

/**
 * The processor's work for a send of P2, ours and the controls', by the part of the code in which
 * each server spends it.
 */
export const SEND_PARTS: Work = { name: 'parts', title: 'what a send is made of', fullOnly: true, run };

/** Parts by folder for ours, by package for the controls; the first that fits counts. */
const PARTS: readonly Part[] = [
  [
    'HTTP',
    ['/src/platform/http/', ...packages('fastify', 'find-my-way', 'fast-json-stringify'), 'node:_http'],
  ],
  ['access, limits, idempotency', ['/src/api/access/']],
  ['notifications', ['/src/core/notifications/', '/src/core/resources/notification']],
  ['messages: rules, write path', ['/src/core/messages/', '/src/core/conversations/']],
  ['resources as JSON', ['/src/core/resources/', '/packages/protocol/']],
  ['client of Postgres', ['/src/platform/db/', ...packages('pg', 'kysely')]],
  [
    'engine',
    [
      '/src/platform/engine/',
      '/src/core/frames/',
      '/src/platform/marked-json',
      ...packages('ioredis', '@socket.io/redis-adapter', 'notepack.io'),
    ],
  ],
  ['sockets', ['/src/edge/', ...packages('socket.io', 'engine.io', 'ws')]],
  ['search, inbox, the rest', ['/src/']],
  ["a control's own code", ['/bench/controls/']],
];

/** The order in a bar: from parts of every side to parts that only ours has. */
const ORDER = ['generator', 'Postgres', 'Redis', REST, COLLECTOR, ...PARTS.map(([name]) => name)];

async function run(session: Session): Promise<void> {
  await session.part('parts of a send', () => measure(session));
}

async function measure(session: Session): Promise<Findings> {
  const { disposer, say } = session;
  const timing = TIMES[session.scale];
  const { parley } = await startPostgres(disposer, ['parley']);
  const options = { nodeFlags: ['--import=./bench/servers/profiled.ts'] };
  const stand = await SendStand.open(session, parley, options);
  const floor = await openFloor(session, stand, options);
  const written = await openWritten(session, stand, options);
  const sample = await stand.sample('direct');
  const inserts = await Inserts.open(parley, sample, { recipients: 1, trialMs: timing.warmupMs, say });
  const before = async () => {
    await drainOutbox(parley);
    await checkpoint(parley);
  };
  const ours = stand.side(CONNECTIONS, 'direct');
  const works = {
    floor: 'parts of a send, the floor',
    written: 'parts of a send, what one would write',
    equal: 'parts of a send, equal work',
  };
  const { comparisons = {} } = await compareWith(session, {
    unit: '/s',
    ours,
    before,
    timing,
    against: [
      { work: works.floor, control: sideOf(floor) },
      { work: works.written, control: withRedis(written) },
      { work: works.equal, control: inserts.equal },
    ],
  });
  const shares = {
    ours: await profile(stand.product.process, ours, timing.blockMs),
    floor: await profile(floor.process, sideOf(floor), timing.blockMs),
    written: await profile(written.process, sideOf(written), timing.blockMs),
  };
  const compared = (work: keyof typeof works) => comparisons[works[work]]!;
  const bars = [
    barOf('the floor', compared('floor').control, shares.floor),
    barOf('Parley', compared('floor').ours, shares.ours),
    barOf('equal work', compared('equal').control),
    barOf('Fastify, Socket.IO', compared('written').control, shares.written),
  ];
  const totals = Object.entries(comparisons).map(([work, one]) => [work, compareBy(one, totalOf)] as const);
  return {
    rows: totals.map(([work, one]) => comparisonRow(work, one, 'µs')),
    comparisons: Object.fromEntries(totals),
    facts: { connections: CONNECTIONS, pgbench: PGBENCH_FACT },
    bars: { parts: { title: 'Processor time of a send, by its parts', unit: 'µs', parts: ORDER, bars } },
  };
}

const TIMES = {
  full: { pairs: 4, blockMs: 6_000, warmupMs: 4_000 },
  short: { pairs: 2, blockMs: 2_000, warmupMs: 1_000 },
  brief: TIMINGS.brief,
} as const;

function packages(...names: readonly string[]): string[] {
  return names.map((name) => `/node_modules/${name}`);
}

function sideOf({ load }: SendControl): Side {
  return load.side(CONNECTIONS);
}

/** Notes the Redis time of a send. */
function withRedis(control: SendControl & { readonly redisPid: number }): Side {
  const side = sideOf(control);
  return {
    name: side.name,
    run: async (durationMs) => {
      const seconds = cpuSeconds(control.redisPid);
      const block = await side.run(durationMs);
      const us = ((cpuSeconds(control.redisPid) - seconds) * 1e6) / (block.operations ?? Number.NaN);
      return { ...block, notes: { ...block.notes, redis_us: us } };
    },
  };
}

/** Returns the shares of its parts, in a separate block, because profiling takes time itself. */
async function profile(
  process: ServerProcess,
  side: Side,
  durationMs: number,
): Promise<ReadonlyMap<string, number>> {
  process.tell({ profile: 'start' });
  await process.message();
  await side.run(durationMs);
  process.tell({ profile: 'stop' });
  return sharesOf(await process.message<Profile>(), PARTS);
}

function barOf(
  name: string,
  { processor, blocks }: Measured,
  shares: ReadonlyMap<string, number> = new Map(),
): Bar {
  const ofRedis = blocks.flatMap(({ notes }) => notes?.redis_us ?? []);
  const redis = ofRedis.length === 0 ? 0 : spreadOf(ofRedis).median;
  const node = (processor.node ?? 0) - redis;
  const found = new Map([
    ['generator', processor.generator ?? 0],
    ['Postgres', processor.postgres ?? 0],
    ['Redis', redis],
    ...[...shares].map(([part, share]) => [part, share * node] as const),
  ]);
  const values = ORDER.map((part) => [part, Math.round((found.get(part) ?? 0) * 10) / 10] as const);
  return { name, values: Object.fromEntries(values.filter(([, us]) => us > 0)) };
}

function totalOf({ processor = {} }: { readonly processor?: Measured['processor'] }): number {
  const { node = 0, postgres = 0, generator = 0 } = processor;
  return node + postgres + generator;
}
