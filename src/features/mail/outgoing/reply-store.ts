import type { MessageRow } from '../../../core/resources/message.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { customerAddresses, IS_ID, threadCopies, threadIds } from '../mails/thread-store.ts';

/** The facts from which the mail of a message is made, besides its text. */
export interface ReplyFacts extends Pick<MessageRow, 'account_id' | 'conversation_id' | 'subject' | 'cc'> {
  readonly account_name: string;
  readonly title: string | null;
  /** The name of the group that the message is sent under, if any. */
  readonly persona: string | null;
  /** Whether an act of an agent sent it. */
  readonly by_machine: boolean;
  readonly inbox_id: string;
  readonly inbox_name: string;
  readonly inbox_removed: boolean;
  readonly address: string;
  readonly thread_subject: string | null;
  readonly thread_cc: readonly string[];
  /** The Message-ID that the mail answers, or null if it begins the thread. */
  readonly answers: string | null;
  /** The address of the sender of the customer's last mail, or null if there was none. */
  readonly last_sender: string | null;
  /** The address that the mail states for answers, or null if that is the sender's. */
  readonly last_reply_to: string | null;
  /** Whether nothing proves that the sender has the address (docs/contract.md#unproven-senders). */
  readonly unproven: boolean;
  readonly customers: readonly string[];
  /** Message-IDs of the thread, oldest first: the first one and the last ones. */
  readonly thread_ids: readonly string[];
}

/** Locks the message. Returns undefined if it is gone or its case has no inbox. */
export async function readReplyFacts(
  tx: Tx,
  messageId: string,
  by: string | null,
): Promise<ReplyFacts | undefined> {
  const [facts] = await tx.query(READ_FACTS, messageId, by);
  return facts;
}

const READ_FACTS = statement<[messageId: string, by: string | null], ReplyFacts>('read-reply-facts')`
    SELECT m.account_id, a.name AS account_name, m.conversation_id, c.title, m.subject, m.cc,
      CASE WHEN s.type = 'group' THEN s.name END AS persona,
      EXISTS (SELECT FROM actors o WHERE o.id = $2 AND o.type = 'agent') AS by_machine,
      i.id AS inbox_id, i.name AS inbox_name, i.deleted_at IS NOT NULL AS inbox_removed, i.address,
      t.subject AS thread_subject, ${threadCopies('m.account_id')} AS thread_cc, coalesce(answered.rfc_id,
        last_in.rfc_id, last_out.rfc_id) AS answers, last_in.reply_to AS last_reply_to,
      CASE WHEN last_in.reason = 'unproven' THEN last_in.reply_to ELSE last_in.from_address END AS last_sender,
      last_in.reason IS NOT DISTINCT FROM 'unproven'
        AND lower(w.handle) IS DISTINCT FROM lower(last_in.reply_to) AS unproven,
      ${customerAddresses('m.conversation_id')} AS customers,
      ${threadIds('m.conversation_id')} AS thread_ids
    FROM messages m
      JOIN conversations c ON c.id = m.conversation_id
      JOIN inboxes i ON i.id = c.inbox_id
      JOIN accounts a ON a.id = m.account_id
      LEFT JOIN actors s ON s.id = m.sender_id
      LEFT JOIN mail_threads t ON t.conversation_id = m.conversation_id
      LEFT JOIN mails last_in ON last_in.id = t.last_in_id AND last_in.rfc_id ${IS_ID}
      LEFT JOIN actors w ON w.id = last_in.actor_id
      LEFT JOIN mails last_out ON last_out.id = t.last_out_id
      LEFT JOIN mails answered ON answered.message_id = m.reply_to_id AND answered.rfc_id ${IS_ID}
    WHERE m.id = $1 AND m.status = 'sent'
    FOR NO KEY UPDATE OF m`;
