import { sql } from 'kysely';
import type { Principal } from '../../access/principal.ts';
import { enqueueRightsChanged } from '../../accounts/rights-changed.ts';
import type { Tx } from '../../db/handle.ts';
import type { AgentRow } from '../../resources/agent.ts';
import { endRun } from './end-run.ts';
import { lockOpenRuns, updateRun } from './store.ts';

/**
 * Cancels all open runs of an agent. Its definition is locked, so nothing starts meanwhile. A run that no node has
 * claimed ends here; the owner of any other run receives the cancel as in cancel.ts, and ends the run and its text.
 */
export async function cancelRuns(
  tx: Tx,
  { actor }: Principal,
  { actor_id }: Pick<AgentRow, 'actor_id'>,
): Promise<void> {
  const owned: string[] = [];
  for (const { id, cancelled_by } of await lockOpenRuns(tx, actor_id)) {
    const asked = await updateRun(tx, id, {
      cancel_requested_at: sql<string>`coalesce(cancel_requested_at, clock_timestamp())`,
      cancelled_by: cancelled_by ?? actor.id,
    });
    if (asked.owner === null) await endRun(tx, asked, { move: 'cancel' });
    else owned.push(id);
  }
  if (owned.length > 0) await enqueueRightsChanged(tx, owned);
}
