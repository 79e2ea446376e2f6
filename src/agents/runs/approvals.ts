import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import type { Tx } from '../../db/handle.ts';
import { enqueue } from '../../db/outbox.ts';
import { ACTION_MOVES, RUN_MOVES } from '../../protocol/states/agent-run-states.ts';
import type { RunRow } from '../../resources/run.ts';
import { RUN_DUE } from './outbox-topics.ts';
import { enqueueRunUpdated } from './start.ts';
import { updateRun } from './store.ts';

/**
 * Resumes a run that waits for people as soon as none of its actions waits any more. Returns the run's current row.
 * `run` is locked.
 */
export async function continueIfDecided(tx: Tx, run: RunRow): Promise<RunRow> {
  const waiting = await tx.kysely
    .selectFrom('agent_run_actions')
    .select('id')
    .where('run_id', '=', run.id)
    .where('status', '=', 'pending_review')
    .limit(1)
    .executeTakeFirst();
  const decided = waiting === undefined;
  const row = await updateRun(tx, run.id, decided ? { status: RUN_MOVES.continue.to, owner: null } : {});
  if (decided) await enqueue(tx, RUN_DUE, { run_id: run.id, account_id: run.account_id });
  await enqueueRunUpdated(tx, row);
  return row;
}

/**
 * Expires calls that were not decided in time. They are not executed, and their runs continue without them
 * (ACTION_MOVES.expire).
 */
export async function expireApprovals(database: Database): Promise<void> {
  for (let found = true; found; ) {
    found = await database.transaction(async (tx) => {
      const run = await lockOverdue(tx);
      if (run === undefined) return false;
      await tx.kysely
        .updateTable('agent_run_actions')
        .set({ status: ACTION_MOVES.expire.to, updated_at: sql<string>`later_than(updated_at)` })
        .where('run_id', '=', run.id)
        .where('status', '=', 'pending_review')
        .where('expires_at', '<=', NOW)
        .execute();
      await continueIfDecided(tx, run);
      return true;
    });
  }
}

/** The time of the statement: unlike clock_timestamp(), it can be used in an index condition. */
const NOW = sql<string>`statement_timestamp()`;

function lockOverdue(tx: Tx): Promise<RunRow | undefined> {
  return tx.kysely
    .selectFrom('agent_runs')
    .selectAll()
    .where('status', '=', 'awaiting_approval')
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('agent_run_actions')
        .select('run_id')
        .where('status', '=', 'pending_review')
        .where('expires_at', '<=', NOW),
    )
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
}
