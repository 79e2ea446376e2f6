import type { Transaction } from 'kysely';
import type { ConversationRow } from '../conversations/create.ts';
import { moveLane } from '../conversations/workflow.ts';
import { parkOutbox } from '../db/outbox.ts';
import type { Schema } from '../db/schema.ts';
import { ApiError } from '../protocol/errors.ts';
import type { CommittedMessage } from './outgoing.ts';

/** Topic of the outbox: a message that leaves through the case's inbox too; `{ message_id, conversation_id }`. */
export const MAIL_OUTBOUND = 'mail.outbound';

/**
 * What a message between the team and a customer causes besides itself, in its transaction: where the case
 * stands (design.md section 7, workflow), and the mail. `by`: whose act it is; null for a customer's.
 */
export async function followExternal(
  tx: Transaction<Schema>,
  { row, audience }: Pick<CommittedMessage, 'row' | 'audience'>,
  move: 'customer_wrote' | 'reply_sent',
  by: string | null,
): Promise<void> {
  const { id: message_id, account_id, conversation_id, channel } = row;
  await moveLane(tx, { id: conversation_id, account_id, audience }, move, by);
  if (channel === 'email') await parkOutbox(tx, MAIL_OUTBOUND, { message_id, conversation_id });
}

/** Archived conversations take no messages (design.md section 7): ApiError `resource_conflict`. */
export function requireActive({ status }: Pick<ConversationRow, 'status'>): void {
  if (status === 'archived') throw new ApiError('resource_conflict', 'the conversation is archived');
}

/** The conversation, which changes and takes messages to and from customers only here until the transaction ends. */
export function lockConversation(tx: Transaction<Schema>, id: string): Promise<ConversationRow> {
  return tx
    .selectFrom('conversations')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirstOrThrow();
}
