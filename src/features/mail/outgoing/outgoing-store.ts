import type { EmailRecipient, SentEmailStatus } from '@parley/protocol/resources/email.ts';
import type { Insertable } from 'kysely';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { LeasedRows } from '../../../platform/db/queue/leased-rows.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { MailRow } from '../mails/mail-store.ts';

/** The fields of an outgoing mail that its outcome needs. */
export type OutgoingRow = Pick<
  MailRow,
  'id' | 'account_id' | 'conversation_id' | 'message_id' | 'status' | 'recipients' | 'attempts'
>;

/** Locks the message of a mail, then the mail. */
export async function lockOutgoing(tx: Tx, mailId: string): Promise<OutgoingRow | undefined> {
  await tx.query(LOCK_MESSAGE, mailId);
  const [row] = await tx.query(LOCK_MAIL, mailId);
  return row;
}

export type NewDueMail = Omit<Insertable<Schema['mails']>, 'next_try_at'>;

/** Inserts mails that are due now. Returns whether any mail is new. */
export async function insertDue(db: Db, mails: readonly NewDueMail[]): Promise<boolean> {
  const inserted = await db.kysely
    .insertInto('mails')
    .values(({ fn }) => mails.map((mail) => ({ ...mail, next_try_at: fn('clock_timestamp') })))
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute();
  return inserted.length > 0;
}

/** Makes a locked mail that has ended due again, as if it had never been tried. */
export async function requeue(
  tx: Tx,
  mailId: string,
  recipients: readonly EmailRecipient[],
  reason: string | null,
): Promise<void> {
  await tx.query(REQUEUE, mailId, JSON.stringify(recipients), reason);
}

/** Returns whether the message still exists. */
export async function setEmailStatus(tx: Tx, messageId: string, status: SentEmailStatus): Promise<boolean> {
  return (await tx.query(SET_STATUS, messageId, status)).length > 0;
}

interface FailedMail {
  readonly conversation_id: string;
  readonly title: string | null;
  /** The author if it is a user, else the assignee of the case, or null if there is none. */
  readonly recipient_id: string | null;
}

/** Returns the user whom a failed mail concerns. */
export async function readFailed(tx: Tx, messageId: string): Promise<FailedMail | undefined> {
  const [row] = await tx.query(READ_FAILED, messageId);
  return row;
}

/** Outgoing mails, longest waiting first, without those of busy accounts. */
export const OUTGOING = new LeasedRows<
  Pick<MailRow, 'id'>,
  MailRow,
  [busyAccounts: readonly string[], limit: number],
  { readonly recipients: string; readonly status: SentEmailStatus; readonly reason: string | null },
  { readonly updated_at: string }
>({
  name: 'mails',
  table: 'mails',
  key: ['id'],
  due: 'next_try_at',
  tries: 'attempts',
  take: {
    from: `mails q WHERE q.next_try_at <= clock_timestamp() AND q.account_id <> ALL($2)
      ORDER BY q.next_try_at LIMIT $3`,
    returning: 'q.*',
  },
  settle: {
    columns: { recipients: 'jsonb', status: 'text', reason: 'text' },
    set: `sent_at = CASE WHEN s.recipients @> '[{"status": "sent"}]' THEN coalesce(q.sent_at, clock_timestamp())
      ELSE q.sent_at END, updated_at = later_than(q.updated_at)`,
  },
  shown: 'q.updated_at',
  since: 'q.created_at',
});

const LOCK_MESSAGE = statement<[mailId: string]>('lock-message-of-mail')`
    SELECT FROM messages m WHERE m.id = (SELECT l.message_id FROM mails l WHERE l.id = $1) FOR NO KEY UPDATE`;

const LOCK_MAIL = statement<[mailId: string], OutgoingRow>('lock-outgoing-mail')`
    SELECT id, account_id, conversation_id, message_id, status, recipients, attempts
    FROM mails WHERE id = $1 AND direction = 'out' FOR NO KEY UPDATE`;

const REQUEUE = statement<[mailId: string, recipients: string, reason: string | null]>('requeue-mail')`
    UPDATE mails SET recipients = $2::jsonb, status = 'queued', reason = $3, attempts = 0,
      next_try_at = clock_timestamp(), updated_at = later_than(updated_at)
    WHERE id = $1`;

const SET_STATUS = statement<[messageId: string, status: SentEmailStatus]>('set-email-status-of-message')`
    UPDATE messages SET email_status = $2, ${setTouched()} WHERE id = $1 RETURNING 1`;

const READ_FAILED = statement<[messageId: string], FailedMail>('read-failed-mail')`
    SELECT m.conversation_id, c.title,
      CASE WHEN a.type = 'user' AND NOT a.customer THEN a.id ELSE c.assignee_id END AS recipient_id
    FROM messages m JOIN conversations c ON c.id = m.conversation_id LEFT JOIN actors a ON a.id = m.author_id
    WHERE m.id = $1`;
