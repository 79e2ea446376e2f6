import { RevocableCache } from '../../../api/access/revocable-cache.ts';
import type { ConversationDirectory } from '../../../core/conversations/directory/directory.ts';
import type { ConversationCreated } from '../../../core/conversations/outbox-topics.ts';
import type { Change } from '../../../core/events/changes.ts';
import type { AccountEvent } from '../../../core/features/account-event.ts';
import type { NodeParts, SentMessage } from '../../../core/features/feature.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { type EventAgent, startByEvent, startChats, type TriggerEvent } from './start-runs.ts';

/**
 * Starts agents by messages of their conversations and by events of their accounts
 * (docs/contract.md#triggers); schedules have their own loop (schedule.ts). The outbox worker calls
 * these methods before it deletes a row. Repeated calls for a row start an agent only once.
 */
export class Triggers {
  readonly #database: Database;
  readonly #directory: ConversationDirectory;
  /** By account. Cached, because every send looks here and nearly every account has none. */
  readonly #eventAgents: RevocableCache<readonly EventAgent[]>;

  constructor({ database, directory, rights }: Pick<NodeParts, 'database' | 'directory' | 'rights'>) {
    this.#database = database;
    this.#directory = directory;
    this.#eventAgents = new RevocableCache({
      rights,
      max: MAX_CACHED,
      load: (accountId): Promise<readonly EventAgent[]> => database.query(READ_EVENT_AGENTS, accountId),
      subjectsOf: (_agents, accountId) => [eventAgentsOf(accountId)],
    });
  }

  /** Handles new or completed messages. Costs two look-ups in memory if no agent is concerned. */
  async onMessages(messages: readonly Pick<SentMessage, 'row' | 'rosterVersion' | 'trace'>[]): Promise<void> {
    for (const { row, rosterVersion, trace } of messages) {
      if (!isComplete(row)) continue;
      // The message does not start the agents of an older roster.
      const cached = this.#directory.factsSince(row.conversation_id, rosterVersion);
      const facts = cached instanceof Promise ? await cached : cached;
      // The message was sent while the deletion of its conversation was announced.
      if (facts !== undefined && facts.deletedAt !== null) continue;
      if (facts !== undefined && facts.agents.length > 0) {
        await startChats(this.#database, row, facts.agents, trace);
      }
      const known = this.#eventAgents.get(row.account_id);
      const agents = known instanceof Promise ? await known : known;
      if (agents.length === 0) continue;
      const event: TriggerEvent = {
        event: 'message.created',
        accountId: row.account_id,
        key: row.id,
        cause: { by: row.author_id, runId: row.agent_run_id, at: row.created_at, trace },
        input: { conversation_id: row.conversation_id, message_id: row.id },
      };
      await startByEvent(this.#database, event, agents);
    }
  }

  async onConversationCreated(created: ConversationCreated): Promise<void> {
    const { conversation_id, account_id: accountId, by, at, quiet } = created;
    if (quiet) return;
    await this.#startByEvent({
      event: 'conversation.created',
      accountId,
      key: conversation_id,
      cause: { by, runId: null, at },
      input: { conversation_id },
    });
  }

  /** Handles changes; only those of conversations matter here. */
  async changed(changes: readonly Change[]): Promise<void> {
    for (const { event, id, by = null, quiet } of changes) {
      if (event !== 'conversation.updated' || quiet) continue;
      const facts = await this.#directory.facts(id);
      if (facts === undefined || !(await this.#isAwaited(facts.accountId, event))) continue;
      const [conversation] = await this.#database.query(READ_UPDATED, id);
      if (conversation === undefined) continue;
      const { updated_at: at } = conversation;
      await this.#startByEvent({
        event,
        accountId: facts.accountId,
        key: `${id}:${at}`,
        cause: { by, runId: null, at },
        input: { conversation_id: id },
      });
    }
  }

  /** Handles an event of the account. */
  async happened({ type, accountId, resourceId, by, runId, at, trace, input }: AccountEvent): Promise<void> {
    if (input === null) return;
    await this.#startByEvent({
      event: type,
      accountId,
      key: resourceId,
      input,
      cause: { by, runId, at, trace },
    });
  }

  async #isAwaited(accountId: string, event: TriggerEvent['event']): Promise<boolean> {
    return (await this.#eventAgents.get(accountId)).some(({ events }) => events.includes(event));
  }

  async #startByEvent(event: TriggerEvent): Promise<void> {
    const agents = await this.#eventAgents.get(event.accountId);
    if (agents.length > 0) await startByEvent(this.#database, event, agents);
  }
}

const MAX_CACHED = 50_000;

/** Returns the subject of the changed-rights frame for changes to the account's event agents. */
export function eventAgentsOf(accountId: string): string {
  return `event-agents:${accountId}`;
}

/**
 * Returns false for system messages, broadcasts, mail of machines or the team, and open streams.
 */
function isComplete({ kind, visibility, status, streaming_state, deleted_at }: MessageRow): boolean {
  if (kind === 'system_event' || kind === 'alert') return false;
  if (kind === 'email' && visibility === 'internal') return false;
  return status === 'sent' && streaming_state !== 'streaming' && deleted_at === null;
}

const READ_EVENT_AGENTS = statement<[accountId: string], EventAgent>('read-event-agents')`
    SELECT actor_id, trigger_config->'event_filters' AS events FROM agent_definitions
    WHERE account_id = $1 AND trigger_type = 'event' AND status = 'active' ORDER BY id`;

const READ_UPDATED = statement<[id: string], { updated_at: string }>('read-conversation-updated-at')`
    SELECT updated_at FROM conversations WHERE id = $1`;
