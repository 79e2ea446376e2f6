import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { AgentMember } from '../../../core/conversations/directory/directory.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { type Cause, readOrigin } from '../runs/state/origin.ts';
import { startRun, type Trigger } from '../runs/state/start.ts';
import { hasKeyword } from './keywords.ts';

/**
 * Starts the agents that a message of their conversation addresses, once
 * (docs/contract.md#triggers). A message of an agent starts only the agents that it mentions,
 * within the limit of runs in a row, and never its author. A customer starts agents as other people
 * do, but is not recorded as the trigger: a customer cannot see runs.
 */
export async function startChats(
  database: Database,
  row: MessageRow,
  agents: readonly AgentMember[],
  trace?: TraceContext,
): Promise<void> {
  const mentioned = new Set(row.mentions);
  const others = agents.filter(({ actorId }) => actorId !== row.author_id);
  const addressedAgents = others.filter(
    (agent) => mentioned.has(agent.actorId) || answersUnmentioned(agent, row),
  );
  if (addressedAgents.length === 0) return;
  await database.transaction(async (tx) => {
    const { id: messageId, conversation_id: conversationId, author_id: author } = row;
    const cause = { by: author, runId: row.agent_run_id, at: row.created_at, trace };
    const origin = await readOrigin(tx, cause);
    const { byAgent, byCustomer, isExhausted } = origin;
    const started = byAgent
      ? addressedAgents.filter(({ actorId }) => mentioned.has(actorId))
      : addressedAgents;
    if (started.length === 0 || isExhausted) return;
    const actorIds = started.map(({ actorId }) => actorId);
    await startRuns(tx, actorIds, {
      type: 'chat',
      key: messageId,
      input: { conversation_id: conversationId, message_id: messageId },
      by: byCustomer ? null : author,
      conversationId,
      messageId,
      ...origin,
    });
  });
}

/** Returns whether the agent answers unmentioned: always, or because of a keyword in the text. */
function answersUnmentioned({ policy, keywords }: AgentMember, { body }: MessageRow): boolean {
  return policy === 'always' || hasKeyword(body ?? '', keywords);
}

/** An active agent that is started by events. */
export interface EventAgent {
  readonly actor_id: string;
  readonly events: readonly string[];
}

/** An event that agents of the trigger type `event` may subscribe to. */
export interface TriggerEvent {
  /** One of TRIGGER_EVENTS, or the type of a producer's event. */
  readonly event: string;
  readonly accountId: string;
  /** The resource's id, with its version if the event may occur for it again. */
  readonly key: string;
  readonly cause: Cause;
  /** The ids of the event's resources, or the report of a producer's event. */
  readonly input: object;
}

/**
 * Starts the agents that subscribe to the event, once: never an agent by its own runs, nor past the
 * limit of runs in a row. The text goes into the runs' output: no conversation is needed.
 */
export async function startByEvent(
  database: Database,
  { event, key, cause, input }: TriggerEvent,
  agents: readonly EventAgent[],
): Promise<void> {
  const waiting = agents.filter(({ actor_id, events }) => actor_id !== cause.by && events.includes(event));
  if (waiting.length === 0) return;
  await database.transaction(async (tx) => {
    const origin = await readOrigin(tx, cause);
    if (origin.isExhausted) return;
    const actorIds = waiting.map(({ actor_id }) => actor_id);
    await startRuns(tx, actorIds, {
      type: 'event',
      key: `${event}:${key}`,
      input: { event, ...input },
      by: null,
      ...origin,
    });
  });
}

/**
 * Starts a run of each of these agents, given by their actors, that is active and has the trigger's
 * type: both are read again, because the caller's knowledge may be out of date. A transaction that
 * deactivates such an agent waits. Repeated calls start one run for each agent and key.
 */
async function startRuns(tx: Tx, actorIds: readonly string[], trigger: Trigger): Promise<void> {
  const agents = await tx.kysely
    .selectFrom('agent_definitions')
    .select(['id', 'account_id', 'actor_id'])
    .where('actor_id', 'in', [...actorIds])
    .where('status', '=', 'active')
    .where('trigger_type', '=', trigger.type)
    // One fixed order, so that two such transactions cannot deadlock.
    .orderBy('id')
    .forShare()
    .execute();
  for (const agent of agents) await startRun(tx, agent, trigger);
}
