import { RUN_MOVES } from '../../../../contract/protocol/states/agent-run-states.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Database } from '../../../../platform/db/connection/database.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../../platform/db/queue/outbox.ts';
import { expireActions, hasPendingActions, lockUndecided } from './action-store.ts';
import { RUN_APPROVAL, RUN_DUE } from './outbox-topics.ts';
import { enqueueRunUpdated } from './start.ts';
import { updateRun } from './store.ts';

/** Resumes a locked run once none of its actions waits any more. Returns the current row. */
export async function continueIfDecided(tx: Tx, run: RunRow): Promise<RunRow> {
  const decided = !(await hasPendingActions(tx, run.id));
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
      await expireActions(tx, run.id);
      await continueIfDecided(tx, run);
      return true;
    });
  }
}
