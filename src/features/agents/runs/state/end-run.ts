import { sql } from 'kysely';
import { RUN_MOVES } from '../../../../contract/protocol/states/agent-run-states.ts';
import { transition } from '../../../../contract/protocol/states/transitions.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../../platform/db/queue/outbox.ts';
import { endOpenActions } from './action-store.ts';
import { RUN_APPROVAL, RUN_ENDED } from './outbox-topics.ts';
import { enqueueRunUpdated } from './start.ts';
import { failOpenSteps } from './step-store.ts';
import { updateRun } from './store.ts';

/** The way in which a run ends. `output` is any JSON value; `error` is one line for people. */
export type Ending =
  | { readonly move: 'complete'; readonly output: unknown }
  | { readonly move: 'fail'; readonly error: string }
  | { readonly move: 'cancel' };

/**
 * Ends a locked run with its open parts. Enqueues `agent_run.updated` and RUN_ENDED, which leads to
 * notifications and triggers. Throws `resource_conflict` if the run has ended already.
 */
export async function endRun(tx: Tx, run: RunRow, ending: Ending): Promise<RunRow> {
  const status = transition(RUN_MOVES, ending.move, run.status);
  await endOpenActions(tx, run.id);
  await failOpenSteps(tx, run.id);
  const ended = await updateRun(tx, run.id, {
    status,
    output: ending.move === 'complete' ? JSON.stringify(ending.output) : null,
    error_message: ending.move === 'fail' ? ending.error : null,
    completed_at: sql<string>`clock_timestamp()`,
    owner: null,
    lease_until: null,
  });
  await enqueue(tx, RUN_ENDED, { run_id: run.id });
  if (run.status === 'awaiting_approval') await enqueue(tx, RUN_APPROVAL, { run_id: run.id });
  await enqueueRunUpdated(tx, ended);
  return ended;
}
