import { sql } from 'kysely';
import { enqueueRightsChanged } from '../../../../core/accounts/rights-changed.ts';
import type { AgentRow } from '../../../../core/resources/agent.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Principal } from '../../../../platform/access/principal.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { endRun } from './end-run.ts';
import { lockOpenRuns, lockOpenRunsById, lockOpenRunsOfAccount, updateRun } from './store.ts';

/** Cancels all open runs of an agent. Its definition is locked, so nothing starts meanwhile. */
export async function cancelRuns(
  tx: Tx,
  { actor }: Principal,
  { actor_id }: Pick<AgentRow, 'actor_id'>,
): Promise<void> {
  await cancelLocked(tx, actor.id, await lockOpenRuns(tx, actor_id));
}

/** Cancels all open runs of an account. Returns the ids of those that a node has yet to end. */
export async function cancelAllOf(tx: Tx, accountId: string): Promise<readonly string[]> {
  const running: string[] = [];
  for (const [actorId, runs] of Map.groupBy(
    await lockOpenRunsOfAccount(tx, accountId),
    (run) => run.actor_id,
  )) {
    running.push(...(await cancelLocked(tx, actorId, runs)));
  }
  return running;
}

/** Cancels the open runs among `ids` for actor `by`. Returns those that a node has yet to end. */
export async function cancelRunsById(tx: Tx, by: string, ids: readonly string[]): Promise<readonly string[]> {
  return ids.length === 0 ? [] : cancelLocked(tx, by, await lockOpenRunsById(tx, ids));
}

/**
 * A run that no node has claimed ends here; the owner of any other run receives the cancel as in
 * cancel.ts, and ends the run and its text.
 */
async function cancelLocked(
  tx: Tx,
  by: string,
  runs: readonly Pick<RunRow, 'id' | 'cancelled_by'>[],
): Promise<readonly string[]> {
  const owned: string[] = [];
  for (const { id, cancelled_by } of runs) {
    const asked = await updateRun(tx, id, {
      cancel_requested_at: sql<string>`coalesce(cancel_requested_at, clock_timestamp())`,
      cancelled_by: cancelled_by ?? by,
    });
    if (asked.owner === null) await endRun(tx, asked, { move: 'cancel' });
    else owned.push(id);
  }
  if (owned.length > 0) await enqueueRightsChanged(tx, owned);
  return owned;
}
