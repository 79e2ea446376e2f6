import type { Db, Tx } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import { setTouched } from '../db/touched.ts';
import type { Actor } from '../protocol/resources/actor.ts';
import type { Notification } from '../protocol/resources/notification.ts';
import type { MessageRow } from '../resources/message.ts';
import { NOTIFICATION_COLUMNS, type NotificationRow, readNotifications } from '../resources/notification.ts';
import { IS_MEMBER } from '../resources/participant.ts';
import type { NewNotification } from './notify.ts';

/**
 * Inserts the notifications that do not exist yet, and returns the current rows of all of them. There is one for each
 * message and recipient, and without a message one for each id, however often this is called.
 */
export async function insertNotifications(
  db: Db,
  notifications: readonly NewNotification[],
): Promise<NotificationRow[]> {
  if (notifications.length === 0) return [];
  const inserted = await db.query(INSERT, JSON.stringify(notifications));
  if (inserted.length === notifications.length) return inserted;
  const recipientIds = [...new Set(notifications.map(({ recipient_id }) => recipient_id))];
  const messageIds = [...new Set(notifications.flatMap(({ message_id }) => message_id ?? []))];
  const ids = notifications.filter(({ message_id }) => message_id === null).map(({ id }) => id);
  const [ofMessages, others] = await Promise.all([
    messageIds.length === 0 ? [] : db.query(READ_OF_MESSAGES, recipientIds, messageIds),
    readNotifications(db, recipientIds, ids),
  ]);
  return [...ofMessages, ...others];
}

/** Returns the recipient's notification, locked until the transaction ends. */
export async function lockNotification(
  tx: Tx,
  recipientId: string,
  id: string,
): Promise<NotificationRow | undefined> {
  const [row] = await tx.query(LOCK, recipientId, id);
  return row;
}

/** Moves a locked row to another state. The time at which it first reached a state is kept. */
export async function moveOne(
  tx: Tx,
  { recipient_id, id }: NotificationRow,
  to: Notification['status'],
): Promise<NotificationRow> {
  const [row] = await tx.query(MOVE_ONE, recipient_id, to, id);
  return row!;
}

/** The rows that `moveAll` moves: `limit` rows in these states, the newest first, created at `upTo` or before. */
export interface Batch {
  readonly from: readonly Notification['status'][];
  readonly to: Notification['status'];
  /** ISO 8601, or `infinity`. */
  readonly upTo: string;
  readonly limit: number;
}

/** Returns the rows that it moved, in no particular order. */
export function moveAll(
  tx: Tx,
  recipientId: string,
  { from, to, upTo, limit }: Batch,
): Promise<Pick<NotificationRow, 'id' | 'created_at'>[]> {
  return tx.query(MOVE_ALL, recipientId, to, from, upTo, limit);
}

/** A message that notifications are about, and its conversation. */
export interface MessagePlace {
  readonly messageId: string;
  readonly conversationId: string;
}

/** Returns what a message's notifications depend on, and keeps it from changing until the transaction ends. */
export function lockContent(
  tx: Tx,
  { messageId, conversationId }: MessagePlace,
): Promise<Pick<MessageRow, 'body' | 'deleted_at'> | undefined> {
  return tx.kysely
    .selectFrom('messages')
    .select(['body', 'deleted_at'])
    .where('id', '=', messageId)
    .where('conversation_id', '=', conversationId)
    .forShare()
    .executeTakeFirst();
}

/** Sets the body of a message's notifications. Returns those whose body changed. */
export function writePreviews(
  tx: Tx,
  { messageId, conversationId }: MessagePlace,
  body: string | null,
): Promise<Pick<NotificationRow, 'id' | 'recipient_id'>[]> {
  return tx.query(WRITE_PREVIEWS, messageId, conversationId, body);
}

/**
 * Clears the body of a deleted message's notifications and dismisses them. Returns those that were not dismissed yet.
 */
