import { newId } from '@parley/protocol/ids.ts';
import { ACTION_MOVES, APPROVAL_MS } from '@parley/protocol/states/agent-run-states.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import { sql } from 'kysely';
import type { ActionRow, StepRow } from '../../../../core/resources/run.ts';
import type { Db, Tx } from '../../../../platform/db/connection/handle.ts';

/** An executable call of a turn: its tool belongs to the agent, and its arguments fit the tool. */
export interface ReadyCall
  extends Pick<ActionRow, 'position' | 'call_id' | 'tool' | 'category' | 'arguments'> {
  readonly needsReview: boolean;
}

/** Inserts the calls of a turn as it ends. Calls that need review wait; the others are allowed. */
export async function insertActions(
  tx: Tx,
  step: StepRow,
  calls: readonly ReadyCall[],
): Promise<ActionRow[]> {
  if (calls.length === 0) return [];
  return tx.kysely
    .insertInto('agent_run_actions')
    .values(
      calls.map(({ needsReview, ...call }) => ({
        ...call,
        id: newId('agentAction'),
        run_id: step.run_id,
        step_id: step.id,
        status: needsReview ? ACTION_MOVES.propose.to : ACTION_MOVES.allow.to,
        expires_at: needsReview
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

export function endAction(db: Db, action: ActionRow, outcome: ActionOutcome): Promise<ActionRow> {
  return db.kysely
    .updateTable('agent_run_actions')
    .set({
      status: transition(ACTION_MOVES, outcome.move, action.status),
      ...(outcome.move === 'complete'
        ? { result: JSON.stringify(outcome.result ?? null) }
        : { error_message: outcome.error }),
      awaits: null,
      completed_at: sql<string>`clock_timestamp()`,
      updated_at: LATER,
    })
    .where('id', '=', action.id)
    .where('status', '=', action.status)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Has a begun action wait for the question of a message. `tx` holds the run's lock. */
export function awaitMessage(tx: Tx, { id }: ActionRow, messageId: string): Promise<ActionRow> {
  return tx.kysely
    .updateTable('agent_run_actions')
    .set({ awaits: messageId, updated_at: LATER })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** An action of a run that waits for people. */
export type WaitingAction = Pick<ActionRow, 'id' | 'tool' | 'status' | 'arguments'> & {
  readonly is_overdue: boolean | null;
};

/** Returns all actions of a run. The rows cannot change while their run is locked and waits. */
export function readWaitingActions(tx: Tx, runId: string): Promise<WaitingAction[]> {
  return tx.kysely
    .selectFrom('agent_run_actions')
    .select([
      'id',
      'tool',
      'status',
      'arguments',
      sql<boolean | null>`expires_at <= clock_timestamp()`.as('is_overdue'),
    ])
    .where('run_id', '=', runId)
    .execute();
}

/** Stores a person's decision. `tx` holds the run's lock. */
export async function decideAction(
  tx: Tx,
  id: string,
  review: Pick<ActionRow, 'status' | 'reviewed_by' | 'reason'>,
): Promise<void> {
  await tx.kysely
    .updateTable('agent_run_actions')
    .set({ ...review, reviewed_at: sql<string>`clock_timestamp()`, updated_at: LATER })
    .where('id', '=', id)
    .execute();
}

/** Ends a run's open actions: waiting ones never execute; the result of begun ones is unknown. */
export async function endOpenActions(tx: Tx, runId: string): Promise<void> {
  await tx.kysely
    .updateTable('agent_run_actions')
    .set({ status: 'cancelled', updated_at: LATER })
    .where('run_id', '=', runId)
    .where('status', 'in', ['pending_review', 'approved'])
    .execute();
  await tx.kysely
    .updateTable('agent_run_actions')
    .set({
      status: 'failed',
      error_message: 'The run ended before the result of the action was known.',
      awaits: null,
      completed_at: sql<string>`clock_timestamp()`,
      updated_at: LATER,
    })
    .where('run_id', '=', runId)
    .where('status', '=', 'executing')
    .execute();
}

/** SQL for the time of a change. */
const LATER = sql<string>`later_than(updated_at)`;
