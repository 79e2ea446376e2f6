import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { ConversationRead } from '../../conversations/outbox-topics.ts';
import { NOTIFICATION_COLUMNS, type NotificationRow, notificationsOf } from '../../resources/notification.ts';
import type { NotificationKey } from './notify-users.ts';

/** Returns the recipient's notification, locked until the transaction ends. */
export async function lockNotification(
  tx: Tx,
  recipientId: string,
  id: string,
): Promise<NotificationRow | undefined> {
  const [row] = await tx.query(LOCK, recipientId, id);
  return row;
}

/** Moves a locked row to another state, keeping the time at which it first reached a state. */
export async function moveOne(
  tx: Tx,
  { recipient_id, id }: NotificationRow,
  to: Notification['status'],
): Promise<NotificationRow> {
  const [row] = await tx.query(MOVE_ONE, recipient_id, to, id);
  return row!;
}

/** The rows that `moveAll` moves: up to `limit` rows in these states, newest first. */
export interface Batch {
  readonly from: readonly Notification['status'][];
  readonly to: Notification['status'];
  /** Only rows older than this id, or all if null. */
  readonly before: string | null;
  readonly limit: number;
}

/** Returns the moved rows, in no particular order. */
export function moveAll(
  tx: Tx,
  recipientId: string,
  { from, to, before, limit }: Batch,
): Promise<NotificationKey[]> {
  return tx.query(MOVE_ALL, recipientId, to, from, before, limit);
}

interface MovedByReading {
  /** The notifications that became `read`. */
  readonly ids: string[] | null;
  /**
   * How many of the range's last numbers were examined: fewer than the range if it is longer or has
   * holes.
   */
  readonly numbers: number;
  /** The lowest of these numbers, or null. */
  readonly first: number | null;
  /**
   * Whether the messages precede the recipient's first day in the conversation, and so have no
   * notifications for it.
   */
  readonly is_before_joining: boolean | null;
}

/**
 * Marks the notifications of the last `limit` messages of a range as read, and those about the
 * conversation itself.
 */
export async function moveRead(
  tx: Tx,
  { actor_id, conversation_id, after, through }: ConversationRead,
  limit: number,
): Promise<MovedByReading & { readonly keys: readonly NotificationKey[] }> {
  const [row] = await tx.query(MOVE_READ, actor_id, 'read', conversation_id, after, through, limit);
  const keys = row!.ids?.map((id) => ({ id, recipient_id: actor_id })) ?? [];
  return { ...row!, keys };
}

/** Returns the reads of these messages by members that have unread notifications of them. */
export function readReadAlready(db: Db, messageIds: readonly string[]): Promise<ConversationRead[]> {
  return db.query(FIND_READ_ALREADY, messageIds);
}

const LOCK = statement<[recipientId: string, id: string], NotificationRow>('lock-notification')`
    SELECT ${NOTIFICATION_COLUMNS.join(', ')} FROM notifications
    WHERE recipient_id = $1 AND id = $2 FOR UPDATE`;

// Moves rows to the state $2 at the time that `due` has for them. Reading implies seeing.
const MOVE = `
    UPDATE notifications n SET status = $2,
      seen_at = CASE WHEN $2 IN ('seen', 'read') THEN coalesce(n.seen_at, due.at) ELSE n.seen_at END,
      read_at = CASE WHEN $2 = 'read' THEN coalesce(n.read_at, due.at) ELSE n.read_at END,
      dismissed_at = CASE WHEN $2 = 'dismissed' THEN due.at ELSE n.dismissed_at END,
      ${setTouched('due.at')}
    FROM due WHERE n.recipient_id = $1 AND n.id = due.id`;

const MOVE_ONE = statement<[recipientId: string, status: string, id: string], NotificationRow>(
  'move-notification',
)`
    WITH due AS MATERIALIZED (
      SELECT id, later_than(updated_at) AS at FROM notifications WHERE recipient_id = $1 AND id = $3
    ) ${MOVE}
    RETURNING ${NOTIFICATION_COLUMNS.map((column) => `n.${column}`).join(', ')}`;

// Rows are locked in the order of the feed, so that two concurrent moves cannot deadlock.
const MOVE_ALL = statement<
  [recipientId: string, status: string, from: readonly string[], before: string | null, limit: number],
  NotificationKey
>('move-notifications')`
    WITH due AS MATERIALIZED (
      SELECT id, later_than(updated_at) AS at FROM notifications
      WHERE recipient_id = $1 AND status = ANY($3) AND id < coalesce($4, '~')
      ORDER BY id DESC LIMIT $5 FOR UPDATE
    ) ${MOVE}
    RETURNING n.id, n.recipient_id`;

// The ids are derived from the messages again, so the feed is not searched. They are an array, not
// a join: Postgres tests a row again that was changed while it waited for the lock, and lost it in
// a join with a UNION.
const MOVE_READ = statement<
  [
    recipientId: string,
    status: string,
    conversationId: string,
    after: number,
    through: number,
    limit: number,
  ],
  MovedByReading
>('move-notifications-of-read-messages')`
    WITH page AS MATERIALIZED (
      SELECT m.id, m.sequence, moment_of(m) AS at FROM messages m
      WHERE m.conversation_id = $3 AND m.sequence > $4 AND m.sequence <= $5 AND m.imported IS NULL
      ORDER BY m.sequence DESC LIMIT $6
    ), due AS MATERIALIZED (
      SELECT n.id, later_than(n.updated_at) AS at FROM notifications n
      WHERE n.recipient_id = $1 AND n.status IN ('unseen', 'seen') AND n.id = ANY(ARRAY(
        SELECT notification_id(page.at, page.id, $1) FROM page
        UNION ALL
        SELECT o.id FROM notifications o WHERE o.subject = $3 AND o.recipient_id = $1
      ))
      ORDER BY n.id DESC FOR UPDATE OF n
    ), moved AS (${MOVE} RETURNING n.id)
    SELECT (SELECT array_agg(id::text) FROM moved) AS ids, (SELECT count(*) FROM page) AS numbers,
      (SELECT min(sequence) FROM page) AS first, (SELECT max(at) FROM page) < (
        SELECT created_at FROM participants WHERE conversation_id = $3 AND actor_id = $1) AS is_before_joining`;

const FIND_READ_ALREADY = statement<[messageIds: readonly string[]], ConversationRead>(
  'find-notifications-read-already',
)`
    SELECT p.actor_id, m.conversation_id, m.sequence - 1 AS after, m.sequence AS through
    FROM ${notificationsOf('$1::text[]')}
    WHERE p.read_sequence >= m.sequence AND n.status IN ('unseen', 'seen')`;
