import { sql } from 'kysely';
import { rewriteAnswersAbout } from '../../../api/access/stored-answers.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { withdrawUploads } from '../../attachments/uploads.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import type { MessageRow } from '../../resources/message.ts';
import { withoutContent } from '../../resources/without-content.ts';
import { MESSAGE_DELETED } from '../outbox-topics.ts';
import { removePin } from '../pins/pin.ts';
import { removeReactions } from '../reactions/reactions.ts';
import { deleteAttachments, updateMessage } from '../rows/message-store.ts';
import { outsideUpdateOf } from '../rows/waiting-store.ts';
import { questionsOf } from '../rules/questions.ts';

/** The reason for which a message was redacted, and the actor that redacted it. */
export interface RedactedBy {
  readonly by: string;
  readonly reason: string;
}

/**
 * Replaces a locked, sent message by a tombstone in the same place of the timeline. Removes its
 * content, revisions, reactions, pin and attachments, also from the stored answers of its own
 * requests and from its mail. Publishes the change and has its notifications withdrawn. With
 * `redacted`, the tombstone shows by whom and why. The caller has checked that there is no legal
 * hold.
 */
export async function withdrawContent(tx: Tx, row: MessageRow, redacted?: RedactedBy): Promise<MessageRow> {
  await removeParts(tx, row);
  const isCanceled = await withdrawMail(tx, row);
  const tombstone = await updateMessage(tx, row, {
    ...NO_CONTENT,
    ...(isCanceled && { email_status: 'canceled' }),
    // The time of the statement makes both columns equal.
    deleted_at: sql<string>`statement_timestamp()`,
    ...(redacted !== undefined && {
      redaction: sql<string>`${JSON.stringify(redacted)}::jsonb || jsonb_build_object('at', ${NOW})`,
    }),
  });
  await enqueueRowsChanged(tx, 'message.updated', [row]);
  await enqueue(tx, MESSAGE_DELETED, { message_id: row.id, conversation_id: row.conversation_id });
  return tombstone;
}

/**
 * Removes the content of a locked message that ended outside the timeline. The caller has checked
 * that the conversation is not under legal hold.
 */
export async function withdrawOutside(tx: Tx, row: MessageRow): Promise<void> {
  await removeParts(tx, row);
  await updateMessage(tx, row, { ...NO_CONTENT, deleted_at: sql<string>`statement_timestamp()` });
  await enqueueRowsChanged(tx, outsideUpdateOf(row), [row]);
}

/** Removes the rows of other tables that belong to a message. */
async function removeParts(tx: Tx, row: MessageRow): Promise<void> {
  await withdrawUploads(tx, await deleteAttachments(tx, row));
  await tx.kysely.deleteFrom('message_revisions').where('message_id', '=', row.id).execute();
  await removeReactions(tx, row);
  await removePin(tx, row);
  if (row.question !== null) await questionsOf(tx)?.withdrawn(tx, row);
  await removeAnswers(tx, row.id);
}

async function removeAnswers(tx: Tx, id: string): Promise<void> {
  const ids = new Set([id]);
  await rewriteAnswersAbout(tx, [id], (answer) => withoutContent(answer, ids));
}

/**
 * Removes the content of the mail of a locked message: its texts, recipients and the reference to
 * its source. If the thread has its subject, the thread and our answers get a neutral one, so that
 * the subject is not sent again. The sender, the ids by which mails are threaded and the outcome
 * stay. Returns whether the mail had not left yet, and will not be sent.
 */
async function withdrawMail(tx: Tx, { id: messageId }: MessageRow): Promise<boolean> {
  const [mail] = await tx.query(WITHDRAW_MAIL, messageId);
  if (mail === undefined) return false;
  if (mail.source_key !== null) await withdrawUploads(tx, [mail.source_key]);
  await removeAnswers(tx, mail.id);
  return mail.is_canceled;
}

/** The start of a neutral subject for mails of a case; the name of the account follows. */
export const NEUTRAL_SUBJECT = 'Your message to ';

const NO_CONTENT = {
  body: null,
  subject: null,
  cc: null,
  mentions: null,
  resource_type: null,
  resource_id: null,
  has_attachments: false,
  metadata: null,
  question: null,
} as const;

/** The format in which db/ reads times. */
const NOW = sql<string>`to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

// Our answers take their subject from the mail that they answer, so withdrawing an answer does not
// change other subjects.
const WITHDRAW_MAIL = statement<
  [messageId: string],
  { id: string; source_key: string | null; is_canceled: boolean }
>('withdraw-mail-of-message')`
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
