import { type Answering, startAnswering } from './lib/answering.ts';
import { compareWith } from './lib/compare.ts';
import { postRequest } from './lib/http-connections.ts';
import { BODY } from './lib/insert-script.ts';
import { Inserts, PGBENCH_FACT } from './lib/inserts.ts';
import type { Comparison, Side } from './lib/pairs.ts';
import { type BenchDatabase, startPostgres } from './lib/postgres.ts';
import { startMeter } from './lib/processor-time.ts';
import { requestAtRate } from './lib/rate-loop.ts';
import { count } from './lib/row.ts';
import { CONNECTIONS } from './lib/send-load.ts';
import { SendStand } from './lib/send-stand.ts';
import type { ServerProcess } from './lib/server-process.ts';
import { type Session, TIMINGS, type Work } from './lib/work.ts';
import type { LoopDelay } from './servers/loop-delay.ts';

/**
 * The delay of the server's event loop at 60 % of the most sends that it took. The control is a raw
 * uWebSockets.js server that answers as many requests of the same size beside pgbench at the same
 * rate.
 */
export const P12: Work = { name: 'p12', title: 'event loop under steady load', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const { say } = session;
  const { saturationMs, ...timing } = TIMES[session.scale];
  const { parley } = await startPostgres(session.disposer, ['parley']);
  const stand = await SendStand.open(session, parley, { nodeFlags: LOOP_DELAY });
  const sample = await stand.sample('direct');
  const trialMs = session.timing.warmupMs;
  const inserts = await Inserts.open(parley, sample, { recipients: 1, trialMs, say });
  const saturation = stand.side(CONNECTIONS, 'direct');
  await saturation.run(session.timing.warmupMs);
  const { figure: most } = await saturation.run(saturationMs);
  const rate = Math.round(most * SHARE);
  say(`  ${count(most)}/s at most, so ${rate}/s`);
  const control = await startAnswering(
    session.disposer,
    { frame: sample.answer, status: '201 Created' },
    LOOP_DELAY,
  );
  const work = 'P12 event loop late at 60 % load, p99.9';
  await session.part(work, () =>
    compareWith(session, {
      unit: 'ms',
      ours: parleySide(stand, rate),
      against: [{ work, control: uwsSide(control, parley, inserts, rate), besides: promptLoop }],
      timing,
      facts: {
        'sends a second, closed loop': Math.round(most),
        'sends a second, here': rate,
        'bytes of an answer': Buffer.byteLength(sample.answer),
        'faster script of equal work': inserts.faster,
        pgbench: `${PGBENCH_FACT}, --rate`,
      },
    }),
  );
}

/** Full: ten minutes of each side. */
const TIMES = {
  full: { saturationMs: 6_000, pairs: 10, blockMs: 60_000, warmupMs: 10_000 },
  short: { saturationMs: 6_000, pairs: 2, blockMs: 10_000, warmupMs: 2_000 },
  brief: { saturationMs: 300, ...TIMINGS.brief },
} as const;
const SHARE = 0.6;
const MAX_RATIO = 2;
const MAX_MS = 6;
const LOOP_DELAY = ['--import=./bench/servers/loop-delay.ts'];

/** Returns the conditions, either of which is enough. */
function promptLoop({ ours, ratio }: Comparison) {
  const met = ratio.median <= MAX_RATIO || ours.figure.median <= MAX_MS;
  return [{ text: `≤ ${MAX_RATIO} × or ≤ ${MAX_MS} ms`, met }];
}

function parleySide(stand: SendStand, rate: number): Side {
  let seed = 0;
  return {
    name: 'parley',
    run: async (durationMs) => {
      seed += 1;
      await loopDelay(stand.product.process);
      const { latencyUs, latenessUs, processor } = await stand.sendAtRate(rate, durationMs, seed);
      const late = await loopDelay(stand.product.process);
      return {
        figure: late.p999,
        processor,
        notes: {
          ...notesOf(late),
          sends_p50_ms: latencyUs.p50 / 1_000,
          sends_p99_ms: latencyUs.p99 / 1_000,
          generator_late_p99_ms: latenessUs.p99 / 1_000,
        },
      };
    },
  };
}

function uwsSide(
  { process, port }: Answering,
  postgres: BenchDatabase,
  inserts: Inserts,
  rate: number,
): Side {
  let seed = 0;
  const request = postRequest('/sends', {}, JSON.stringify({ body: BODY, client_message_id: 'run-0' }));
  return {
    name: 'uws beside pgbench',
    run: async (durationMs) => {
      seed += 1;
      await loopDelay(process);
      const used = startMeter({ servers: [process], postgres });
      const load = { port, size: CONNECTIONS, ratePerSecond: rate, durationMs, seed };
      const [{ sent, latenessUs }] = await Promise.all([
        requestAtRate({ ...load, request: () => request }),
        inserts.atRate(rate, durationMs),
      ]);
      const late = await loopDelay(process);
      const notes = { ...notesOf(late), generator_late_p99_ms: latenessUs.p99 / 1_000 };
      return { figure: late.p999, processor: used(sent), notes };
    },
  };
}

function notesOf({ p50, p99, max, samples }: LoopDelay) {
  return { late_p50_ms: p50, late_p99_ms: p99, late_max_ms: max, looks: samples };
}

/** Returns the loop's delay since the last question. */
function loopDelay(process: ServerProcess): Promise<LoopDelay> {
  process.tell({ loopDelay: true });
  return process.message<LoopDelay>();
}
