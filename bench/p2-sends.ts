import { BODY, CONVERSATIONS, insertScript, PGBENCH } from './lib/insert-script.ts';
import { type Block, type Comparison, comparePairs, type Side } from './lib/pairs.ts';
import { runPgbench } from './lib/pgbench.ts';
import { type BenchDatabase, checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { HISTORY, SendStand } from './lib/send-stand.ts';
import { comparisonRow, type Findings, type Row, type Session, schedule, type Work } from './lib/work.ts';

/**
 * Durable sends over REST, answered after the commit, with fan-out and notifications going on, against
 * pgbench's single-row inserts into the same table of the same server in the same minute.
 */
export const P2: Work = { name: 'p2', title: 'durable sends', run };

async function run(session: Session): Promise<Findings> {
  const { disposer, full } = session;
  const databases = await startPostgres(disposer, ['parley', 'unbatched']);
  const batched = await SendStand.open(session, databases.parley);
  const unbatched = await SendStand.open(session, databases.unbatched, {
    name: 'unbatched',
    entry: 'bench/servers/unbatched.ts',
  });
  const pgbench = pgbenchSide(databases.parley);
  const timing = schedule(full, { pairs: 2, blockMs: 1_000 });
  const before = async () => {
    await drainOutbox(databases.parley);
    await drainOutbox(databases.unbatched);
    await checkpoint(databases.parley);
  };

  const rows: Row[] = [];
  const comparisons: Record<string, Comparison> = {};
  const compare = async (work: string, ours: Side, control: Side, atLeast?: number) => {
    session.say(work);
    const onBlock = (side: string, { figure }: Block) => session.say(`  ${side}: ${Math.round(figure)}/s`);
    const comparison = await comparePairs({ ours, control, before, onBlock, ...timing });
    comparisons[work] = comparison;
    const besides = atLeast === undefined ? undefined : promptEffects(comparison);
    rows.push(comparisonRow(work, { comparison, unit: '/s', atLeast, besides }));
  };

  await compare('P2 sends, 64 connections', batched.side(64, 'direct'), pgbench, 0.9);
  await compare('P2 sends, 256 connections', batched.side(256, 'direct'), pgbench, 1.25);
  await compare(
    'P2 batching, 256 connections',
    batched.side(256, 'direct'),
    unbatched.side(256, 'direct'),
    3,
  );
  if (full) {
    await compare('P2 sends, 256, to nobody', batched.side(256, 'silent'), pgbench);
    await compare('P2 batching, 64 connections', batched.side(64, 'direct'), unbatched.side(64, 'direct'));
  }
  return {
    rows,
    comparisons,
    facts: {
      conversations: CONVERSATIONS,
      'messages in each before': HISTORY,
      'body, characters': BODY.length,
      'caused by a send to a direct conversation':
        '1 message row, 1 outbox row, 1 notification row, 2 frames',
      'caused by a send to nobody': '1 message row, 1 outbox row, 1 frame',
      pgbench: `${PGBENCH.clients} clients, ${PGBENCH.threads} threads, prepared`,
    },
  };
}

function pgbenchSide(database: BenchDatabase): Side {
  let block = 0;
  return {
    name: 'pgbench',
    run: async (durationMs) => {
      block += 1;
      const { transactionsPerSecond, latencyMs } = await runPgbench(
        insertScript(database, block, durationMs),
      );
      return { figure: transactionsPerSecond, notes: { latency_ms: latencyMs } };
    },
  };
}

/** The notifications and the rest that a send causes may not be put off to make the send look fast. */
function promptEffects({ ours }: Comparison): { text: string; met: boolean } {
  const lag = Math.max(...ours.blocks.map(({ notes }) => notes?.outbox_lag_at_end_s ?? 0));
  return { text: `lag ${lag.toFixed(2)} s < 1 s`, met: lag < 1 };
}
