import { ACTION_MOVES, RUN_MOVES } from '@parley/protocol/states/agent-run-states.ts';
import { sql } from 'kysely';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Database } from '../../../../platform/db/connection/database.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../../platform/db/queue/outbox.ts';
import { LATER } from './action-store.ts';
import { RUN_APPROVAL, RUN_DUE } from './outbox-topics.ts';
import { enqueueRunUpdated } from './start.ts';
import { updateRun } from './store.ts';

/** Resumes a locked run once none of its actions waits any more. Returns the current row. */
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
  if (decided) {
    await enqueue(tx, RUN_DUE, { run_id: run.id, account_id: run.account_id });
    await enqueue(tx, RUN_APPROVAL, { run_id: run.id });
  }
  await enqueueRunUpdated(tx, row);
  return row;
}

/** Expires calls not decided in time; their runs continue without them (ACTION_MOVES.expire). */
export async function expireApprovals(database: Database): Promise<void> {
  for (let found = true; found; ) {
    found = await database.transaction(async (tx) => {
      const run = await lockUndecided(tx);
      if (run === undefined) return false;
      await tx.kysely
        .updateTable('agent_run_actions')
        .set({ status: ACTION_MOVES.expire.to, updated_at: LATER })
        .where('run_id', '=', run.id)
        .where('status', '=', 'pending_review')
        .where('expires_at', '<=', NOW)
        .execute();
      await continueIfDecided(tx, run);
      return true;
    });
  }
}

/** Locks and returns a run with an action that was not decided in time. */
function lockUndecided(tx: Tx): Promise<RunRow | undefined> {
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

/** The time of the statement: unlike clock_timestamp(), it can be used in an index condition. */
const NOW = sql<string>`statement_timestamp()`;
