import { presentRun } from '../../conversations/run-present.ts';
import type { Db } from '../../db/handle.ts';
import { statement } from '../../db/statement.ts';
import type {
  AgentRun,
  AgentRunAction,
  AgentRunStep,
  RunInclude,
} from '../../protocol/resources/agent-run.ts';
import type { ActionRow, RunRow, StepRow } from '../rows.ts';

/** Returns each row's resource with the requested lists: one query a list, whatever the number of runs. */
export async function expandRuns(
  db: Db,
  rows: readonly RunRow[],
  include: readonly RunInclude[],
): Promise<ReadonlyMap<RunRow, AgentRun>> {
  const ids = rows.map(({ id }) => id);
  const steps = include.includes('steps') ? await db.query(READ_STEPS, ids) : null;
  const actions = include.includes('actions') ? await db.query(READ_ACTIONS, ids) : null;
  const stepsOf = steps && Map.groupBy(steps, ({ run_id }) => run_id);
  const actionsOf = actions && Map.groupBy(actions, ({ run_id }) => run_id);
  return new Map(
    rows.map((row) => [
      row,
      presentRun(row, {
        steps: stepsOf && (stepsOf.get(row.id) ?? []).map(presentStep),
        actions: actionsOf && (actionsOf.get(row.id) ?? []).map(presentAction),
      }),
    ]),
  );
}

function presentStep(row: StepRow): AgentRunStep {
  return {
    id: row.id,
    object: 'agent_run_step',
    position: row.position,
    status: row.status,
    provider: row.provider,
    model: row.model,
    failovers: [...row.failovers],
    text: row.text,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    cost_usd: row.cost_usd,
    error_message: row.error_message,
    started_at: row.started_at,
    completed_at: row.completed_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

function presentAction(row: ActionRow): AgentRunAction {
  return {
    id: row.id,
    object: 'agent_run_action',
    step_id: row.step_id,
    tool: row.tool,
    category: row.category,
    status: row.status,
    // Models leave the arguments of a tool without parameters empty (tools/toolbox.ts).
    arguments: row.arguments.trim() === '' ? {} : JSON.parse(row.arguments),
    result: row.result,
    error_message: row.error_message,
    reviewed_by: row.reviewed_by,
    reviewed_at: row.reviewed_at,
    reason: row.reason,
    expires_at: row.expires_at,
    started_at: row.started_at,
    completed_at: row.completed_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

const READ_STEPS = statement<[ids: readonly string[]], StepRow>({
  name: 'read-agent-run-steps',
  text: 'SELECT * FROM agent_run_steps WHERE run_id = ANY($1) ORDER BY run_id, position',
});

const READ_ACTIONS = statement<[ids: readonly string[]], ActionRow>({
  name: 'read-agent-run-actions',
  text: `
    SELECT a.* FROM agent_run_actions a JOIN agent_run_steps s ON s.id = a.step_id
    WHERE a.run_id = ANY($1) ORDER BY a.run_id, s.position, a.position`,
});
