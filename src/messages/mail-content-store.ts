import type { Tx } from '../db/handle.ts';
import { statement } from '../db/statement.ts';

/** What was withdrawn of the mail that carried a message. */
export interface WithdrawnMail {
  readonly id: string;
  readonly source_key: string | null;
  /** The mail had not left yet, and does not any more. */
  readonly is_canceled: boolean;
}

/**
 * Removes the content of the mail of a locked message: its texts, its recipients and the reference to its source, also the
 * subject that its thread has of it. A mail that waits does not leave any more. The sender, the ids by which mails are
 * threaded and the outcome stay. Returns undefined if there is no mail.
 */
export async function withdrawMail(tx: Tx, messageId: string): Promise<WithdrawnMail | undefined> {
  const [withdrawn] = await tx.query(WITHDRAW, messageId);
  return withdrawn;
}

// The thread keeps a subject that other mails of it still show.
const WITHDRAW = statement<[messageId: string], WithdrawnMail>({
  name: 'withdraw-mail-of-message',
  text: `
    WITH before AS (
      SELECT id, conversation_id, subject, source_key, status IN ('queued', 'deferred') AS is_canceled
      FROM mails WHERE message_id = $1 FOR NO KEY UPDATE
    ), thread AS (
      UPDATE mail_threads t SET subject = NULL, updated_at = later_than(t.updated_at) FROM before b
      WHERE t.conversation_id = b.conversation_id AND position(t.subject IN b.subject) > 0 AND NOT EXISTS (
        SELECT FROM mails o
        WHERE o.conversation_id = b.conversation_id AND o.id <> b.id AND position(t.subject IN o.subject) > 0)
    )
    UPDATE mails m SET subject = NULL, body_text = NULL, body_html = NULL, source_key = NULL, recipients = '[]',
      status = CASE WHEN b.is_canceled THEN 'canceled' ELSE m.status END,
      reason = CASE WHEN b.is_canceled THEN 'message_deleted' ELSE m.reason END,
      next_try_at = NULL, updated_at = later_than(m.updated_at)
    FROM before b WHERE m.id = b.id
    RETURNING m.id, b.source_key, b.is_canceled`,
});
