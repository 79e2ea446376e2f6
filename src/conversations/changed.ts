import type { Kysely } from 'kysely';
import { enqueue } from '../db/outbox.ts';
import type { Schema } from '../db/schema.ts';
import type { EventName } from '../protocol/socket/events.ts';

/** Topic of the outbox; its payload is `{ changes: Change[] }`. */
export const CHANGED = 'changed';

/** A durable event by what it is about: who tells it reads the resource as it stands then. */
export interface Change {
  readonly event: EventName;
  /** Of the resource: the message, participant, conversation or notification. */
  readonly id: string;
  /** Whose channel it travels on: the conversation's id, or the actor's for events of a feed. */
  readonly stream: string;
  /** Whose act it is, of a conversation: what that starts is told apart by it (agents/triggers/). Null or absent: nobody's. */
  readonly by?: string | null;
  /** A text was written to its end: the attempt that did, from 1. The event seals it (docs/realtime.md#streamed-replies). */
  readonly attempt?: number;
}

/** Has everybody told once the transaction has committed (jobs/changed-effects.ts). */
export async function enqueueChanged(tx: Kysely<Schema>, changes: readonly Change[]): Promise<void> {
  if (changes.length > 0) await enqueue(tx, CHANGED, { changes });
}
