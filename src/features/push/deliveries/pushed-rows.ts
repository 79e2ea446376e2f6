import { NOTIFICATION_COLUMNS } from '../../../core/resources/notification.ts';
import { type Statement, statement } from '../../../platform/db/connection/statement.ts';
import type { Pushed } from './channel.ts';
import type { DeliveryRowsOptions } from './delivery-rows.ts';
import { PUSHED_FOR_MS } from './times.ts';

export interface PushedRowsOptions extends Pick<DeliveryRowsOptions, 'subscriptions'> {
  /** The name of the statement. */
  readonly name: string;
  /** SQL: what the channel needs beside the notification, of what `from` and `of` have. */
  readonly columns: string;
  /**
   * SQL: joins and conditions that find the subscriptions `s` of the actors `a` and the accounts
   * `c`.
   */
  readonly of?: string;
  /** SQL: joins behind those of the subscription `s`, the message `m` and the conversation `v`. */
  readonly from?: string;
  /** SQL: which of these are pushed, instead of `IS_NEWS`. */
  readonly where?: string;
}

/**
 * SQL: leaves out notifications that are seen, read, dismissed, withdrawn or too old, and those of
 * deleted messages and conversations.
 */
export const IS_NEWS = `n.status = 'unseen' AND n.created_at > clock_timestamp() - interval '${PUSHED_FOR_MS} ms'
      AND (n.message_id IS NULL OR m.id IS NOT NULL AND m.deleted_at IS NULL) AND v.deleted_at IS NULL`;

/**
 * Defines the statement that reads notifications for their subscriptions. Users that may no longer
 * read are left out. The counts are those of the feed (core/notifications/feed/feed-store.ts).
 */
export function readPushed<Row extends Pushed>({
  name,
  subscriptions,
  columns,
  of = '',
  from = '',
  where = IS_NEWS,
}: PushedRowsOptions): Statement<
  [subscriptionIds: readonly string[], notificationIds: readonly string[]],
  Row
> {
  return statement<[subscriptionIds: readonly string[], notificationIds: readonly string[]], Row>(name)`
    WITH wanted AS MATERIALIZED (
      SELECT s.id AS subscription_id, s.actor_id, d.notification_id
      FROM unnest($1::text[], $2::text[]) AS d(subscription_id, notification_id)
        JOIN ${subscriptions} s ON s.id = d.subscription_id
        JOIN actors a ON a.id = s.actor_id AND a.deactivated_at IS NULL
        JOIN accounts c ON c.id = a.account_id AND c.deleted_at IS NULL AND c.subscription = 'active'
        JOIN roles r ON r.id = a.role_id AND (r.type = 'admin' OR 'messaging:read' = ANY(r.permissions))
        ${of}
    ), counts AS MATERIALIZED (
      SELECT u.actor_id, f.* FROM (SELECT DISTINCT actor_id FROM wanted) u, LATERAL (
        SELECT count(*) FILTER (WHERE status = 'unseen') AS unseen,
          count(*) FILTER (WHERE status IN ('unseen', 'seen')) AS unread
        FROM notifications WHERE recipient_id = u.actor_id
      ) f
    )
    SELECT ${NOTIFICATION_COLUMNS.map((column) => `n.${column}`).join(', ')}, w.subscription_id,
      v.id AS conversation_id, counts.unseen, counts.unread, ${columns}
    FROM wanted w
      JOIN counts USING (actor_id)
      JOIN ${subscriptions} s ON s.id = w.subscription_id
      JOIN notifications n ON n.recipient_id = w.actor_id AND n.id = w.notification_id
      LEFT JOIN messages m ON m.id = n.message_id
      LEFT JOIN conversations v ON n.resource_type = 'entity' AND v.id = n.resource_id
      ${from}
    WHERE ${where}`;
}
