import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { Since } from '../../events/event-source.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import { NOTIFICATION_COLUMNS, type NotificationRow } from '../../resources/notification.ts';
import type { NotificationKey } from './notify-users.ts';

/** The length of an id up to the end of its time. */
export const ID_TIME = 'ntf_'.length + 13;

/** The identity of a notification that is not about a message. */
export interface NotificationCause {
  readonly key: string;
  /** ISO 8601. */
  readonly at: string;
  readonly recipient_id: string;
}

/** Clears the bodies of the notifications of these causes. Returns the changed notifications. */
export async function clearBodies(tx: Tx, causes: readonly NotificationCause[]): Promise<NotificationKey[]> {
  return causes.length === 0 ? [] : tx.query(CLEAR_BODIES, JSON.stringify(causes));
}

/**
 * Returns the notifications of these recipients that are new or changed since then, oldest first,
 * except new notifications that their recipients keep off their sockets.
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

/**
 * SQL: the notifications that readers of a feed may have missed, as disjoint sets: notifications
 * that changed or were made late, and new notifications, found by their ids
 * (DECISIONS.md#new-notifications-are-found-by-their-ids).
 */
export function missedNotifications(recipient: string, { xid, began }: Record<keyof Since, string>): string {
  const columns = NOTIFICATION_COLUMNS.join(', ');
  return `(
        SELECT ${columns} FROM notifications
        WHERE recipient_id = ${recipient} AND changed_in >= ${xid}::xid8
        UNION ALL
        SELECT ${columns} FROM notifications
        WHERE recipient_id = ${recipient} AND id >= left(notification_id(${began}::timestamptz, '', ''), ${ID_TIME})
          AND changed_in IS NULL AND ${isInsertedSince(xid)})`;
}

/**
 * SQL: whether a row that was never changed was inserted by this transaction or a later one. `age`
 * counts within 2^31 transactions: before half of that, every row counts.
 */
function isInsertedSince(xid: string): string {
  const latest = 'pg_snapshot_xmax(pg_current_snapshot())';
  return `(${latest}::text::bigint - ${xid}::text::bigint > 1 << 30 OR age(xmin) <= age(${xid}::xid8::xid))`;
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
