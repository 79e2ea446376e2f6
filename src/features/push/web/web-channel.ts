import type { Querier } from '../../../platform/db/connection/handle.ts';
import type { Channel } from '../deliveries/channel.ts';
import { DeliveryRows } from '../deliveries/delivery-rows.ts';
import { readPushed } from '../deliveries/pushed-rows.ts';
import type { BrowserPush } from './payload.ts';
import { deleteStale } from './subscriptions.ts';
import { attempt, type WebPushOptions } from './web-push.ts';

/** Returns the channel to the browsers of users. */
export function webChannel({
  database,
  ...options
}: WebPushOptions & { readonly database: Querier }): Channel<BrowserPush> {
  const { keyId } = options.vapid;
  return {
    to: 'browsers',
    rows: webRows(keyId),
    read: (keys) =>
      database.query(
        READ,
        keys.map(({ subscription_id }) => subscription_id),
        keys.map(({ notification_id }) => notification_id),
      ),
    attempt: (row) => attempt(options, row),
    isRemoval: () => false,
    endStale: (limit) => deleteStale(database, keyId, limit),
  };
}

/** `keyId`: the key of this server; subscriptions that were made with another one get nothing. */
export function webRows(keyId: string): DeliveryRows {
  return new DeliveryRows({
    name: 'push-deliveries',
    subscriptions: 'push_subscriptions',
    deliveries: 'push_deliveries',
    usable: 's.key_id = $3 AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())',
    values: [keyId],
    settle: { removes: true },
  });
}

const READ = readPushed<BrowserPush>({
  name: 'read-pushed-notifications',
  subscriptions: 'push_subscriptions',
  columns: 's.endpoint, s.p256dh, s.auth',
});
