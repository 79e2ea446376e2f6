import type { Database } from '../db/database.ts';
import type { Notification } from '../protocol/notification.ts';
import type { NewNotification } from './notify.ts';

/** A notification as it stands in Postgres. */
export interface NotificationRow {
  readonly id: string;
  readonly account_id: string;
  readonly recipient_id: string;
  readonly category: string;
  readonly title: string;
  readonly body: string | null;
  readonly status: Notification['status'];
  readonly priority: Notification['priority'];
  readonly sender_id: string | null;
  readonly resource_type: 'account' | 'actor' | 'entity' | null;
  readonly resource_id: string | null;
  readonly message_id: string | null;
  readonly seen_at: string | null;
  readonly read_at: string | null;
  readonly dismissed_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export const NOTIFICATION_COLUMNS = [
  'id',
  'account_id',
  'recipient_id',
  'category',
  'title',
  'body',
  'status',
  'priority',
  'sender_id',
  'resource_type',
  'resource_id',
  'message_id',
  'seen_at',
  'read_at',
  'dismissed_at',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof NotificationRow)[];

/**
 * Writes the notifications that are not there yet, and answers all of them as they stand: those of a
 * message and recipient exist once, however often this is called.
 */
export async function insertNotifications(
  database: Database,
  notifications: readonly NewNotification[],
): Promise<NotificationRow[]> {
  if (notifications.length === 0) return [];
  const inserted = await database.query<NotificationRow>(INSERT, [JSON.stringify(notifications)]);
  if (inserted.length === notifications.length) return inserted;
  const messageIds = [...new Set(notifications.map((notification) => notification.message_id))];
  const recipientIds = [...new Set(notifications.map((notification) => notification.recipient_id))];
  return database.query<NotificationRow>(READ_OF_MESSAGES, [recipientIds, messageIds]);
}

/** What changed for these recipients from a transaction on, oldest first. */
export function readChanged(
  database: Database,
  recipientIds: readonly string[],
  sinceXid: string,
): Promise<NotificationRow[]> {
  return database.query<NotificationRow>(READ_CHANGED, [recipientIds, sinceXid]);
}

// Those of one statement a microsecond apart: feeds are in the order of the messages.
const INSERT = {
  name: 'insert-notifications',
  text: `
    INSERT INTO notifications (id, account_id, recipient_id, category, title, body, sender_id,
      sender_type, resource_type, resource_id, message_id, created_at, updated_at)
    SELECT id, account_id, recipient_id, category, title, body, sender_id,
      sender_type, 'entity', resource_id, message_id, at, at
    FROM ROWS FROM (json_to_recordset($1::json) AS (id text, account_id text, recipient_id text,
        category text, title text, body text, sender_id text, sender_type text, resource_id text,
        message_id text)) WITH ORDINALITY AS n,
      LATERAL (SELECT now() + n.ordinality * interval '1 microsecond' AS at) AS t
    ORDER BY recipient_id, message_id
    ON CONFLICT DO NOTHING
    RETURNING ${NOTIFICATION_COLUMNS.join(', ')}`,
};

const READ_OF_MESSAGES = {
  name: 'read-notifications-of-messages',
  text: `
    SELECT ${NOTIFICATION_COLUMNS.join(', ')} FROM notifications
    WHERE recipient_id = ANY($1) AND message_id = ANY($2)`,
};

const READ_CHANGED = {
  name: 'read-changed-notifications',
  text: `
    SELECT ${NOTIFICATION_COLUMNS.join(', ')} FROM notifications
    WHERE recipient_id = ANY($1) AND changed_in >= $2::xid8
    ORDER BY recipient_id, updated_at, id`,
};
