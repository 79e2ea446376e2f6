import type { Database } from '../../db/database.ts';
import type { TriggerEventName } from '../../protocol/trigger-event.ts';
import { type Cause, readOrigin } from '../runs/origin.ts';
import type { EventAgent } from './event-agents.ts';
import { startRuns } from './start-runs.ts';

/** Something that agents of the trigger type `event` may wait for. */
export interface TriggerEvent {
  readonly event: TriggerEventName;
  readonly accountId: string;
  /** The resource's id, with its version where it may happen to one again. */
  readonly key: string;
  readonly cause: Cause;
  /** Ids of what it is about. */
  readonly input: {
    readonly conversation_id?: string;
    readonly message_id?: string;
    readonly run_id?: string;
  };
}

/**
 * Starts the agents that wait for it, once: never one by what its own runs did, nor past the limit of runs in a row.
 * What they say goes into their runs' output: they need not be in any conversation.
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
