import { sql } from 'kysely';
import type { Principal } from '../../access/principal.ts';
import { enqueueRightsChanged } from '../../accounts/rights-changed.ts';
import type { Tx } from '../../db/handle.ts';
import type { AgentRow } from '../rows.ts';
import { endRun } from './end-run.ts';
import { updateRun } from './store.ts';

/**
 * Cancels what an agent is running, whose definition is locked: nothing starts it meanwhile. What no node has in hand
 * ends here; a run's owner hears of it as of any cancel (cancel.ts), and ends it with what it is writing.
 */
export async function cancelRuns(
  tx: Tx,
  { actor }: Principal,
  { actor_id }: Pick<AgentRow, 'actor_id'>,
): Promise<void> {
  const open = await tx.kysely
    .selectFrom('agent_runs')
    .select(['id', 'cancelled_by'])
    .where('actor_id', '=', actor_id)
    .where('completed_at', 'is', null)
    .orderBy('id')
    .forUpdate()
    .execute();
  const owned: string[] = [];
  for (const { id, cancelled_by } of open) {
    const asked = await updateRun(tx, id, {
      cancel_requested_at: sql<string>`coalesce(cancel_requested_at, clock_timestamp())`,
      cancelled_by: cancelled_by ?? actor.id,
    });
    if (asked.owner === null) await endRun(tx, asked, { move: 'cancel' });
    else owned.push(id);
  }
  if (owned.length > 0) await enqueueRightsChanged(tx, owned);
}
