import type { ChangeEventName } from '@parley/protocol/socket/events.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';

/** Durable events are published by core/committed/changed-effects.ts. */
export const RESOURCES_CHANGED = defineTopic<ResourcesChanged>('changed');

export interface ResourcesChanged {
  readonly changes: readonly Change[];
}

/** A durable event, named by its resource, which is read in its current state for publication. */
export interface Change<Event extends ChangeEventName = ChangeEventName> {
  readonly event: Event;
  /** The id of the resource: a message, participant, conversation, notification or run. */
  readonly id: string;
  /** The channel of the event: the conversation's id, or the actor's id for events of a feed. */
  readonly stream: string;
  /**
   * The actor that changed a conversation, or null or absent if no actor did. Triggers use it to
   * start at most once for an act (agents/triggers/).
   */
  readonly by?: string | null;
  /** Whether the change starts no agent, as one that an automatic mail makes. */
  readonly quiet?: true;
  /** The attempt that completed a text, from 1. The event then contains the seal of the text. */
  readonly attempt?: number;
}

export async function enqueueChanged(tx: Tx, changes: readonly Change[]): Promise<void> {
  if (changes.length > 0) await enqueue(tx, RESOURCES_CHANGED, { changes });
}

/**
 * Enqueues one event for each of these rows, such as messages, on the streams of their
 * conversations.
 */
export function enqueueRowsChanged(
  tx: Tx,
  event: ChangeEventName,
  rows: readonly { readonly id: string; readonly conversation_id: string }[],
): Promise<void> {
  const changes = rows.map(({ id, conversation_id: stream }) => ({ event, id, stream }));
  return enqueueChanged(tx, changes);
}
