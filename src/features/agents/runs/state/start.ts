import { newId } from '@parley/protocol/ids.ts';
import type { RunTrigger } from '@parley/protocol/resources/agent-run.ts';
import { formatTraceparent, type TraceContext } from '@parley/protocol/traceparent.ts';
import { enqueueChanged } from '../../../../core/events/changes.ts';
import type { AgentRow } from '../../../../core/resources/agent.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { enqueue } from '../../../../platform/db/queue/outbox.ts';
import { RUN_DUE } from './outbox-topics.ts';

/** The cause of a run. */
export interface Trigger {
  readonly type: RunTrigger;
  /** The message, event or occurrence, unique to the agent: a key starts a run only once. */
  readonly key: string;
  /** Any JSON value; for chats `{conversation_id, message_id}` (docs/contract.md#runs). */
  readonly input: unknown;
  /** Actor id; null for schedules and events. */
  readonly by: string | null;
  /** The conversation for the text; null if it goes only to the run's output. */
  readonly conversationId?: string | null;
  readonly messageId?: string | null;
  /** Number of runs that led to this one. */
  readonly depth?: number;
  /** The first of those runs; null if there is none. */
  readonly rootId?: string | null;
  /** The trace of the cause. */
  readonly trace?: TraceContext | undefined;
}

/**
 * Inserts a run, which the first free node begins once `tx` has committed. Returns undefined if the
 * same key has started a run before. Enqueues `agent_run.updated` for the actor that triggered it.
 */
export async function startRun(
  tx: Tx,
  { id: agent_id, account_id, actor_id }: Pick<AgentRow, 'id' | 'account_id' | 'actor_id'>,
  { type, key, input, by, conversationId = null, messageId = null, depth = 0, rootId = null, trace }: Trigger,
): Promise<RunRow | undefined> {
  const row = await tx.kysely
    .insertInto('agent_runs')
    .values({
      id: newId('agentRun'),
      account_id,
      agent_id,
      actor_id,
      trigger_type: type,
      trigger_key: key,
      input: JSON.stringify(input ?? null),
      triggered_by: by,
      conversation_id: conversationId,
      trigger_message_id: messageId,
      depth,
      root_id: rootId,
      traceparent: trace === undefined ? null : formatTraceparent(trace),
    })
    .onConflict((conflict) => conflict.columns(['agent_id', 'trigger_key']).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return undefined;
  await enqueue(tx, RUN_DUE, { run_id: row.id, account_id: row.account_id });
  await enqueueRunUpdated(tx, row);
  return row;
}

/** Enqueues `agent_run.updated` for the run's triggering actor (docs/realtime.md#events). */
export async function enqueueRunUpdated(
  tx: Tx,
  { id, triggered_by: stream }: Pick<RunRow, 'id' | 'triggered_by'>,
): Promise<void> {
  if (stream !== null) await enqueueChanged(tx, [{ event: 'agent_run.updated', id, stream }]);
}
