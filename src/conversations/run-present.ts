import type { Selectable } from 'kysely';
import type { Db } from '../db/handle.ts';
import type { Schema } from '../db/schema.ts';
import { statement } from '../db/statement.ts';
import type { AgentRun, AgentRunAction, AgentRunStep } from '../protocol/resources/agent-run.ts';

/** The columns of a run that its resource shows. */
export type ShownRun = Pick<Selectable<Schema['agent_runs']>, (typeof RUN_COLUMNS)[number]>;

export const RUN_COLUMNS = [
  'id',
  'trigger_type',
  'status',
  'input',
  'output',
  'error_message',
  'started_at',
  'completed_at',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof Schema['agent_runs'])[];

/** Returns a run (docs/contract.md#runs), with its lists if a run endpoint was asked for them. */
export function presentRun(
  row: ShownRun,
  lists: { readonly actions?: AgentRunAction[] | null; readonly steps?: AgentRunStep[] | null } = {},
): AgentRun {
  return {
    id: row.id,
    object: 'agent_run',
    trigger_type: row.trigger_type,
    status: row.status,
    definition: null,
    input: row.input,
    output: row.status === 'completed' ? row.output : null,
    error_message: row.error_message,
    triggered_by: null,
    started_at: row.started_at,
    completed_at: row.completed_at,
    duration_ms: durationOf(row),
    actions: lists.actions ?? null,
    steps: lists.steps ?? null,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Returns the runs that messages show as their authors, by their ids. */
export async function readRuns(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, AgentRun>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query(READ_RUNS, ids);
  return new Map(rows.map((row) => [row.id, presentRun(row)]));
}

/** Null until the run has ended, and if it ended before it began. */
function durationOf({ started_at, completed_at }: ShownRun): number | null {
  if (started_at === null || completed_at === null) return null;
  return Date.parse(completed_at) - Date.parse(started_at);
}

const READ_RUNS = statement<[ids: readonly string[]], ShownRun>({
  name: 'read-runs-of-messages',
  text: `SELECT ${RUN_COLUMNS.join(', ')} FROM agent_runs WHERE id = ANY($1)`,
});
