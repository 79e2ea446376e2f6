import type { Kysely } from 'kysely';
import { enqueue } from '../db/outbox.ts';
import type { Schema } from '../db/schema.ts';
import type { ConversationRow } from './insert-conversation.ts';

/** Topic of the outbox; its payload is a Created. */
export const CREATED = 'conversations.created';

/** A conversation began. */
export interface Created {
  readonly conversation_id: string;
  readonly account_id: string;
  /** The actor who created it; null: nobody in particular. */
  readonly by: string | null;
  readonly at: string;
}

/** Has what waits for new conversations started once the transaction has committed (agents/triggers/). */
export async function enqueueCreated(
  tx: Kysely<Schema>,
  { id, account_id, created_at }: Pick<ConversationRow, 'id' | 'account_id' | 'created_at'>,
  by: string | null,
): Promise<void> {
  const created: Created = { conversation_id: id, account_id, by, at: created_at };
  await enqueue(tx, CREATED, created);
}
