import { newId } from '@parley/protocol/ids.ts';
import type { Failover, IncompleteReason } from '@parley/protocol/resources/agent-run.ts';
import { sql } from 'kysely';
import { type ActionRow, readActions, readSteps, type StepRow } from '../../../../core/resources/run.ts';
import type { Db, Tx } from '../../../../platform/db/connection/handle.ts';
import type { Completion } from '../../models/chain.ts';

/** The record of a run so far: its turns in order, and their calls. */
export interface RunRecord {
  readonly steps: StepRow[];
  readonly actions: ActionRow[];
}

export async function readRecord(db: Db, runId: string): Promise<RunRecord> {
  const steps = await readSteps(db, [runId]);
  return { steps, actions: steps.length === 0 ? [] : await readActions(db, [runId]) };
}

/** Inserts a turn that begins. */
export function insertStep(db: Db, runId: string, position: number): Promise<StepRow> {
  return db.kysely
    .insertInto('agent_run_steps')
    .values({ id: newId('agentStep'), run_id: runId, position })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Stores the model's answer for a turn. */
export function completeStep(tx: Tx, { id }: StepRow, completion: Completion): Promise<StepRow> {
  return tx.kysely
    .updateTable('agent_run_steps')
    .set({
      status: 'completed',
      provider: completion.provider,
      model: completion.model,
      failovers: JSON.stringify(completion.failovers),
      text: completion.text,
      calls: JSON.stringify(completion.calls),
      incomplete: completion.reason === 'length' ? 'length' : null,
      input_tokens: completion.inputTokens,
      output_tokens: completion.outputTokens,
      cost_usd: completion.costUsd,
      ...ENDED,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** A turn that was not finished; `text` is the part that had arrived. */
export interface FailedStep {
  readonly text: string;
  readonly failovers: readonly Failover[];
  readonly error: string;
  readonly incomplete: IncompleteReason;
}

export async function failStep(
  tx: Tx,
  { id }: StepRow,
  { text, failovers, error, incomplete }: FailedStep,
): Promise<void> {
  await tx.kysely
    .updateTable('agent_run_steps')
    .set({
      status: 'failed',
      text,
      failovers: JSON.stringify(failovers),
      error_message: error,
      incomplete,
      ...ENDED,
    })
    .where('id', '=', id)
    .execute();
}

/** Ends the turn that was under way when the run ended. */
export async function failOpenSteps(tx: Tx, runId: string): Promise<void> {
  await tx.kysely
    .updateTable('agent_run_steps')
    .set({ status: 'failed', incomplete: 'error', ...ENDED })
    .where('run_id', '=', runId)
    .where('status', '=', 'running')
    .execute();
}

const ENDED = {
  completed_at: sql<string>`clock_timestamp()`,
  updated_at: sql<string>`later_than(updated_at)`,
};
