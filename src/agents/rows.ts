/** The rows of agents and their runs, and the reads of an agent by its id: all that every part of this folder needs. */

import type { Selectable } from 'kysely';
import type { Db, Tx } from '../db/handle.ts';
import type { Schema } from '../db/schema.ts';
import { type ApiError, notFound } from '../protocol/errors.ts';

/** An agent as it stands in Postgres. */
export type AgentRow = Selectable<Schema['agent_definitions']>;

export const AGENT_COLUMNS = [
  'id',
  'account_id',
  'actor_id',
  'definition_type',
  'category_code',
  'trigger_type',
  'name',
  'slug',
  'description',
  'status',
  'role_id',
  'system_prompt',
  'tier',
  'temperature',
  'trigger_config',
  'endpoint_tool_slugs',
  'endpoint_tool_review',
  'tools',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof AgentRow)[];

/** A run as it stands in Postgres. */
export type RunRow = Selectable<Schema['agent_runs']>;
export type StepRow = Selectable<Schema['agent_run_steps']>;
export type ActionRow = Selectable<Schema['agent_run_actions']>;

/** An agent of this account, held until the end of `tx`. Throws `resource_not_found` (param id). */
export async function lockAgent(tx: Tx, accountId: string, id: string): Promise<AgentRow> {
  const row = await ofAccount(tx, accountId, id).forUpdate().executeTakeFirst();
  if (row === undefined) throw agentNotFound();
  return row;
}

/**
 * An agent of this account, which nothing changes until the end of `tx`; hundreds may hold it at once, and none waits
 * for another. Throws `resource_not_found` (param id).
 */
export async function holdAgent(tx: Tx, accountId: string, id: string): Promise<AgentRow> {
  const row = await ofAccount(tx, accountId, id).forShare().executeTakeFirst();
  if (row === undefined) throw agentNotFound();
  return row;
}

/** An agent of this account. Throws `resource_not_found` (param id). */
export async function findAgent(db: Db, accountId: string, id: string): Promise<AgentRow> {
  const row = await ofAccount(db, accountId, id).executeTakeFirst();
  if (row === undefined) throw agentNotFound();
  return row;
}

/** An agent of any account; undefined where it was deleted. */
export function readAgent(db: Db, id: string): Promise<AgentRow | undefined> {
  return db.kysely.selectFrom('agent_definitions').selectAll().where('id', '=', id).executeTakeFirst();
}

function ofAccount(db: Db, accountId: string, id: string) {
  return db.kysely
    .selectFrom('agent_definitions')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId);
}

function agentNotFound(): ApiError {
  return notFound('agent', 'id');
}
