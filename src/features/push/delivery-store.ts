import { NOTIFICATION_COLUMNS, type NotificationRow } from '../../core/resources/notification.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type Due, LeasedRows } from '../../platform/db/queue/leased-rows.ts';

/** A notification that a subscription has not received yet. */
export interface Delivery {
  readonly subscription_id: string;
  readonly notification_id: string;
  /** The origin of the endpoint: the push service. */
  readonly origin: string;
  /** The number of this try, from 1. */
  readonly attempts: number;
}

export type DeliveryKey = Pick<Delivery, 'subscription_id' | 'notification_id'>;

/** Milliseconds that a node has to try a delivery it has taken. */
export const LEASE_MS = 60_000;

/**
 * Adds and takes a delivery for each subscription of the recipients, unless it already exists.
 * Subscriptions that were made with another key are left out.
 */
export async function addDeliveries(
  db: Querier,
  notifications: readonly Pick<NotificationRow, 'recipient_id' | 'id'>[],
  keyId: string,
): Promise<Delivery[]> {
  const recipientIds = notifications.map(({ recipient_id }) => recipient_id);
  const ids = notifications.map(({ id }) => id);
  return db.query(ADD, recipientIds, ids, keyId);
}

/** A notification in its present state, with the subscription that it is pushed to. */
export interface Pushed extends NotificationRow {
  readonly subscription_id: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  /** The conversation that it is about, if any. */
  readonly conversation_id: string | null;
  readonly unseen: number;
  readonly unread: number;
}

/**
 * Returns, unordered, the deliveries that are still to be pushed. Leaves out notifications that are
 * seen, read, dismissed, withdrawn or too old, those of deleted messages and conversations, and
 * users that may no longer read them.
 */
export function readPushed(
  db: Querier,
  deliveries: readonly DeliveryKey[],
  olderThanMs: number,
): Promise<Pushed[]> {
  const subscriptionIds = deliveries.map(({ subscription_id }) => subscription_id);
  const notificationIds = deliveries.map(({ notification_id }) => notification_id);
  return db.query(READ_PUSHED, subscriptionIds, notificationIds, olderThanMs);
}

export interface Outcome extends DeliveryKey, Due {
  /** Whether the push service accepted it; null if no request was made. */
  readonly accepted: boolean | null;
}

/** A subscription whose tries fail. */
export interface FailingSubscription {
  readonly id: string;
  /** Failed tries in a row. */
  readonly failures: number;
  readonly failing_seconds: number;
}

/** Records which tries succeeded, and returns the subscriptions that failed. */
export function noteTries(
  db: Querier,
  outcomes: readonly Pick<Outcome, 'subscription_id' | 'accepted'>[],
): Promise<FailingSubscription[]> {
  return db.query(NOTE_TRIES, JSON.stringify(outcomes));
}

// Waits for a subscription that is ending, because its deliveries could not refer to it. Locks in
// the order of the primary key, so that two statements cannot deadlock.
const ADD = statement<[recipientIds: readonly string[], ids: readonly string[], keyId: string], Delivery>(
  'add-push-deliveries',
)`
    WITH wanted AS MATERIALIZED (
      SELECT s.id AS subscription_id, w.id AS notification_id, s.origin
      FROM unnest($1::text[], $2::text[]) AS w(recipient_id, id)
        JOIN push_subscriptions s ON s.actor_id = w.recipient_id
      WHERE s.key_id = $3 AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
      ORDER BY s.id, w.id
      FOR KEY SHARE OF s
    ), added AS (
      INSERT INTO push_deliveries (subscription_id, notification_id, attempts, due_at)
      SELECT subscription_id, notification_id, 1, clock_timestamp() + interval '${LEASE_MS} ms' FROM wanted
      ON CONFLICT DO NOTHING
      RETURNING subscription_id, notification_id, attempts
    )
    SELECT a.*, w.origin FROM added a JOIN wanted w USING (subscription_id, notification_id)`;

/** Due deliveries, except those of push services with a long lane on this node. */
export const DELIVERIES = new LeasedRows<
  DeliveryKey,
  Delivery,
  [busyOrigins: readonly string[], limit: number]
