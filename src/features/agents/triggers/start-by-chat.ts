import type { TraceContext } from '../../../contract/protocol/traceparent.ts';
import type { AgentMember } from '../../../core/conversations/directory.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { readOrigin } from '../runs/origin.ts';
import { hasKeyword } from './keywords.ts';
import { startRuns } from './start-runs.ts';

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
    const { byAgent, byCustomer, depth, rootId, isExhausted } = origin;
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
      depth,
      rootId,
      trace: origin.trace,
    });
  });
}

/**
 * Returns whether the agent answers without being mentioned. The keywords of an agent that waits
 * for mentions count as well.
 */
function answersUnmentioned({ policy, keywords }: AgentMember, { body }: MessageRow): boolean {
  return policy === 'always' || hasKeyword(body ?? '', keywords);
}
