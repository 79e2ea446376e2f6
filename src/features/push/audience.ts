import { enqueueRightsChanged } from '../../core/accounts/rights-changed.ts';
import { RevocableCache } from '../../platform/access/revocable-cache.ts';
import type { Rights } from '../../platform/access/rights.ts';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { readSubscribers } from './subscription-store.ts';

/** The users of an account with push subscriptions. Some of them may have none any more. */
export type Subscribers = ReadonlySet<string>;

/**
 * Cache of the users that have push subscriptions, by account, so that notifications of other users
 * cost nothing. A user's first subscription is announced; that a user has none any more is not,
 * because it costs a look at most.
 */
export class PushAudience {
  readonly #cache: RevocableCache<Subscribers>;

  constructor(db: Querier, rights: Rights) {
    this.#cache = new RevocableCache<Subscribers>({
      rights,
      max: MAX_ACCOUNTS,
      load: async (accountId) => new Set(await readSubscribers(db, accountId)),
      subjectsOf: (_subscribers, accountId) => [subjectOf(accountId)],
    });
  }

  /** Synchronous if cached. */
  of(accountId: string): Subscribers | Promise<Subscribers> {
    return this.#cache.get(accountId);
  }

  close(): void {
    this.#cache.close();
  }
}

/** Part of the transaction of the first subscription of a user. */
export function announceSubscriber(tx: Tx, accountId: string): Promise<void> {
  return enqueueRightsChanged(tx, [subjectOf(accountId)]);
}

const MAX_ACCOUNTS = 10_000;

function subjectOf(accountId: string): string {
  return `push-subscriptions:${accountId}`;
}
