import { RevocableCache } from '../../../platform/access/revocable-cache.ts';
import type { Rights } from '../../../platform/access/rights.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { type EventAgent, readEventAgents } from './store.ts';

/** The subject of the changed-rights frame for changes to the account's event agents. */
export function eventAgentsOf(accountId: string): string {
  return `event-agents:${accountId}`;
}

const MAX_CACHED = 50_000;

/** Caches event agents by account: every send looks here, and nearly every account has none. */
export class EventAgents {
  readonly #cache: RevocableCache<readonly EventAgent[]>;

  constructor(db: Db, rights: Rights) {
    this.#cache = new RevocableCache({
      rights,
      max: MAX_CACHED,
      load: async (accountId): Promise<readonly EventAgent[]> => readEventAgents(db, accountId),
      subjectsOf: (_agents, accountId) => [eventAgentsOf(accountId)],
    });
  }

  /** Synchronous if cached. */
  of(accountId: string): readonly EventAgent[] | Promise<readonly EventAgent[]> {
    return this.#cache.get(accountId);
  }
}
