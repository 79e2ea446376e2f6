import { type Insertable, sql, type Updateable } from 'kysely';
import { isBlockedByTeam } from '../../../core/resources/actor.ts';
import type { MailboxRow } from '../../../core/resources/mailbox.ts';
import { IS_MEMBER } from '../../../core/resources/membership.ts';
import type { ParticipantRow } from '../../../core/resources/participant.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { HEAD_COLUMNS, type MailHead, type MailRow } from '../mails/mail-store.ts';
import type { NamedMail } from '../outgoing/message-ids.ts';

/** The facts of an incoming mail after its fate was decided. */
export type IncomingChange = Pick<
  Updateable<Schema['mails']>,
  | 'status'
  | 'purpose'
  | 'reason'
  | 'conversation_id'
  | 'message_id'
  | 'actor_id'
  | 'automatic'
  | 'in_reply_to'
  | 'reply_to'
>;

/**
 * Inserts an undecided incoming mail. Returns false if a row with its id exists, after waiting for
 * the transaction that wrote it.
 */
export async function insertIncoming(
  tx: Tx,
  mail: Omit<Insertable<Schema['mails']>, 'direction' | 'status' | 'purpose'>,
): Promise<boolean> {
  const inserted = await tx.kysely
    .insertInto('mails')
    .values({ ...mail, direction: 'in', status: 'received', purpose: 'message' })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** Returns an existing mail, locked until the transaction ends. */
export function lockIncoming(tx: Tx, id: string): Promise<MailHead> {
  return tx.kysely
    .selectFrom('mails')
    .select(HEAD_COLUMNS)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

export function writeIncoming(tx: Tx, id: string, change: IncomingChange): Promise<MailHead> {
  return tx.kysely
    .updateTable('mails')
    .set({ ...change, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .returning(HEAD_COLUMNS)
    .executeTakeFirstOrThrow();
}

/** A participant of a case with an address of the sender: a customer or a user. */
export type SenderInCase = Pick<ParticipantRow, 'conversation_id' | 'actor_id' | 'type' | 'role'>;

export function readSenders(
  db: Db,
  conversationIds: readonly string[],
  address: string,
): Promise<SenderInCase[]> {
  return db.query(READ_SENDERS, conversationIds, address);
}

/** Returns the id of the account's user with this address, deactivated ones included. */
export async function readUserIdByAddress(
  db: Db,
  accountId: string,
  address: string,
): Promise<string | undefined> {
  const [user] = await db.query(READ_USER, accountId, address);
  return user?.id;
}

/** Returns whether the team has blocked a customer with one of these addresses, in lower case. */
export async function isAddressBlocked(
  db: Db,
  accountId: string,
  addresses: readonly string[],
): Promise<boolean> {
  return (await db.query(FIND_BLOCKED, accountId, addresses)).length > 0;
}

/**
 * Returns whether a customer has the address of `From` and none of its mails asked for answers to
 * another address than `replyTo`: then all of them are of one person. Addresses are in lower case.
 */
export async function isOnePerson(
  db: Db,
  accountId: string,
  { from, replyTo }: { readonly from: string; readonly replyTo: string },
): Promise<boolean> {
  return (await db.query(FIND_ONE_PERSON, accountId, from, replyTo)).length > 0;
}

/** The inbox that the mail came to. Only its cases are searched. */
type CasePlace = Pick<MailboxRow, 'account_id' | 'id'>;

/** Returns the open cases of the inbox that our Message-IDs and bounce addresses name, in order. */
export async function readNamedCases(
  db: Db,
  inbox: CasePlace,
  named: readonly NamedMail[],
): Promise<string[]> {
  if (named.length === 0) return [];
  const conversationIds = named.map(({ conversationId }) => conversationId);
  const mailIds = named.map(({ mailId }) => mailId);
  const rows = await db.query(READ_NAMED, inbox.account_id, inbox.id, conversationIds, mailIds);
  return rows.map(({ id }) => id);
}

/** Returns the open cases of the inbox for mails with these Message-IDs, in their order. */
export async function readThreadedCases(
  db: Db,
  inbox: CasePlace,
  rfcIds: readonly string[],
): Promise<string[]> {
  if (rfcIds.length === 0) return [];
  const rows = await db.query(READ_THREADED, inbox.account_id, inbox.id, rfcIds);
  return rows.map(({ id }) => id);
}

/**
 * Returns the bodies of the newest replies of an inbox in the cases of a customer, newest first.
 */
export async function readLastReplies(
  db: Db,
  { id }: CasePlace,
  actorId: string,
  limit: number,
): Promise<string[]> {
  const rows = await db.query(READ_LAST_REPLIES, id, actorId, limit);
  return rows.map(({ body }) => body);
}

/** A mail of the inbox that a report names. */
export interface ReturnedMail extends Pick<MailRow, 'id' | 'conversation_id' | 'rfc_id'> {
  /** Milliseconds until its next try, or null if it is not tried any more. */
  readonly ms_left: number | null;
}

/** Returns the outgoing mail of the inbox with this id, else with this Message-ID. */
export async function findReturned(
  db: Db,
  inbox: CasePlace,
  { mailId, rfcId }: { readonly mailId: string | null; readonly rfcId: string },
): Promise<ReturnedMail | undefined> {
  const [mail] = await db.query(FIND_RETURNED, inbox.account_id, inbox.id, mailId, rfcId);
  return mail;
}

/** Returns how often an outgoing mail was reported as delayed. */
export async function countDelays(db: Db, mailId: string): Promise<number> {
  const [counted] = await db.query(COUNT_DELAYS, mailId);
  return counted!.reports;
}

/**
 * Returns whether the inbox, or the account without an inbox, has sent a mail with this Message-ID.
 * `named` is the mail that the id names if it is one of ours, whose row may be gone.
 */
export async function isOwnMail(
  db: Db,
  { account_id, id }: CasePlace,
  rfcId: string,
  named: NamedMail | undefined,
): Promise<boolean> {
  const { mailId = null, conversationId = null } = named ?? {};
  return (await db.query(FIND_OWN, account_id, id, rfcId, mailId, conversationId)).length > 0;
}

const READ_SENDERS = statement<[conversationIds: readonly string[], address: string], SenderInCase>(
  'read-senders-of-mail',
)`
    SELECT p.conversation_id, p.actor_id, p.type, p.role
    FROM participants p JOIN actors a ON a.id = p.actor_id
    WHERE p.conversation_id = ANY($1) AND p.${IS_MEMBER} AND p.type IN ('customer', 'user')
      AND a.deactivated_at IS NULL AND lower($2) IN (lower(a.handle), lower(a.proven_address))
    ORDER BY p.created_at, p.id`;

const FIND_BLOCKED = statement<[accountId: string, addresses: readonly string[]]>(
  'find-blocked-sender-of-mail',
)`
    SELECT FROM actors a
    WHERE a.account_id = $1 AND a.customer AND lower(a.handle) = ANY($2) AND ${isBlockedByTeam('a.id')} LIMIT 1`;

const FIND_ONE_PERSON = statement<[accountId: string, from: string, replyTo: string]>(
  'find-one-person-of-mail',
)`
    SELECT FROM actors a
    WHERE a.account_id = $1 AND a.customer AND lower(a.handle) = $2 AND NOT EXISTS (
      SELECT FROM participants p JOIN mails m ON m.conversation_id = p.conversation_id
      WHERE p.actor_id = a.id AND m.actor_id = a.id AND m.direction = 'in'
        AND lower(m.reply_to) IS DISTINCT FROM $3)
    LIMIT 1`;

const READ_USER = statement<[accountId: string, address: string], { id: string }>('read-user-by-address')`
    SELECT id FROM users WHERE account_id = $1 AND email = lower($2)`;

/**
 * Returns SQL that joins conversation `id` if it is an open case of account `$1` and inbox `$2`, or
 * a chat whose unread answers were mailed from there.
 */
function openCase(id: string): string {
  return `JOIN conversations c ON c.id = ${id} AND c.account_id = $1 AND (c.inbox_id = $2
        OR c.inbox_id IS NULL AND EXISTS (
          SELECT FROM mails o WHERE o.conversation_id = c.id AND o.direction = 'out' AND o.inbox_id = $2))
      AND c.audience = 'customer' AND c.status = 'active' AND c.deleted_at IS NULL`;
}

// The mail's row, while kept, names the conversation, because a server may have changed the case of
// letters.
const READ_NAMED = statement<
  [accountId: string, mailboxId: string, conversationIds: readonly string[], mailIds: readonly string[]],
  { id: string }
>('read-cases-named-by-mail')`
    SELECT c.id FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS n(conversation_id, mail_id, place)
      LEFT JOIN mails l ON l.id = n.mail_id AND l.account_id = $1
      ${openCase('coalesce(l.conversation_id, n.conversation_id)')}
    ORDER BY n.place`;

const READ_THREADED = statement<
  [accountId: string, mailboxId: string, rfcIds: readonly string[]],
  { id: string }
>('read-cases-of-mails')`
    SELECT c.id FROM unnest($3::text[]) WITH ORDINALITY AS n(rfc_id, place)
      JOIN mails l ON l.account_id = $1 AND md5(l.rfc_id) = md5(n.rfc_id) AND l.rfc_id = n.rfc_id
      ${openCase('l.conversation_id')}
    ORDER BY n.place, l.created_at, l.id`;

const READ_LAST_REPLIES = statement<[mailboxId: string, actorId: string, limit: number], { body: string }>(
  'read-last-replies-of-inbox',
)`
    SELECT m.body FROM participants p
      JOIN mails l ON l.conversation_id = p.conversation_id AND l.inbox_id = $1 AND l.purpose = 'reply'
      JOIN messages m ON m.id = l.message_id AND m.body IS NOT NULL
    WHERE p.actor_id = $2
    ORDER BY l.created_at DESC LIMIT $3`;

const FIND_RETURNED = statement<
  [accountId: string, mailboxId: string, mailId: string | null, rfcId: string],
  ReturnedMail
>('find-returned-mail')`
    SELECT id, conversation_id, rfc_id,
      greatest(extract(epoch FROM next_try_at - clock_timestamp()) * 1000, 0)::float8 AS ms_left
    FROM mails
    WHERE account_id = $1 AND inbox_id = $2 AND direction = 'out'
      AND (id = $3 OR (md5(rfc_id) = md5($4) AND rfc_id = $4))
    ORDER BY id = $3 DESC LIMIT 1`;

const COUNT_DELAYS = statement<[mailId: string], { reports: number }>('count-delays-of-mail')`
    SELECT count(*)::integer AS reports FROM mails o JOIN mails b ON b.conversation_id = o.conversation_id
    WHERE o.id = $1 AND b.purpose = 'bounce' AND b.in_reply_to = o.rfc_id AND b.reason = 'delayed'`;

const FIND_OWN = statement<
  [accountId: string, mailboxId: string, rfcId: string, mailId: string | null, conversationId: string | null]
>('find-own-mail')`
    SELECT FROM mails
    WHERE account_id = $1 AND direction = 'out' AND (inbox_id = $2 OR inbox_id IS NULL)
      AND (id = $4 OR (md5(rfc_id) = md5($3) AND rfc_id = $3))
    UNION ALL
    SELECT FROM conversations WHERE id = $5 AND inbox_id = $2
    LIMIT 1`;
