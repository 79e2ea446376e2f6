import type { Tx } from '../../db/handle.ts';
import { startRun, type Trigger } from '../runs/start.ts';

/**
 * Starts a run of each of these agents, named by their actors, that is active and started by such a trigger: what was
 * known of them until now may be out of date. Whoever makes one inactive meanwhile waits. Once for each agent and
 * key, however often it is called.
 */
export async function startRuns(tx: Tx, actorIds: readonly string[], trigger: Trigger): Promise<void> {
  const agents = await tx.kysely
    .selectFrom('agent_definitions')
    .select(['id', 'account_id', 'actor_id'])
    .where('actor_id', 'in', [...actorIds])
    .where('status', '=', 'active')
    .where('trigger_type', '=', trigger.type)
    // In one order, so that two of these cannot wait for each other.
    .orderBy('id')
    .forShare()
    .execute();
  for (const agent of agents) await startRun(tx, agent, trigger);
}
