import type { AgentRow } from '../../../../core/resources/agent.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Principal } from '../../../../platform/access/principal.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { requestCancel } from './end-run.ts';
import { lockOpenRuns } from './store.ts';

/** Cancels all open runs of an agent. Its definition is locked, so nothing starts meanwhile. */
export async function cancelRuns(
  tx: Tx,
  { actor }: Principal,
  { actor_id }: Pick<AgentRow, 'actor_id'>,
): Promise<void> {
  await cancelLocked(tx, await lockOpenRuns(tx).where('actor_id', '=', actor_id).execute(), actor.id);
}

/** Cancels all open runs of an account. Returns the ids of those that a node has yet to end. */
export async function cancelAllOf(tx: Tx, accountId: string): Promise<readonly string[]> {
  const runs = await lockOpenRuns(tx)
    .where('actor_id', 'in', ({ selectFrom }) =>
      selectFrom('actors').select('id').where('account_id', '=', accountId).where('type', '=', 'agent'),
    )
    .execute();
  return cancelLocked(tx, runs);
}

/** Cancels the open runs among `ids` for actor `by`. Returns those that a node has yet to end. */
export async function cancelRunsById(tx: Tx, by: string, ids: readonly string[]): Promise<readonly string[]> {
  return ids.length === 0
    ? []
    : cancelLocked(tx, await lockOpenRuns(tx).where('id', 'in', ids).execute(), by);
}

/**
 * `by`: each run's own actor unless given. Returns the ids of the runs that a node has yet to end.
 */
async function cancelLocked(tx: Tx, runs: readonly RunRow[], by?: string): Promise<readonly string[]> {
  const owned: string[] = [];
  for (const run of runs) {
    const { id, owner } = await requestCancel(tx, by ?? run.actor_id, run);
    if (owner !== null) owned.push(id);
  }
  return owned;
}
