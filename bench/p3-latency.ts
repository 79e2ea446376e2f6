import { BODY, CONVERSATIONS, insertScript, PGBENCH } from './lib/insert-script.ts';
import type { Percentiles } from './lib/latency-histogram.ts';
import { comparePairs, type Side } from './lib/pairs.ts';
import { runPgbenchAtRate } from './lib/pgbench.ts';
import { type BenchDatabase, checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { CONNECTIONS, HISTORY, SendStand } from './lib/send-stand.ts';
import { comparisonRow, type Findings, type Session, schedule, type Work } from './lib/work.ts';

/**
 * Latency of durable sends that do not wait for each other, at half of the rate that the server accepted at most a
 * minute before, against pgbench's inserts at the same rate.
 */
export const P3: Work = { name: 'p3', title: 'latency of sends', run };

async function run(session: Session): Promise<Findings> {
  const { disposer, full, say } = session;
  const { parley } = await startPostgres(disposer, ['parley']);
  const stand = await SendStand.open(session, parley);
  const timing = schedule(full, { pairs: 2, blockMs: 2_000 });
  const before = async () => {
    await drainOutbox(parley);
    await checkpoint(parley);
  };
  const saturation = stand.side(CONNECTIONS, 'direct');
  await saturation.run(timing.warmupMs);
  await before();
  const most = (await saturation.run(timing.blockMs)).figure;
  const rate = Math.round(most / 2);
  say(`  ${Math.round(most)}/s at most, so ${rate}/s`);
  const comparison = await comparePairs({
    ours: parleySide(stand, rate),
    control: pgbenchSide(parley, rate),
    before,
    onBlock: (side, { figure }) => say(`  ${side}: p99 ${figure.toFixed(2)} ms`),
    ...timing,
  });
  const work = "P3 send p99 at half of P2's rate";
  const { median } = comparison.ours.figure;
  const besides = { text: `≤ ${MAX_MS} ms`, met: median <= MAX_MS };
  return {
    rows: [comparisonRow(work, { comparison, unit: 'ms', atMost: MAX_RATIO, besides })],
    comparisons: { [work]: comparison },
    facts: {
      'sends a second, closed loop': Math.round(most),
      'sends a second, here': rate,
      connections: CONNECTIONS,
      conversations: CONVERSATIONS,
      'messages in each before': HISTORY,
      'body, characters': BODY.length,
      pgbench: `${PGBENCH.clients} clients, ${PGBENCH.threads} threads, prepared, --rate, --log`,
    },
  };
}

const MAX_MS = 5;
const MAX_RATIO = 3;

function parleySide(stand: SendStand, rate: number): Side {
  let seed = 0;
  return {
    name: 'parley',
    run: async (durationMs) => {
      seed += 1;
      const { latencyUs, latenessUs, cpuUsPerSend } = await stand.sendAtRate(rate, durationMs, seed);
      return {
        figure: latencyUs.p99 / 1_000,
        notes: {
          ...milliseconds('', latencyUs),
          ...milliseconds('generator_late_', latenessUs),
          server_cpu_us_per_send: Math.round(cpuUsPerSend),
        },
      };
    },
  };
}

function pgbenchSide(database: BenchDatabase, rate: number): Side {
  let block = 0;
  return {
    name: 'pgbench',
    run: async (durationMs) => {
      block += 1;
      const report = await runPgbenchAtRate(insertScript(database, block, durationMs), rate);
      return {
        figure: report.latencyUs.p99 / 1_000,
        notes: {
          per_second: report.transactionsPerSecond,
          ...milliseconds('', report.latencyUs),
          ...milliseconds('late_', report.lagUs),
        },
      };
    },
  };
}

function milliseconds(prefix: string, { p50, p99, p999, max }: Percentiles): Record<string, number> {
  return {
    [`${prefix}p50_ms`]: p50 / 1_000,
    [`${prefix}p99_ms`]: p99 / 1_000,
    [`${prefix}p999_ms`]: p999 / 1_000,
    [`${prefix}max_ms`]: max / 1_000,
  };
}
