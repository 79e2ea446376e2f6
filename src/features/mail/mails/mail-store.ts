import { omittedText } from '@parley/mail-reader/text/omitted-text.ts';
import type { Email } from '@parley/protocol/resources/email.ts';
import type { Selectable } from 'kysely';
import type { Downloads } from '../../../core/resources/attachment.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

/** An incoming or outgoing mail, as a row of Postgres. */
export type MailRow = Selectable<Schema['mails']>;

/** A mail as it is shown, with the body of the message that it became. */
export interface ShownMail extends MailRow {
  /** Null for mail that goes out, and for mail without a message or with an empty one. */
  readonly message_body: string | null;
}

/** SQL: the columns of a `ShownMail` in the table `m`. */
export const SHOWN_COLUMNS = `m.*,
      (SELECT b.body FROM messages b WHERE b.id = m.message_id AND m.direction = 'in') AS message_body`;

/** The columns of a mail that its fate needs, without the text, which may have hundreds of KB. */
export type MailHead = Pick<MailRow, (typeof HEAD_COLUMNS)[number]>;

export const HEAD_COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'purpose',
  'conversation_id',
  'message_id',
  'actor_id',
  'status',
  'reason',
  'automatic',
  'subject',
  'verdict',
  'created_at',
] as const satisfies readonly (keyof MailRow)[];

/** Returns mails of any account, unordered, without missing ones. */
export function readMails(db: Db, ids: readonly string[]): Promise<ShownMail[]> {
  return db.query(READ_BY_ID, ids);
}

export async function readMail(db: Db, id: string): Promise<ShownMail | undefined> {
  const [row] = await readMails(db, [id]);
  return row;
}

export async function readMailHead(db: Db, id: string): Promise<MailHead | undefined> {
  const [head] = await db.query(READ_HEAD, id);
  return head;
}

/** Returns the mail that carries the message, or undefined if there is none. */
export async function readMailOfMessage(db: Db, messageId: string): Promise<ShownMail | undefined> {
  const [row] = await db.query(READ_OF_MESSAGE, messageId);
  return row;
}

/** Returns the mails of a case after this one, in order of creation. */
export function readMailsOfConversation(
  db: Db,
  conversationId: string,
  after: Pick<MailRow, 'created_at' | 'id'> | null,
  limit: number,
): Promise<ShownMail[]> {
  const { created_at, id } = after ?? { created_at: '-infinity', id: '' };
  return db.query(READ_OF_CONVERSATION, conversationId, created_at, id, limit);
}

/**
 * Returns what the bodies of messages leave out of their mails, by the ids of the messages. Those
 * that leave out nothing, or have no mail, are absent.
 */
export async function readOmittedTexts(db: Db, messageIds: readonly string[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  if (messageIds.length === 0) return texts;
  for (const row of await db.query(READ_TEXTS, messageIds)) {
    const omitted = omittedOf(row);
    if (omitted !== null) texts.set(row.message_id!, omitted);
  }
  return texts;
}

type MailText = Pick<ShownMail, 'direction' | 'message_id' | 'body_text' | 'message_body'>;

function omittedOf({ direction, message_id, body_text: text, message_body: body }: MailText): string | null {
  if (direction === 'out' || message_id === null || text === null) return null;
  return omittedText(text, body ?? '') || null;
}

/** Returns the mail with a signed link to its source, for the team. */
export async function presentEmail(files: Downloads, row: ShownMail): Promise<Email> {
  const isIncoming = row.direction === 'in';
  const { source_key: key } = row;
  const filename = `${row.id}.eml`;
  return {
    id: row.id,
    object: 'email',
    direction: row.direction,
    purpose: row.purpose,
    status: row.status,
    reason: row.reason,
    inbox_id: row.inbox_id,
    conversation_id: row.conversation_id,
    message_id: row.message_id,
    rfc_message_id: row.rfc_id,
    in_reply_to: row.in_reply_to,
    automatic: row.automatic,
    attempts: row.attempts,
    // While a node sends the mail, the column is the end of its lease.
    next_try_at: row.status === 'deferred' ? row.next_try_at : null,
    sent_at: row.sent_at,
    from_address: row.from_address,
    from_name: row.from_name,
    recipients: [...row.recipients],
    subject: row.subject,
    verdict: row.verdict,
    protection: row.protection,
    text: isIncoming ? row.body_text : null,
    omitted_text: omittedOf(row),
    html: isIncoming ? row.body_html : null,
    source_url: key && (await files.presignDownload({ key, filename, contentType: 'message/rfc822' })),
    size_bytes: row.size_bytes,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Returns those of these messages that came as automatic mail, notes of the team's cases aside. */
export async function readAutomatic(db: Db, messageIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.query(READ_AUTOMATIC, messageIds);
  return new Set(rows.map(({ message_id }) => message_id));
}

const READ_AUTOMATIC = statement<[messageIds: readonly string[]], { message_id: string }>(
  'read-automatic-mails',
)`
    SELECT message_id FROM mails WHERE message_id = ANY($1) AND automatic AND purpose = 'message'`;

const READ_BY_ID = statement<[ids: readonly string[]], ShownMail>('read-mails')`
    SELECT ${SHOWN_COLUMNS} FROM mails m WHERE m.id = ANY($1)`;

const READ_HEAD = statement<[id: string], MailHead>('read-head-of-mail')`
    SELECT ${HEAD_COLUMNS.join(', ')} FROM mails WHERE id = $1`;

const READ_OF_MESSAGE = statement<[messageId: string], ShownMail>('read-mail-of-message')`
    SELECT ${SHOWN_COLUMNS} FROM mails m WHERE m.message_id = $1`;

const READ_TEXTS = statement<[messageIds: readonly string[]], MailText>('read-texts-of-mails')`
    SELECT m.direction, m.message_id, m.body_text, b.body AS message_body
    FROM mails m JOIN messages b ON b.id = m.message_id
    WHERE m.message_id = ANY($1) AND m.direction = 'in'`;

const READ_OF_CONVERSATION = statement<
  [conversationId: string, afterTime: string, afterId: string, limit: number],
  ShownMail
>('read-mails-of-conversation')`
    SELECT ${SHOWN_COLUMNS} FROM mails m
    WHERE m.conversation_id = $1 AND (m.created_at, m.id) > ($2::timestamptz, $3)
    ORDER BY m.created_at, m.id LIMIT $4`;