export function withdrawNotifications(
  tx: Tx,
  { messageId, conversationId }: MessagePlace,
): Promise<Pick<NotificationRow, 'id' | 'recipient_id'>[]> {
  return tx.query(WITHDRAW, messageId, conversationId);
}

/** Returns the notifications of these recipients that changed since a transaction, oldest first. */
export function readChanged(
  db: Db,
  recipientIds: readonly string[],
  sinceXid: string,
): Promise<NotificationRow[]> {
  return db.query(READ_CHANGED, recipientIds, sinceXid);
}

/** A user that was added to a conversation. */
export interface JoiningRow {
  readonly account_id: string;
  readonly recipient_id: string;
  readonly conversation_id: string;
  readonly title: string | null;
  /** The actor that added the recipient; null if there is none. */
  readonly by_id: string | null;
  readonly by_type: Actor['type'] | null;
  readonly by_name: string | null;
}

/** Returns the participant if it is a user to be notified of being added by this actor. */
export async function readJoining(
  db: Db,
  participantId: string,
  by: string | null,
): Promise<JoiningRow | undefined> {
  const [joining] = await db.query(READ_JOINING, participantId, by);
  return joining;
}

/** A scheduled message that was not sent. */
export interface UnsentRow {
  readonly id: string;
  readonly account_id: string;
  readonly conversation_id: string;
  readonly author_id: string;
  readonly body: string | null;
  readonly title: string | null;
}

/** Returns the message if its author is a user of the account: other authors get no notifications. */
export async function readUnsent(db: Db, messageId: string): Promise<UnsentRow | undefined> {
  const [unsent] = await db.query(READ_UNSENT, messageId);
  return unsent;
}

// Rows of one statement are a microsecond apart, so that feeds are in the order of the messages.
const INSERT = statement<[notifications: string], NotificationRow>({
  name: 'insert-notifications',
  text: `
    INSERT INTO notifications (id, account_id, recipient_id, category, title, body, sender_id,
      sender_type, resource_type, resource_id, message_id, created_at, updated_at)
    SELECT id, account_id, recipient_id, category, title, body, sender_id,
      sender_type, CASE WHEN resource_id IS NOT NULL THEN 'entity' END, resource_id, message_id, at, at
    FROM ROWS FROM (json_to_recordset($1::json) AS (id text, account_id text, recipient_id text,
        category text, title text, body text, sender_id text, sender_type text, resource_id text,
        message_id text)) WITH ORDINALITY AS n,
      LATERAL (SELECT now() + n.ordinality * interval '1 microsecond' AS at) AS t
    ORDER BY recipient_id, message_id
    ON CONFLICT DO NOTHING
    RETURNING ${NOTIFICATION_COLUMNS.join(', ')}`,
});

// Every recipient is, or was, a participant, and the index of a message's notifications begins with the recipient.
const OF_MESSAGE = `
    FROM participants p
    WHERE p.conversation_id = $2 AND n.recipient_id = p.actor_id AND n.message_id = $1`;

const WRITE_PREVIEWS = statement<
  [messageId: string, conversationId: string, body: string | null],
  Pick<NotificationRow, 'id' | 'recipient_id'>
>({
  name: 'write-previews-of-notifications',
  text: `
    UPDATE notifications n
    SET body = $3, ${setTouched('later_than(n.updated_at)')}
    ${OF_MESSAGE} AND n.body IS DISTINCT FROM $3
    RETURNING n.id, n.recipient_id`,
});

const WITHDRAW = statement<
  [messageId: string, conversationId: string],
  Pick<NotificationRow, 'id' | 'recipient_id'>
>({
  name: 'withdraw-notifications',
  text: `
    UPDATE notifications n
    SET body = NULL, status = 'dismissed', dismissed_at = coalesce(n.dismissed_at, clock_timestamp()),
      ${setTouched('later_than(n.updated_at)')}
    ${OF_MESSAGE} AND (n.body IS NOT NULL OR n.status <> 'dismissed')
    RETURNING n.id, n.recipient_id`,
});

