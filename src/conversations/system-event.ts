import type { Kysely } from 'kysely';
import { enqueue } from '../db/outbox.ts';
import type { Schema } from '../db/schema.ts';
import { newId } from '../protocol/ids.ts';

/** Topic of the outbox; its payload is a SystemEvent. */
export const SYSTEM_EVENT = 'messages.system';

/** A message that nobody wrote: it says in the timeline what happened to the conversation. */
export interface SystemEvent {
  /** Of the message: made with the change, so that it is written once however often it is tried. */
  readonly id: string;
  readonly account_id: string;
  readonly conversation_id: string;
  /** `system`: the customer sees it too. */
  readonly visibility: 'internal' | 'system';
  readonly body: string;
}

/** Has the event written into the timeline once the transaction has committed (messages/system-messages.ts). */
export async function writeSystemEvent(tx: Kysely<Schema>, event: Omit<SystemEvent, 'id'>): Promise<void> {
  await enqueue(tx, SYSTEM_EVENT, { id: newId('message'), ...event });
}
