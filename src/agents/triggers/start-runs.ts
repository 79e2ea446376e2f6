import type { Tx } from '../../db/handle.ts';
import { startRun, type Trigger } from '../runs/start.ts';

/**
 * Starts a run of each of these agents, given by their actors, that is active and has the trigger's type: both are
 * read again, because the caller's knowledge may be out of date. A transaction that deactivates one of them waits.
 * Starts one run for each agent and key, however often it is called.
 */
export async function startRuns(tx: Tx, actorIds: readonly string[], trigger: Trigger): Promise<void> {
  const agents = await tx.kysely
    .selectFrom('agent_definitions')
    .select(['id', 'account_id', 'actor_id'])
    .where('actor_id', 'in', [...actorIds])
    .where('status', '=', 'active')
    .where('trigger_type', '=', trigger.type)
    // One fixed order, so that two such transactions cannot deadlock.
    .orderBy('id')
    .forShare()
    .execute();
  for (const agent of agents) await startRun(tx, agent, trigger);
}
