import type { Database } from '../../../platform/db/connection/database.ts';
import { type Cause, readOrigin } from '../runs/origin.ts';
import { startRuns } from './start-runs.ts';
import type { EventAgent } from './store.ts';

/** An event that agents of the trigger type `event` may subscribe to. */
export interface TriggerEvent {
  /** One of TRIGGER_EVENTS, or the type of a producer's event. */
  readonly event: string;
  readonly accountId: string;
  /** The resource's id, with its version if the event may occur for it again. */
  readonly key: string;
  readonly cause: Cause;
  /**
   * The ids of the resources that the event is about; of a producer's event, what the producer says
   * of it.
   */
  readonly input: object;
}

/**
 * Starts the agents that subscribe to the event, once: never an agent by an action of its own runs,
 * nor past the limit of runs in a row. Their text goes into the output of the runs: the agents need
 * not be in any conversation.
 */
export async function startByEvent(
  database: Database,
  { event, key, cause, input }: TriggerEvent,
  agents: readonly EventAgent[],
): Promise<void> {
  const waiting = agents.filter(({ actor_id, events }) => actor_id !== cause.by && events.includes(event));
  if (waiting.length === 0) return;
  await database.transaction(async (tx) => {
    const { depth, rootId, trace, isExhausted } = await readOrigin(tx, cause);
    if (isExhausted) return;
    const actorIds = waiting.map(({ actor_id }) => actor_id);
    await startRuns(tx, actorIds, {
      type: 'event',
      key: `${event}:${key}`,
      input: { event, ...input },
      by: null,
      conversationId: null,
      messageId: null,
      depth,
      rootId,
      trace,
    });
  });
}
