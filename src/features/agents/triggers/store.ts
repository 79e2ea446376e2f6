import type { RunTrigger } from '../../../contract/protocol/resources/agent-run.ts';
import type { AgentRow } from '../../../core/resources/agent.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/** An active agent that is started by events. */
export interface EventAgent {
  readonly actor_id: string;
  readonly events: readonly string[];
}

/** The subject of the changed-rights frame for changes to the account's event agents. */
export function eventAgentsOf(accountId: string): string {
  return `event-agents:${accountId}`;
}

/** Returns the active agents of the account that are started by events. */
export function readEventAgents(db: Db, accountId: string): Promise<EventAgent[]> {
  return db.query(READ_EVENT_AGENTS, accountId);
}

/** Locks and returns those of these agents that are active and have this trigger. */
export function holdStartable(
  tx: Tx,
  actorIds: readonly string[],
  type: RunTrigger,
): Promise<Pick<AgentRow, 'id' | 'account_id' | 'actor_id'>[]> {
  return (
    tx.kysely
      .selectFrom('agent_definitions')
      .select(['id', 'account_id', 'actor_id'])
      .where('actor_id', 'in', [...actorIds])
      .where('status', '=', 'active')
      .where('trigger_type', '=', type)
      // One fixed order, so that two such transactions cannot deadlock.
      .orderBy('id')
      .forShare()
      .execute()
  );
}

/** Returns when the conversation was last changed; undefined if there is no such conversation. */
export async function readConversationUpdatedAt(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db.query(READ_UPDATED, id);
  return row?.updated_at;
}

const READ_EVENT_AGENTS = statement<[accountId: string], EventAgent>('read-event-agents')`
    SELECT actor_id, trigger_config->'event_filters' AS events FROM agent_definitions
    WHERE account_id = $1 AND trigger_type = 'event' AND status = 'active' ORDER BY id`;

const READ_UPDATED = statement<[id: string], { updated_at: string }>('read-conversation-updated-at')`
    SELECT updated_at FROM conversations WHERE id = $1`;
