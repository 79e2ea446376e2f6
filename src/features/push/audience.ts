import { RevocableCache } from '../../api/access/revocable-cache.ts';
import type { Rights } from '../../api/access/rights.ts';
import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/** The users of an account with push subscriptions. Some may have none any more. */
export type Subscribers = ReadonlySet<string>;

/**
 * Caches which users have push subscriptions, by account, so that notifications of other users cost
 * nothing. The first subscription of a user is announced. The end of the last subscription is not,
 * because it costs at most one lookup.
 */
export function pushAudience(db: Querier, rights: Rights): RevocableCache<Subscribers> {
  return new RevocableCache<Subscribers>({
    rights,
    max: 10_000,
    load: async (accountId) => new Set(await readSubscribers(db, accountId)),
    subjectsOf: (_subscribers, accountId) => [subjectOf(accountId)],
  });
}

/** Announces the first subscription of a user, in its transaction. */
export function announceSubscriber(tx: Tx, accountId: string): Promise<void> {
  return enqueueRightsChanged(tx, [subjectOf(accountId)]);
}

function subjectOf(accountId: string): string {
  return `push-subscriptions:${accountId}`;
}

/** Returns the ids of an account's users with a subscription. */
export async function readSubscribers(db: Querier, accountId: string): Promise<string[]> {
  return (await db.query(READ_SUBSCRIBERS, accountId)).map(({ actor_id }) => actor_id);
}

const READ_SUBSCRIBERS = statement<[accountId: string], { actor_id: string }>('read-push-subscribers')`
    SELECT DISTINCT actor_id FROM push_subscriptions WHERE account_id = $1`;
