import type { Kysely } from 'kysely';
import { enqueue } from '../db/outbox.ts';
import type { Schema } from '../db/schema.ts';
import { newId } from '../protocol/ids.ts';

/** Topic of the outbox; its payload is an Added. */
export const ADDED = 'participants.added';

/** Somebody was made a participant, and is to hear of it. */
export interface Added {
  /** Of the notification: made with the change, so that there is one however often it is tried. */
  readonly notification_id: string;
  readonly participant_id: string;
  /** The actor who added the participant; null: nobody in particular. */
  readonly by: string | null;
}

/**
 * Has a new or returned participant notified once the transaction has committed (notifications/added.ts).
 * May be called for every participant: who is no user, or added itself, is told nothing.
 */
export async function enqueueAdded(
  tx: Kysely<Schema>,
  { participantId, by }: { readonly participantId: string; readonly by: string | null },
): Promise<void> {
  const added: Added = { notification_id: newId('notification'), participant_id: participantId, by };
  await enqueue(tx, ADDED, added);
}
