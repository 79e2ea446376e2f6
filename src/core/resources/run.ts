import { parseExact } from '@parley/protocol/json/exact-json.ts';
import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import {
  AgentRun,
  AgentRunAction,
  AgentRunStep,
  type RunInclude,
} from '@parley/protocol/resources/agent-run.ts';
import type { Selectable } from 'kysely';
import type { Principal } from '../../api/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { readActors } from './actor.ts';
import { expandAgents, readAgentsById } from './agent.ts';
import { acquainted } from './known-users.ts';
import { presentAs } from './present-as.ts';

export type RunRow = Selectable<Schema['agent_runs']>;

export type StepRow = Selectable<Schema['agent_run_steps']>;

export type ActionRow = Selectable<Schema['agent_run_actions']>;

/** Returns the runs that messages show as their authors, by their ids. */
export async function readRuns(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, AgentRun>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query(READ_RUNS, ids);
  return new Map(rows.map((row) => [row.id, presentRun(row)]));
}

/** Returns a run (docs/contract.md#runs). */
export function presentRun(row: RunRow, expansions: Partial<Pick<AgentRun, RunInclude>> = {}): AgentRun {
  return presentAs(AgentRun, {
    ...row,
    triggered_by_id: row.triggered_by,
    output: row.status === 'completed' ? row.output : null,
    duration_ms: durationOf(row),
    definition: expansions.definition ?? null,
    triggered_by: expansions.triggered_by ?? null,
    actions: expansions.actions ?? null,
    steps: expansions.steps ?? null,
  });
}

/** Returns null until the run has ended, and if it ended before it began. */
function durationOf({ started_at, completed_at }: RunRow): number | null {
  if (started_at === null || completed_at === null) return null;
  return Date.parse(completed_at) - Date.parse(started_at);
}

/** Returns each row's resource with the requested expansions: one query a kind for all runs. */
export async function expandRuns(
  db: Db,
  reader: Principal,
  rows: readonly RunRow[],
  include: readonly RunInclude[],
): Promise<ReadonlyMap<RunRow, AgentRun>> {
  const ids = rows.map(({ id }) => id);
  const steps = include.includes('steps') ? await readSteps(db, ids) : null;
  const actions = include.includes('actions') ? await readActions(db, ids) : null;
  const definitions = include.includes('definition') ? await readDefinitions(db, rows) : NONE;
  const starters = include.includes('triggered_by')
    ? await readActors(
        db,
        [...new Set(rows.flatMap(({ triggered_by }) => triggered_by ?? []))],
        acquainted(reader),
      )
    : NONE;
  const stepsOf = steps && Map.groupBy(steps, ({ run_id }) => run_id);
  const actionsOf = actions && Map.groupBy(actions, ({ run_id }) => run_id);
  return new Map(
    rows.map((row) => [
      row,
      presentRun(row, {
        definition: definitions.get(row.agent_id) ?? null,
        triggered_by: starters.get(row.triggered_by ?? '') ?? null,
        steps: stepsOf && (stepsOf.get(row.id) ?? []).map(presentStep),
        actions: actionsOf && (actionsOf.get(row.id) ?? []).map(presentAction),
      }),
    ]),
  );
}

/** Returns the turns of these runs, in the order of each run. */
export function readSteps(db: Db, runIds: readonly string[]): Promise<StepRow[]> {
  return db.query(READ_STEPS, runIds);
}

/** Returns the calls of these runs, in the order of each run's turns. */
export function readActions(db: Db, runIds: readonly string[]): Promise<ActionRow[]> {
  return db.query(READ_ACTIONS, runIds);
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();

/**
 * Returns the agents of these runs, without configurations, by their ids; deleted ones are left
 * out.
 */
async function readDefinitions(
  db: Db,
  runs: readonly RunRow[],
): Promise<ReadonlyMap<string, AgentDefinition>> {
  const rows = await readAgentsById(db, [...new Set(runs.map(({ agent_id }) => agent_id))]);
  const shown = await expandAgents(db, rows, [], null);
  return new Map([...shown.values()].map((agent) => [agent.id, agent]));
}

function presentStep(row: StepRow): AgentRunStep {
  return presentAs(AgentRunStep, { ...row, failovers: [...row.failovers] });
}

function presentAction(row: ActionRow): AgentRunAction {
  return presentAs(AgentRunAction, {
    ...row,
    // Models leave the arguments of a tool without parameters empty (tools/toolbox.ts).
    arguments: row.arguments.trim() === '' ? {} : parseExact(row.arguments),
  });
}

const READ_RUNS = statement<[ids: readonly string[]], RunRow>('read-runs-of-messages')`
    SELECT * FROM agent_runs WHERE id = ANY($1)`;

const READ_STEPS = statement<[ids: readonly string[]], StepRow>('read-agent-run-steps')`
    SELECT * FROM agent_run_steps WHERE run_id = ANY($1) ORDER BY run_id, position`;

const READ_ACTIONS = statement<[ids: readonly string[]], ActionRow>('read-agent-run-actions')`
    SELECT a.* FROM agent_run_actions a JOIN agent_run_steps s ON s.id = a.step_id
    WHERE a.run_id = ANY($1) ORDER BY a.run_id, s.position, a.position`;
