import type { Tx } from '../../../platform/db/connection/handle.ts';
import { startRun, type Trigger } from '../runs/start.ts';
import { holdStartable } from './store.ts';

/**
 * Starts a run of each of these agents, given by their actors, that is active and has the trigger's
 * type: both are read again, because the caller's knowledge may be out of date. A transaction that
 * deactivates one of them waits. Starts one run for each agent and key, however often it is called.
 */
export async function startRuns(tx: Tx, actorIds: readonly string[], trigger: Trigger): Promise<void> {
  const agents = await holdStartable(tx, actorIds, trigger.type);
  for (const agent of agents) await startRun(tx, agent, trigger);
}
