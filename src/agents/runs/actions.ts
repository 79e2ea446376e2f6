import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import type { Tx } from '../../db/handle.ts';
import { newId } from '../../protocol/ids.ts';
import { ACTION_MOVES, APPROVAL_MS } from '../../protocol/states/agent-run-states.ts';
import { transition } from '../../protocol/states/transitions.ts';
import type { ActionRow, StepRow } from '../../resources/run.ts';
import type { RunTool } from '../tools/tool.ts';

/** A call of a turn that can be executed: its tool belongs to the agent, its arguments fit the tool. */
export interface ReadyCall {
  readonly tool: RunTool;
  /** Position in the step's `calls`. */
  readonly position: number;
  readonly callId: string;
  /** JSON text, byte for byte what a person sees and what is executed. */
  readonly arguments: string;
}

/**
 * Inserts the calls of a turn, in the transaction that ends the turn. Calls that need review wait for it, the others
 * are allowed.
 */
export async function insertActions(
  tx: Tx,
  step: StepRow,
  calls: readonly ReadyCall[],
): Promise<ActionRow[]> {
  if (calls.length === 0) return [];
  return tx.kysely
    .insertInto('agent_run_actions')
    .values(
      calls.map(({ tool, position, callId, arguments: text }) => ({
        id: newId('agentAction'),
        run_id: step.run_id,
        step_id: step.id,
        position,
        call_id: callId,
        tool: tool.slug,
        category: tool.category,
        status: tool.needsReview ? ACTION_MOVES.propose.to : ACTION_MOVES.allow.to,
        arguments: text,
        expires_at: tool.needsReview
          ? sql<string>`clock_timestamp() + ${sql.lit(`${APPROVAL_MS} ms`)}::interval`
          : null,
      })),
    )
    .returningAll()
    .execute();
}

/** Marks the action as begun. Rejects if it was begun before. `tx` holds the run's lock. */
export function beginAction(tx: Tx, { id }: Pick<ActionRow, 'id'>): Promise<ActionRow> {
  return tx.kysely
    .updateTable('agent_run_actions')
    .set({
      status: ACTION_MOVES.execute.to,
      started_at: sql<string>`clock_timestamp()`,
      updated_at: LATER,
    })
    .where('id', '=', id)
    .where('status', 'in', [...ACTION_MOVES.execute.from])
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The outcome of an action: a JSON value, or an error. */
export type ActionOutcome =
  | { readonly move: 'complete'; readonly result: unknown }
  | { readonly move: 'fail'; readonly error: string };

export function endAction(database: Database, action: ActionRow, outcome: ActionOutcome): Promise<ActionRow> {
  return database.kysely
    .updateTable('agent_run_actions')
    .set({
      status: transition(ACTION_MOVES, outcome.move, action.status),
      ...(outcome.move === 'complete'
        ? { result: JSON.stringify(outcome.result ?? null) }
        : { error_message: outcome.error }),
      completed_at: sql<string>`clock_timestamp()`,
      updated_at: LATER,
    })
    .where('id', '=', action.id)
    .where('status', '=', action.status)
    .returningAll()
    .executeTakeFirstOrThrow();
}

const LATER = sql<string>`later_than(updated_at)`;
