import { RevocableCache } from '../../../api/access/revocable-cache.ts';
import type { Rights } from '../../../api/access/rights.ts';
import { enqueueRightsChanged } from '../../../core/accounts/rights/rights-changed.ts';
import type { Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/** The users of an account with subscriptions of a channel. Some may have none any more. */
export type Subscribers = ReadonlySet<string>;

/** The table of the subscriptions of a channel. */
type Subscriptions = 'push_subscriptions' | 'push_devices';

/**
 * Caches which users have subscriptions of a channel, by account, so that notifications of other
 * users cost nothing. The first subscription of a user is announced. The end of the last
 * subscription is not, because it costs at most one lookup.
 */
export function pushAudience(db: Querier, rights: Rights, table: Subscriptions): RevocableCache<Subscribers> {
  return new RevocableCache<Subscribers>({
    rights,
    max: 10_000,
    load: async (accountId) => new Set(await readSubscribers(db, table, accountId)),
    subjectsOf: (_subscribers, accountId) => [subjectOf(table, accountId)],
  });
}

/** Announces the first subscription of a user, in its transaction. */
export function announceSubscriber(tx: Tx, table: Subscriptions, accountId: string): Promise<void> {
  return enqueueRightsChanged(tx, [subjectOf(table, accountId)]);
}

function subjectOf(table: Subscriptions, accountId: string): string {
  return `${table.replace('_', '-')}:${accountId}`;
}

/** Returns the ids of an account's users with a subscription. */
export async function readSubscribers(
  db: Querier,
  table: Subscriptions,
  accountId: string,
): Promise<string[]> {
  return (await db.query(READ_SUBSCRIBERS[table], accountId)).map(({ actor_id }) => actor_id);
}

function readSubscribersOf(table: Subscriptions) {
  return statement<[accountId: string], { actor_id: string }>(`read-users-of-${table}`)`
    SELECT DISTINCT actor_id FROM ${table} WHERE account_id = $1`;
}

const READ_SUBSCRIBERS = {
  push_subscriptions: readSubscribersOf('push_subscriptions'),
  push_devices: readSubscribersOf('push_devices'),
} as const satisfies Record<Subscriptions, object>;