>({
  name: 'push-deliveries',
  table: 'push_deliveries',
  key: ['subscription_id', 'notification_id'],
  due: 'due_at',
  tries: 'attempts',
  take: {
    from: `push_deliveries q JOIN push_subscriptions s ON s.id = q.subscription_id
      WHERE q.due_at <= clock_timestamp() AND s.origin <> ALL($2)
      ORDER BY q.due_at LIMIT $3`,
    also: 's.origin',
    returning: 'q.subscription_id, q.notification_id, q.attempts, due.origin',
  },
  settle: { removes: true },
});

// The counts are those of the feed (core/notifications/feed/feed-store.ts).
const READ_PUSHED = statement<
  [subscriptionIds: readonly string[], notificationIds: readonly string[], olderThanMs: number],
  Pushed
>('read-pushed-notifications')`
    WITH wanted AS MATERIALIZED (
      SELECT s.id AS subscription_id, s.actor_id, s.endpoint, s.p256dh, s.auth, d.notification_id
      FROM unnest($1::text[], $2::text[]) AS d(subscription_id, notification_id)
        JOIN push_subscriptions s ON s.id = d.subscription_id
        JOIN actors a ON a.id = s.actor_id AND a.deactivated_at IS NULL
        JOIN accounts c ON c.id = a.account_id AND c.deleted_at IS NULL AND c.subscription = 'active'
        JOIN roles r ON r.id = a.role_id AND (r.type = 'admin' OR 'messaging:read' = ANY(r.permissions))
    ), counts AS MATERIALIZED (
      SELECT u.actor_id, f.* FROM (SELECT DISTINCT actor_id FROM wanted) u, LATERAL (
        SELECT count(*) FILTER (WHERE status = 'unseen') AS unseen,
          count(*) FILTER (WHERE status IN ('unseen', 'seen')) AS unread
        FROM notifications WHERE recipient_id = u.actor_id
      ) f
    )
    SELECT ${NOTIFICATION_COLUMNS.map((column) => `n.${column}`).join(', ')}, w.subscription_id, w.endpoint, w.p256dh,
      w.auth, v.id AS conversation_id, counts.unseen, counts.unread
    FROM wanted w
      JOIN counts USING (actor_id)
      JOIN notifications n ON n.recipient_id = w.actor_id AND n.id = w.notification_id
      LEFT JOIN messages m ON m.id = n.message_id
      LEFT JOIN conversations v ON n.resource_type = 'entity' AND v.id = n.resource_id
    WHERE n.status = 'unseen' AND n.created_at > clock_timestamp() - $3::float8 * interval '1 ms'
      AND (n.message_id IS NULL OR m.id IS NOT NULL AND m.deleted_at IS NULL) AND v.deleted_at IS NULL`;

// Among the outcomes of one subscription, a success counts as the last. It is written once an hour
// while nothing fails.
const NOTE_TRIES = statement<[outcomes: string], FailingSubscription>('note-push-tries')`
    WITH outcome AS MATERIALIZED (
      SELECT * FROM json_to_recordset($1::json) AS o(subscription_id text, accepted boolean)
    ), tried AS MATERIALIZED (
      SELECT subscription_id, bool_or(accepted) AS accepted, count(*) FILTER (WHERE NOT accepted) AS failures
      FROM outcome WHERE accepted IS NOT NULL GROUP BY subscription_id
    ), locked AS MATERIALIZED (
      SELECT s.id, t.accepted, t.failures FROM push_subscriptions s JOIN tried t ON t.subscription_id = s.id
      WHERE NOT t.accepted OR s.failures > 0 OR s.last_success_at IS NULL
        OR s.last_success_at < clock_timestamp() - interval '1 hour'
      ORDER BY s.id FOR NO KEY UPDATE OF s
    )
    UPDATE push_subscriptions s SET
      failures = CASE WHEN l.accepted THEN 0 ELSE s.failures + l.failures END,
      failing_since = CASE WHEN NOT l.accepted THEN coalesce(s.failing_since, clock_timestamp()) END,
      last_success_at = CASE WHEN l.accepted THEN clock_timestamp() ELSE s.last_success_at END
    FROM locked l WHERE s.id = l.id
    RETURNING s.id, s.failures, coalesce(extract(epoch FROM clock_timestamp() - s.failing_since), 0)::float8
      AS failing_seconds`;
