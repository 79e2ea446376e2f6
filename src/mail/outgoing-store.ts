import type { Selectable } from 'kysely';
import type { Tx } from '../db/handle.ts';
import type { Schema } from '../db/schema.ts';
import { statement } from '../db/statement.ts';
import { setTouched } from '../db/touched.ts';
import type { EmailRecipient, EmailStatus } from '../protocol/resources/email.ts';

/** A mail that goes out, as its outcome needs it. */
export type OutgoingRow = Pick<
  Selectable<Schema['mails']>,
  'id' | 'account_id' | 'conversation_id' | 'message_id' | 'status' | 'recipients' | 'attempts'
>;

/** Locks the message of a mail, then the mail. */
export async function lockOutgoing(tx: Tx, mailId: string): Promise<OutgoingRow | undefined> {
  await tx.query(LOCK_MESSAGE, mailId);
  const [row] = await tx.query(LOCK_MAIL, mailId);
  return row;
}

export interface WrittenOutcome {
  readonly recipients: readonly EmailRecipient[];
  readonly status: EmailStatus;
  readonly reason: string | null;
  /** Milliseconds until the next try; null: there is none. */
  readonly nextTryMs: number | null;
}

/** Writes the outcome of a locked mail, and returns when that was. */
export async function writeOutcome(
  tx: Tx,
  mailId: string,
  { recipients, status, reason, nextTryMs }: WrittenOutcome,
): Promise<string> {
  const [row] = await tx.query(WRITE_OUTCOME, mailId, JSON.stringify(recipients), status, reason, nextTryMs);
  return row!.updated_at;
}

/** Returns whether the message is still there. */
export async function setEmailStatus(tx: Tx, messageId: string, status: EmailStatus): Promise<boolean> {
  return (await tx.query(SET_STATUS, messageId, status)).length > 0;
}

/** Whom a mail that failed concerns. */
export interface FailedMail {
  readonly conversation_id: string;
  readonly title: string | null;
  /** The author if it is a user, else the assignee of the case; null: neither. */
  readonly recipient_id: string | null;
}

export async function readFailed(tx: Tx, messageId: string): Promise<FailedMail | undefined> {
  const [row] = await tx.query(READ_FAILED, messageId);
  return row;
}

const LOCK_MESSAGE = statement<[mailId: string]>({
  name: 'lock-message-of-mail',
  text: `
    SELECT FROM messages m WHERE m.id = (SELECT l.message_id FROM mails l WHERE l.id = $1) FOR NO KEY UPDATE`,
});

const LOCK_MAIL = statement<[mailId: string], OutgoingRow>({
  name: 'lock-outgoing-mail',
  text: `
    SELECT id, account_id, conversation_id, message_id, status, recipients, attempts
    FROM mails WHERE id = $1 AND direction = 'out' FOR NO KEY UPDATE`,
});

const WRITE_OUTCOME = statement<
  [mailId: string, recipients: string, status: EmailStatus, reason: string | null, nextTryMs: number | null],
  { updated_at: string }
>({
  name: 'write-mail-outcome',
  text: `
    UPDATE mails SET recipients = $2::jsonb, status = $3, reason = $4,
      next_try_at = clock_timestamp() + $5::float8 * interval '1 ms',
      sent_at = CASE WHEN $2::jsonb @> '[{"status": "sent"}]' THEN coalesce(sent_at, clock_timestamp()) ELSE sent_at END,
      updated_at = later_than(updated_at)
    WHERE id = $1
    RETURNING updated_at`,
});

const SET_STATUS = statement<[messageId: string, status: EmailStatus]>({
  name: 'set-email-status-of-message',
  text: `UPDATE messages SET email_status = $2, ${setTouched()} WHERE id = $1 RETURNING 1`,
});

const READ_FAILED = statement<[messageId: string], FailedMail>({
  name: 'read-failed-mail',
  text: `
    SELECT m.conversation_id, c.title,
      CASE WHEN a.type = 'user' AND NOT a.customer THEN a.id ELSE c.assignee_id END AS recipient_id
    FROM messages m JOIN conversations c ON c.id = m.conversation_id LEFT JOIN actors a ON a.id = m.author_id
    WHERE m.id = $1`,
});
