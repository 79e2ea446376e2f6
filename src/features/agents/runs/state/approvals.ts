import type { ActionStatus } from '@parley/protocol/resources/run-status.ts';
import { ACTION_MOVES, RUN_MOVES } from '@parley/protocol/states/agent-run-states.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Database } from '../../../../platform/db/connection/database.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import { enqueue } from '../../../../platform/db/queue/outbox.ts';
import { RUN_APPROVAL, RUN_DUE } from './outbox-topics.ts';
import { enqueueRunUpdated } from './start.ts';
import { updateRun } from './store.ts';

/** Resumes a locked run once no approval is open any more. Returns the current row. */
export async function continueIfDecided(tx: Tx, run: RunRow): Promise<RunRow> {
  const row = await resumeUnless(tx, run, 'pending_review');
  if (row.status === RUN_MOVES.continue.to) await enqueue(tx, RUN_APPROVAL, { run_id: run.id });
  return row;
}

/** Resumes a locked run once no call waits for an answer any more. Returns the current row. */
export function continueIfAnswered(tx: Tx, run: RunRow): Promise<RunRow> {
  return resumeUnless(tx, run, 'executing');
}

/** Resumes a locked run that waits, unless an action still has this status. */
async function resumeUnless(tx: Tx, run: RunRow, status: ActionStatus): Promise<RunRow> {
  const waiting = await tx.kysely
    .selectFrom('agent_run_actions')
    .select('id')
    .where('run_id', '=', run.id)
    .where('status', '=', status)
    .executeTakeFirst();
  const isDue = waiting === undefined;
  const row = await updateRun(tx, run.id, isDue ? { status: RUN_MOVES.start.to, owner: null } : {});
  if (isDue) await enqueue(tx, RUN_DUE, { run_id: run.id, account_id: run.account_id });
  await enqueueRunUpdated(tx, row);
  return row;
}

/** Expires calls not decided in time; their runs continue without them (ACTION_MOVES.expire). */
export async function expireApprovals(database: Database): Promise<void> {
  for (let found = true; found; ) {
    found = await database.transaction(async (tx) => {
      const [run] = await tx.query(LOCK_UNDECIDED);
      if (run === undefined) return false;
      await tx.query(EXPIRE, run.id);
      await continueIfDecided(tx, run);
      return true;
    });
  }
}

// The time of the statement, unlike clock_timestamp(), can be used in an index condition.
const UNDECIDED = `status = 'pending_review' AND expires_at <= statement_timestamp()`;

const LOCK_UNDECIDED = statement<[], RunRow>('lock-undecided-agent-run')`
    SELECT * FROM agent_runs
    WHERE status = 'awaiting_approval' AND id IN (SELECT run_id FROM agent_run_actions WHERE ${UNDECIDED})
    LIMIT 1
    FOR UPDATE SKIP LOCKED`;

const EXPIRE = statement<[runId: string]>('expire-agent-run-actions')`
    UPDATE agent_run_actions SET status = '${ACTION_MOVES.expire.to}', updated_at = later_than(updated_at)
    WHERE run_id = $1 AND ${UNDECIDED}`;
