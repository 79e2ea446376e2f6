import { RevocableCache } from '../../access/revocable-cache.ts';
import type { Rights } from '../../access/rights.ts';
import type { Db } from '../../db/handle.ts';
import { statement } from '../../db/statement.ts';
import type { TriggerEventName } from '../../protocol/trigger-event.ts';

/** An active agent that is started by events. */
export interface EventAgent {
  readonly actor_id: string;
  readonly events: readonly TriggerEventName[];
}

/**
 * The subject of the changed-rights frame that is published whenever such an agent of the account is created, changed
 * or deleted.
 */
export function eventAgentsOf(accountId: string): string {
  return `event-agents:${accountId}`;
}

const MAX_CACHED = 50_000;

/**
 * Cache of the agents that are started by events, by account: every send looks here, and nearly every account has
 * none.
 */
export class EventAgents {
  readonly #cache: RevocableCache<readonly EventAgent[]>;

  constructor(db: Db, rights: Rights) {
    this.#cache = new RevocableCache({
      rights,
      max: MAX_CACHED,
      load: async (accountId): Promise<readonly EventAgent[]> => db.query(READ, accountId),
      subjectsOf: (_agents, accountId) => [eventAgentsOf(accountId)],
    });
  }

  /** Synchronous if cached. */
  of(accountId: string): readonly EventAgent[] | Promise<readonly EventAgent[]> {
    return this.#cache.get(accountId);
  }
}

const READ = statement<[accountId: string], EventAgent>({
  name: 'read-event-agents',
  text: `
    SELECT actor_id, trigger_config->'event_filters' AS events FROM agent_definitions
    WHERE account_id = $1 AND trigger_type = 'event' AND status = 'active' ORDER BY id`,
});
