import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { MESSAGE_COLUMNS, type MessageRow } from '../../resources/message.ts';

/**
 * The open drafts of the conversation that answer this message or are by this author, locked. Null
 * for either: none by it.
 */
export function lockDrafts(
  tx: Tx,
  conversationId: string,
  { sourceId, authorId }: { readonly sourceId: string | null; readonly authorId: string | null },
): Promise<MessageRow[]> {
  return tx.kysely
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('conversation_id', '=', conversationId)
    .where('status', '=', 'draft')
    .where((row) => row.or([row('source_thread_message_id', '=', sourceId), row('author_id', '=', authorId)]))
    .forUpdate()
    .execute();
}

/** Whether the customer has written since that number. The conversation is locked. */
export async function hasCustomerWrittenSince(
  tx: Tx,
  conversationId: string,
  sequence: number,
): Promise<boolean> {
  const [newer] = await tx.query(READ_CUSTOMER_SINCE, conversationId, sequence);
  return newer !== undefined;
}

// Every message of a customer takes its number under the lock that the reader of this statement
// holds.
const READ_CUSTOMER_SINCE = statement<[conversationId: string, sequence: number]>({
  name: 'read-customer-message-since',
  text: `
    SELECT m.id FROM messages m LEFT JOIN actors a ON a.id = m.author_id
    WHERE m.conversation_id = $1 AND m.sequence > $2 AND m.status = 'sent'
      AND m.visibility = 'external' AND (a.customer OR m.kind = 'email')
    LIMIT 1`,
});
