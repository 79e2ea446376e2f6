import { conversationArchived } from '@parley/protocol/errors/errors.ts';
import { formatTraceparent } from '@parley/protocol/traceparent.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { moveWorkflow } from '../../conversations/cases/workflow.ts';
import { conversationGone } from '../../conversations/directory/access.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { EMAIL_DUE } from '../outbox-topics.ts';
import type { CommittedMessage } from './outgoing.ts';

/**
 * Writes the effects of a message between the team and a customer in the same transaction: the case
 * moves, and a reply of channel `email` leaves as mail. `by` is the actor that sent the reply, null
 * for a message of the customer, which is `automatic_mail` where a machine may have written it.
 */
export async function followExternal(
  tx: Tx,
  { row, audience, trace }: Pick<CommittedMessage, 'row' | 'audience' | 'trace'>,
  by: string | null,
  written: 'customer_wrote' | 'automatic_mail' = 'customer_wrote',
): Promise<void> {
  const move = by === null ? written : 'reply_sent';
  const begunAt = by === null ? row.created_at : null;
  await moveWorkflow(
    tx,
    { id: row.conversation_id, account_id: row.account_id, audience },
    move,
    by,
    begunAt,
  );
  if (by === null || row.channel !== 'email') return;
  await enqueue(tx, EMAIL_DUE, {
    message_id: row.id,
    by,
    ...(trace !== undefined && { traceparent: formatTraceparent(trace) }),
  });
}

/**
 * Throws ApiError `resource_conflict` if the conversation is archived, `resource_gone` if it was
 * deleted (docs/contract.md#reading-and-sending).
 */
export function requireActive({ status, deleted_at }: Pick<ConversationRow, 'status' | 'deleted_at'>): void {
  if (deleted_at !== null) throw conversationGone();
  if (status === 'archived') throw conversationArchived();
}
