import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

export interface WithdrawnMail {
  readonly id: string;
  readonly source_key: string | null;
  /** Whether the mail had not left yet and will not be sent. */
  readonly is_canceled: boolean;
}

/** The start of a neutral subject for mails of a case; the name of the account follows. */
export const NEUTRAL_SUBJECT = 'Your message to ';

/**
 * Removes the content of the mail of a locked message: its texts, recipients and the reference to
 * its source. If the thread has its subject, the thread and our answers get a neutral one, so that
 * the subject is not sent again. A waiting mail is not sent. The sender, the ids by which mails are
 * threaded and the outcome stay. Returns undefined if there is no mail.
 */
export async function withdrawMail(tx: Tx, messageId: string): Promise<WithdrawnMail | undefined> {
  const [withdrawn] = await tx.query(WITHDRAW, messageId);
  return withdrawn;
}

// Our answers take their subject from the mail that they answer, so withdrawing one of them does
// not change the subject of the others.
const WITHDRAW = statement<[messageId: string], WithdrawnMail>('withdraw-mail-of-message')`
    WITH before AS (
      SELECT id, conversation_id, direction, subject, source_key, status IN ('queued', 'deferred') AS is_canceled
      FROM mails WHERE message_id = $1 FOR NO KEY UPDATE
    ), named AS (
      SELECT b.id, t.conversation_id, t.subject, '${NEUTRAL_SUBJECT}' || a.name AS neutral
      FROM before b JOIN mail_threads t ON t.conversation_id = b.conversation_id JOIN accounts a ON a.id = t.account_id
      WHERE position(t.subject IN b.subject) > 0 AND (b.direction = 'in' OR NOT EXISTS (
        SELECT FROM mails o
        WHERE o.conversation_id = b.conversation_id AND o.id <> b.id AND position(t.subject IN o.subject) > 0))
    ), thread AS (
      UPDATE mail_threads t SET subject = n.neutral, updated_at = later_than(t.updated_at) FROM named n
      WHERE t.conversation_id = n.conversation_id
    ), answers AS (
      UPDATE mails o SET subject = 'Re: ' || n.neutral, updated_at = later_than(o.updated_at) FROM named n
      WHERE o.conversation_id = n.conversation_id AND o.id <> n.id AND o.direction = 'out'
        AND position(n.subject IN o.subject) > 0
    )
    UPDATE mails m SET subject = NULL, body_text = NULL, body_html = NULL, source_key = NULL, recipients = '[]',
      status = CASE WHEN b.is_canceled THEN 'canceled' ELSE m.status END,
      reason = CASE WHEN b.is_canceled THEN 'message_deleted' ELSE m.reason END,
      next_try_at = NULL, updated_at = later_than(m.updated_at)
    FROM before b WHERE m.id = b.id
    RETURNING m.id, b.source_key, b.is_canceled`;
