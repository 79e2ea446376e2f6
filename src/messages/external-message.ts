import { conversationGone } from '../conversations/access.ts';
import { moveWorkflow } from '../conversations/workflow.ts';
import type { Tx } from '../db/handle.ts';
import { conversationArchived } from '../protocol/errors.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import type { CommittedMessage } from './outgoing.ts';

/**
 * Moves the case of a message between the team and a customer, in the transaction that writes the message. `by` is the
 * actor that moved it, null for a customer.
 */
export async function followExternal(
  tx: Tx,
  { row, audience }: Pick<CommittedMessage, 'row' | 'audience'>,
  move: 'customer_wrote' | 'reply_sent',
  by: string | null,
): Promise<void> {
  await moveWorkflow(tx, { id: row.conversation_id, account_id: row.account_id, audience }, move, by);
}

/**
 * Archived conversations accept no messages (docs/contract.md#reading-and-sending): ApiError `resource_conflict`; neither
 * do deleted ones: `resource_gone`.
 */
export function requireActive({ status, deleted_at }: Pick<ConversationRow, 'status' | 'deleted_at'>): void {
  if (deleted_at !== null) throw conversationGone();
  if (status === 'archived') throw conversationArchived();
}
