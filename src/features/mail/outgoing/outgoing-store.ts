import type { EmailRecipient, SentEmailStatus } from '../../../contract/protocol/resources/email.ts';
import type { Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { type MailRow, mailColumns } from '../mail-store.ts';

/** A mail that goes out, as its outcome needs it. */
export type OutgoingRow = Pick<
  MailRow,
  'id' | 'account_id' | 'conversation_id' | 'message_id' | 'status' | 'recipients' | 'attempts'
>;

/**
 * Takes mails that are due, the longest waiting first, and keeps other nodes away from them for
 * `leaseMs`. Those of busy accounts are left.
 */
export function takeDueMails(
  db: Querier,
  busyAccounts: readonly string[],
  leaseMs: number,
  limit: number,
): Promise<MailRow[]> {
  return db.query(TAKE_DUE, busyAccounts, leaseMs, limit);
}

/** Prolongs the leases of mails that are still being sent. */
export async function renewLeases(db: Querier, ids: readonly string[], leaseMs: number): Promise<void> {
  if (ids.length > 0) await db.query(RENEW, ids, leaseMs);
}

/** Lets any node take these mails at once, as if they had not been taken. */
export async function releaseMails(db: Querier, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await db.query(RELEASE, ids);
}

export interface WaitingMails {
  readonly waiting: number;
  /** Since the oldest of them was made. */
  readonly oldestSeconds: number;
}

export async function measureWaiting(db: Querier): Promise<WaitingMails> {
  const [row] = await db.query(MEASURE);
  return { waiting: row!.waiting, oldestSeconds: row!.oldest ?? 0 };
}

/** Locks the message of a mail, then the mail. */
export async function lockOutgoing(tx: Tx, mailId: string): Promise<OutgoingRow | undefined> {
  await tx.query(LOCK_MESSAGE, mailId);
  const [row] = await tx.query(LOCK_MAIL, mailId);
  return row;
}

export interface WrittenOutcome {
  readonly recipients: readonly EmailRecipient[];
  readonly status: SentEmailStatus;
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

/** Makes a locked mail that has ended due again, as if it had not been tried. */
export async function requeue(
  tx: Tx,
  mailId: string,
  { recipients, reason }: Pick<WrittenOutcome, 'recipients' | 'reason'>,
): Promise<void> {
  await tx.query(REQUEUE, mailId, JSON.stringify(recipients), reason);
}

/** Returns whether the message is still there. */
export async function setEmailStatus(tx: Tx, messageId: string, status: SentEmailStatus): Promise<boolean> {
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

const TAKE_DUE = statement<[busyAccounts: readonly string[], leaseMs: number, limit: number], MailRow>({
  name: 'take-due-mails',
  text: `
    WITH due AS MATERIALIZED (
      SELECT id FROM mails WHERE next_try_at <= clock_timestamp() AND account_id <> ALL($1)
      ORDER BY next_try_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE mails m SET attempts = m.attempts + 1, next_try_at = clock_timestamp() + $2::float8 * interval '1 ms'
    FROM due WHERE m.id = due.id
    RETURNING ${mailColumns('m')}`,
});

const RENEW = statement<[ids: readonly string[], leaseMs: number]>({
  name: 'renew-leases-of-mails',
  text: `
    UPDATE mails SET next_try_at = clock_timestamp() + $2::float8 * interval '1 ms'
    WHERE id = ANY($1) AND next_try_at < clock_timestamp() + $2::float8 * interval '1 ms'`,
});

const RELEASE = statement<[ids: readonly string[]]>({
  name: 'release-mails',
  text: `
    UPDATE mails SET attempts = greatest(attempts - 1, 0), next_try_at = clock_timestamp()
    WHERE id = ANY($1) AND next_try_at IS NOT NULL`,
});

const MEASURE = statement<[], { waiting: number; oldest: number | null }>({
  name: 'measure-waiting-mails',
  text: `
    SELECT count(*) AS waiting, extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS oldest
    FROM mails WHERE next_try_at IS NOT NULL`,
});

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
  [
    mailId: string,
    recipients: string,
    status: SentEmailStatus,
    reason: string | null,
    nextTryMs: number | null,
  ],
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

const REQUEUE = statement<[mailId: string, recipients: string, reason: string | null]>({
  name: 'requeue-mail',
  text: `
    UPDATE mails SET recipients = $2::jsonb, status = 'queued', reason = $3, attempts = 0,
      next_try_at = clock_timestamp(), updated_at = later_than(updated_at)
    WHERE id = $1`,
});

const SET_STATUS = statement<[messageId: string, status: SentEmailStatus]>({
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
