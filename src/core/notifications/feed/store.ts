import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { Since } from '../../events/event-source.ts';
import type { PurgedMessage } from '../../resources/holdings.ts';
import { NOTIFICATION_COLUMNS, type NotificationRow } from '../../resources/notification.ts';
import { IS_MEMBER } from '../../resources/participant.ts';
import type { NotificationKey } from './notify-users.ts';

/** The length of an id up to the end of its time. */
const ID_TIME = 'ntf_'.length + 13;

/** What identifies a notification that is not about a message. */
export interface NotificationCause {
  readonly key: string;
  /** ISO 8601. */
  readonly at: string;
  readonly recipient_id: string;
}

/** Clears the bodies of the notifications of these causes. Returns the changed ones. */
export async function clearBodies(tx: Tx, causes: readonly NotificationCause[]): Promise<NotificationKey[]> {
  return causes.length === 0 ? [] : tx.query(CLEAR_BODIES, JSON.stringify(causes));
}

/** Deletes the notifications of removed messages. Their ids derive from `at`. Returns how many. */
export async function deleteNotificationsOf(
  tx: Tx,
  conversationId: string,
  messages: readonly PurgedMessage[],
): Promise<number> {
  const [row] = await tx.query(DELETE_OF_MESSAGES, JSON.stringify(messages), conversationId);
  return row!.deleted;
}

/** Deletes a conversation's notifications that are not about its messages. Returns how many. */
export async function deleteNotificationsAbout(tx: Tx, conversationId: string): Promise<number> {
  const [row] = await tx.query(DELETE_ABOUT, conversationId);
  return row!.deleted;
}

/**
 * Deletes up to `limit` notifications of the account's users that are this old, except about held
 * conversations, on which no hold is set until the transaction ends. Returns how many.
 */
export async function deleteOldNotifications(
  tx: Tx,
  accountId: string,
  days: number,
  limit: number,
): Promise<number> {
  const [row] = await tx.query(DELETE_OLD, accountId, days, limit);
  return row!.deleted;
}

/** Returns the age in seconds of the oldest notification that is not about a held conversation. */
export async function readNotificationAge(db: Db, accountId: string): Promise<number | null> {
  const [row] = await db.query(READ_AGE, accountId);
  return row!.age;
}

/**
 * Returns the notifications of these recipients that are new or changed since then, oldest first,
 * without new ones that their recipients keep off their sockets.
 */
export function readChanged(
  db: Db,
  recipientIds: readonly string[],
  { xid, began }: Since,
): Promise<NotificationRow[]> {
  return db.query(READ_CHANGED, recipientIds, xid, began);
}

/** SQL: the new preview for members. A former member may not see what is written later: null. */
export const PREVIEW = `CASE WHEN p.${IS_MEMBER} THEN $3::text END`;

const CLEAR_BODIES = statement<[causes: string], NotificationKey>('clear-bodies-of-notifications')`
    UPDATE notifications n SET body = NULL, ${setTouched('later_than(n.updated_at)')}
    FROM json_to_recordset($1::json) AS c(key text, at timestamptz, recipient_id text)
    WHERE n.recipient_id = c.recipient_id AND n.id = notification_id(c.at, c.key, c.recipient_id)
      AND n.body IS NOT NULL
    RETURNING n.id, n.recipient_id`;

// Every recipient is, or was, a participant.
const DELETE_OF_MESSAGES = statement<[messages: string, conversationId: string], { deleted: number }>(
  'delete-notifications-of-messages',
)`
    WITH deleted AS (
      DELETE FROM notifications n
      USING json_to_recordset($1::json) AS m(id text, at timestamptz), participants p
      WHERE p.conversation_id = $2 AND n.recipient_id = p.actor_id AND n.id = notification_id(m.at, m.id, p.actor_id)
      RETURNING 1
    )
    SELECT count(*) AS deleted FROM deleted`;

const DELETE_ABOUT = statement<[conversationId: string], { deleted: number }>(
  'delete-notifications-about-conversation',
)`
    WITH deleted AS (
      DELETE FROM notifications n USING participants p
      WHERE p.conversation_id = $1 AND n.recipient_id = p.actor_id AND n.resource_id = $1
      RETURNING 1
    )
    SELECT count(*) AS deleted FROM deleted`;

const NOT_HELD = `NOT EXISTS (SELECT FROM conversations h WHERE h.id = n.resource_id AND h.legal_hold = 'held')`;

const DELETE_OLD = statement<[accountId: string, days: number, limit: number], { deleted: number }>(
  'delete-old-notifications',
)`
    WITH due AS MATERIALIZED (
      SELECT n.recipient_id, n.id, n.resource_id FROM actors a, LATERAL (
        SELECT n.recipient_id, n.id, n.resource_id FROM notifications n
        WHERE n.recipient_id = a.id AND ${NOT_HELD}
          AND n.id < left(notification_id(clock_timestamp() - make_interval(days => $2::int), '', ''), ${ID_TIME})
        ORDER BY n.id LIMIT $3
      ) n
      WHERE a.account_id = $1 AND a.type = 'user' AND NOT a.customer LIMIT $3
    ), about AS MATERIALIZED (
      SELECT c.id, c.legal_hold FROM conversations c
      WHERE c.id IN (SELECT resource_id FROM due) ORDER BY c.id FOR SHARE
    ), deleted AS (
      DELETE FROM notifications n USING due d
      WHERE n.recipient_id = d.recipient_id AND n.id = d.id
        AND NOT EXISTS (SELECT FROM about WHERE about.id = d.resource_id AND about.legal_hold = 'held')
      RETURNING 1
    )
    SELECT count(*) AS deleted FROM deleted`;

const READ_AGE = statement<[accountId: string], { age: number | null }>('read-age-of-notifications')`
    SELECT extract(epoch FROM clock_timestamp() - min(n.created_at))::float8 AS age FROM actors a, LATERAL (
      SELECT n.created_at FROM notifications n WHERE n.recipient_id = a.id AND ${NOT_HELD} ORDER BY n.id LIMIT 1
    ) n
    WHERE a.account_id = $1 AND a.type = 'user' AND NOT a.customer`;

/**
 * SQL: the notifications that readers of a feed may have missed, as disjoint sets: those that
 * changed or were made late, and the new ones, found by their ids
 * (docs/decisions.md#new-notifications-are-found-by-their-ids).
 */
export function missedNotifications(recipient: string, { xid, began }: Record<keyof Since, string>): string {
  const columns = NOTIFICATION_COLUMNS.join(', ');
  return `(
        SELECT ${columns} FROM notifications
        WHERE recipient_id = ${recipient} AND changed_in >= ${xid}::xid8
        UNION ALL
        SELECT ${columns} FROM notifications
        WHERE recipient_id = ${recipient} AND id >= left(notification_id(${began}::timestamptz, '', ''), ${ID_TIME})
          AND changed_in IS NULL)`;
}

const READ_CHANGED = statement<
  [recipientIds: readonly string[], xid: string, began: string],
  NotificationRow
>('read-changed-notifications')`
    SELECT n.* FROM unnest($1::text[]) AS r(id)
      LEFT JOIN notification_settings s ON s.actor_id = r.id AND s.off_sockets,
      LATERAL ${missedNotifications('r.id', { xid: '$2', began: '$3' })} AS n
    WHERE s.actor_id IS NULL OR n.updated_at > n.created_at
      OR coalesce(s.categories -> n.category ->> 'socket', 'true') = 'true'
    ORDER BY recipient_id, updated_at, id`;
