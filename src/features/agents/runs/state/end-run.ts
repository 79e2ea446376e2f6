import { RUN_MOVES } from '@parley/protocol/states/agent-run-states.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import { sql } from 'kysely';
import type { Principal } from '../../../../api/access/principal.ts';
import { enqueueRightsChanged } from '../../../../core/accounts/rights/rights-changed.ts';
import type { AgentRow } from '../../../../core/resources/agent.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../../platform/db/queue/outbox.ts';
import { endOpenActions } from './action-store.ts';
import { RUN_APPROVAL, RUN_ENDED } from './outbox-topics.ts';
import { enqueueRunUpdated } from './start.ts';
import { failOpenSteps } from './step-store.ts';
import { lockOpenRuns, updateRun } from './store.ts';

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

/**
 * Records that actor `by` asks for the cancel of a locked run, unless this was asked before. A run
 * that no node has claimed ends here; the owner of any other run ends it and its text.
 */
export async function requestCancel(tx: Tx, by: string, run: RunRow): Promise<RunRow> {
  const isAsked = run.cancel_requested_at !== null;
  const asked = isAsked
    ? run
    : await updateRun(tx, run.id, {
        cancel_requested_at: sql<string>`clock_timestamp()`,
        cancelled_by: by,
      });
  if (asked.owner === null) return endRun(tx, asked, { move: 'cancel' });
  // The owner receives this as a changed right or, if that frame is lost, at the next renewal.
  if (!isAsked) await enqueueRightsChanged(tx, [run.id]);
  return asked;
}

/** Cancels all open runs of an agent. Its definition is locked, so nothing starts meanwhile. */
export async function cancelRuns(
  tx: Tx,
  { actor }: Principal,
  { actor_id }: Pick<AgentRow, 'actor_id'>,
): Promise<void> {
  await cancelLocked(tx, await lockOpenRuns(tx).where('actor_id', '=', actor_id).execute(), actor.id);
}

/** Cancels all open runs of an account. Returns the ids of runs that a node has yet to end. */
export async function cancelAllOf(tx: Tx, accountId: string): Promise<readonly string[]> {
  return cancelLocked(tx, await lockOpenRuns(tx).where('account_id', '=', accountId).execute());
}

/** Cancels the open runs among `ids` for actor `by`. Returns the ids that a node has yet to end. */
export async function cancelRunsById(tx: Tx, by: string, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  return cancelLocked(tx, await lockOpenRuns(tx).where('id', 'in', ids).execute(), by);
}

/**
 * Cancels locked runs for `by`, or for each run's own actor. Returns the ids of the runs that a
 * node has yet to end.
 */
async function cancelLocked(tx: Tx, runs: readonly RunRow[], by?: string): Promise<readonly string[]> {
  const owned: string[] = [];
  for (const run of runs) {
    const { id, owner } = await requestCancel(tx, by ?? run.actor_id, run);
    if (owner !== null) owned.push(id);
  }
  return owned;
}
