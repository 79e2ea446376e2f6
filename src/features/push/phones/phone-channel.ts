import { isCompanion } from '../../../core/resources/known-users.ts';
import type { NotificationRow } from '../../../core/resources/notification.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Channel } from '../deliveries/channel.ts';
import { DeliveryRows } from '../deliveries/delivery-rows.ts';
import { IS_NEWS, readPushed } from '../deliveries/pushed-rows.ts';
import { PUSHED_FOR_MS } from '../deliveries/times.ts';
import { MAX_REMOVED, type PhonePush } from './phone-push.ts';
import type { PhoneServices } from './phone-services.ts';
import { deleteExpired, IS_SIGNED_IN } from './push-devices.ts';

/**
 * Returns the channel to the phones of users. Its deliveries stay after the push that shows a
 * notification, so that another one can take it away from the phone.
 */
export function phoneChannel(database: Querier, services: Pick<PhoneServices, 'push'>): Channel<PhonePush> {
  return {
    to: 'phones',
    rows: PHONE_ROWS,
    read: (keys) =>
      database.query(
        READ,
        keys.map(({ subscription_id }) => subscription_id),
        keys.map(({ notification_id }) => notification_id),
      ),
    async attempt(row) {
      const tried = await services.push(row);
      if (row.removed_ids === null || tried.verdict !== 'accepted') return tried;
      await database.query(NOTE_REMOVED, row.subscription_id, row.removed_ids);
      if (row.removed_ids.length === MAX_REMOVED) await database.query(REMOVE_MORE, row.subscription_id);
      return tried;
    },
    isRemoval: ({ removed_ids }) => removed_ids !== null,
    async endStale(limit) {
      const expired = await deleteExpired(database, limit);
      const old = await database.query(DELETE_OLD, limit);
      return Math.max(expired, old.length);
    },
    async settled(outcomes) {
      // Read elsewhere while the push was under way, for which no row was shown yet.
      const shown = outcomes.filter((outcome) => outcome.shown);
      await removeRead(
        database,
        shown.map(({ notification_id }) => notification_id),
      );
    },
  };
}

/**
 * Makes removals due for the phones that show notifications which were read or dismissed, one for
 * each phone: it takes all of them away. Returns whether any is due.
 */
export async function removeRead(db: Querier, ids: readonly NotificationRow['id'][]): Promise<boolean> {
  return ids.length > 0 && (await db.query(REMOVE_READ, ids)).length > 0;
}

const PHONE_ROWS = new DeliveryRows({
  name: 'device-deliveries',
  subscriptions: 'push_devices',
  deliveries: 'device_deliveries',
  usable: 'true',
  settle: { columns: { shown: 'boolean' } },
});

const IS_READ = (notification: string) => `${notification}.status IN ('read', 'dismissed')`;

// A push names no sender whom its reader may not know, admins included: it leaves our server. Texts
// are kept back where the account says so; always those of conversations under a hold, and
// of notes in conversations with customers.
const READ = readPushed<PhonePush>({
  name: 'read-notifications-for-phones',
  subscriptions: 'push_devices',
  columns: `s.app_id, s.origin, s.token, p.revision, p.platform, p.identifier, p.environment, sender.name AS sender_name,
      c.push_content = 'text' AND v.legal_hold IS DISTINCT FROM 'held'
        AND NOT (v.audience = 'customer' AND m.visibility = 'internal') IS TRUE AS shows_content,
      CASE WHEN d.shown THEN (
        SELECT array_agg(r.notification_id) FROM (
          SELECT o.notification_id FROM device_deliveries o
            JOIN notifications e ON e.recipient_id = s.actor_id AND e.id = o.notification_id
          WHERE o.subscription_id = s.id AND o.shown AND ${IS_READ('e')}
          ORDER BY o.notification_id LIMIT ${MAX_REMOVED}
        ) r
      ) END AS removed_ids`,
  of: `WHERE ${IS_SIGNED_IN}`,
  from: `JOIN push_apps p ON p.id = s.app_id
      JOIN accounts c ON c.id = s.account_id
      JOIN device_deliveries d ON d.subscription_id = s.id AND d.notification_id = n.id
      LEFT JOIN actors sender ON sender.id = n.sender_id
        AND (c.people = 'everyone' OR ${isCompanion('s.actor_id', 'sender')})`,
  where: `CASE WHEN d.shown THEN ${IS_READ('n')} ELSE ${IS_NEWS} END`,
});

const NOTE_REMOVED = statement<[deviceId: string, ids: readonly string[]]>('note-removed-from-device')`
    UPDATE device_deliveries SET shown = false WHERE subscription_id = $1 AND notification_id = ANY($2)`;

/** SQL: makes one removal due for each phone that shows notifications `d` which were read. */
const removing = (which: string) => `
    UPDATE device_deliveries q SET due_at = clock_timestamp(), attempts = 0
    FROM (
      SELECT DISTINCT ON (d.subscription_id) d.subscription_id, d.notification_id
      FROM device_deliveries d
        JOIN push_devices s ON s.id = d.subscription_id
        JOIN notifications n ON n.recipient_id = s.actor_id AND n.id = d.notification_id
      WHERE ${which} AND d.shown AND ${IS_READ('n')}
      ORDER BY d.subscription_id, d.notification_id
    ) due
    WHERE q.subscription_id = due.subscription_id AND q.notification_id = due.notification_id AND q.due_at IS NULL
    RETURNING 1`;

const REMOVE_READ = statement<[ids: readonly string[]]>('remove-read-from-devices')(
  removing('d.notification_id = ANY($1)'),
);

const REMOVE_MORE = statement<[deviceId: string]>('remove-more-from-device')(
  removing('d.subscription_id = $1'),
);

const DELETE_OLD = statement<[limit: number]>('delete-old-device-deliveries')`
    DELETE FROM device_deliveries WHERE (subscription_id, notification_id) IN (
      SELECT subscription_id, notification_id FROM device_deliveries
      WHERE created_at < clock_timestamp() - interval '${2 * PUSHED_FOR_MS} ms' AND due_at IS NULL
      ORDER BY created_at LIMIT $1)
    RETURNING 1`;