const LOCK = statement<[recipientId: string, id: string], NotificationRow>({
  name: 'lock-notification',
  text: `
    SELECT ${NOTIFICATION_COLUMNS.join(', ')} FROM notifications
    WHERE recipient_id = $1 AND id = $2 FOR UPDATE`,
});

// Moves rows to the state $2, at the row's time in `due`. Reading implies seeing.
const MOVE = `
    UPDATE notifications n SET status = $2,
      seen_at = CASE WHEN $2 IN ('seen', 'read') THEN coalesce(n.seen_at, due.at) ELSE n.seen_at END,
      read_at = CASE WHEN $2 = 'read' THEN coalesce(n.read_at, due.at) ELSE n.read_at END,
      dismissed_at = CASE WHEN $2 = 'dismissed' THEN due.at ELSE n.dismissed_at END,
      ${setTouched('due.at')}
    FROM due WHERE n.recipient_id = $1 AND n.id = due.id`;

const MOVE_ONE = statement<[recipientId: string, status: string, id: string], NotificationRow>({
  name: 'move-notification',
  text: `
    WITH due AS MATERIALIZED (
      SELECT id, later_than(updated_at) AS at FROM notifications WHERE recipient_id = $1 AND id = $3
    ) ${MOVE}
    RETURNING ${NOTIFICATION_COLUMNS.map((column) => `n.${column}`).join(', ')}`,
});

// Rows are locked in the order of the feed, so that two concurrent moves cannot deadlock.
const MOVE_ALL = statement<
  [recipientId: string, status: string, from: readonly string[], upTo: string, limit: number],
  Pick<NotificationRow, 'id' | 'created_at'>
>({
  name: 'move-notifications',
  text: `
    WITH due AS MATERIALIZED (
      SELECT id, later_than(updated_at) AS at FROM notifications
      WHERE recipient_id = $1 AND status <> 'dismissed' AND status = ANY($3) AND created_at <= $4::timestamptz
      ORDER BY created_at DESC, id DESC LIMIT $5 FOR UPDATE
    ) ${MOVE}
    RETURNING n.id, n.created_at`,
});

const READ_OF_MESSAGES = statement<
  [recipientIds: readonly string[], messageIds: readonly string[]],
  NotificationRow
>({
  name: 'read-notifications-of-messages',
  text: `
    SELECT ${NOTIFICATION_COLUMNS.join(', ')} FROM notifications
    WHERE recipient_id = ANY($1) AND message_id = ANY($2)`,
});

const READ_CHANGED = statement<[recipientIds: readonly string[], sinceXid: string], NotificationRow>({
  name: 'read-changed-notifications',
  text: `
    SELECT ${NOTIFICATION_COLUMNS.join(', ')} FROM notifications
    WHERE recipient_id = ANY($1) AND changed_in >= $2::xid8
    ORDER BY recipient_id, updated_at, id`,
});

const READ_JOINING = statement<[participantId: string, by: string | null], JoiningRow>({
  name: 'read-joining',
  text: `
    SELECT p.account_id, p.actor_id AS recipient_id, c.id AS conversation_id, c.title,
      a.id AS by_id, a.type AS by_type, a.name AS by_name
    FROM participants p JOIN conversations c ON c.id = p.conversation_id LEFT JOIN actors a ON a.id = $2
    WHERE p.id = $1 AND p.type = 'user' AND p.${IS_MEMBER}
      AND p.notifications <> 'muted' AND p.actor_id IS DISTINCT FROM $2`,
});

const READ_UNSENT = statement<[messageId: string], UnsentRow>({
  name: 'read-unsent-message',
  text: `
    SELECT m.id, m.account_id, m.conversation_id, m.author_id, m.body, c.title
    FROM messages m
    JOIN conversations c ON c.id = m.conversation_id
    JOIN actors a ON a.id = m.author_id AND a.type = 'user' AND NOT a.customer
    WHERE m.id = $1`,
});
