import { notFound } from '@parley/protocol/errors/errors.ts';
import {
  AgentDefinition,
  AgentDefinitionConfig,
  AgentDefinitionTool,
  type AgentInclude,
  type TriggerConfig,
} from '@parley/protocol/resources/agent-definition.ts';
import type { AvailableTool, BuiltInTool } from '@parley/protocol/resources/available-tool.ts';
import type { Selectable } from 'kysely';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { AttachedTool } from '../tables/agent-tables.ts';
import type { ActorRow } from './actor.ts';
import { presentAs } from './present-as.ts';
import { readRolesOf } from './role.ts';

export type AgentRow = Selectable<Schema['agent_definitions']>;

/** The part of the ToolCatalogue (features/agents/tools/catalogue.ts) that the resource needs. */
export interface BuiltInTools {
  builtIn(tool: BuiltInTool): AvailableTool;
}

/** Returns an agent of any account, or undefined if it was deleted. */
export function readAgent(db: Db, id: string): Promise<AgentRow | undefined> {
  return db.kysely.selectFrom('agent_definitions').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Returns agents of any account in no particular order, without deleted ones. */
export async function readAgentsById(db: Db, ids: readonly string[]): Promise<AgentRow[]> {
  if (ids.length === 0) return [];
  return db.kysely.selectFrom('agent_definitions').selectAll().where('id', 'in', ids).execute();
}

/** Throws ApiError `resource_not_found` (param id). */
export async function findAgent(db: Db, accountId: string, id: string): Promise<AgentRow> {
  return ofAccount(db, accountId, id).executeTakeFirstOrThrow(agentNotFound);
}

/**
 * Returns an agent of this account with a shared lock: it cannot change until `tx` ends, and
 * hundreds of transactions can hold the lock at once. Throws `resource_not_found` (param id).
 */
export async function holdAgent(tx: Tx, accountId: string, id: string): Promise<AgentRow> {
  return ofAccount(tx, accountId, id).forShare().executeTakeFirstOrThrow(agentNotFound);
}

/** Returns an agent, locked until `tx` ends. Throws `resource_not_found` (param id). */
export async function lockAgent(tx: Tx, accountId: string, id: string): Promise<AgentRow> {
  return ofAccount(tx, accountId, id).forUpdate().executeTakeFirstOrThrow(agentNotFound);
}

/**
 * Returns each row's resource (docs/contract.md#agents) with the requested expansions. Their actors
 * take one query, and so do roles if requested. Requesting `tools`, a part of `config`, includes
 * it. Without a catalogue the resources look as in the answer of Create Agent
 * (docs/contract.md#creating-an-agent): `trigger_config` and each entry's `tool` are null.
 */
export async function expandAgents(
  db: Db,
  rows: readonly AgentRow[],
  include: readonly AgentInclude[],
  catalogue: BuiltInTools | null,
): Promise<ReadonlyMap<AgentRow, AgentDefinition>> {
  const roles = await readRolesOf(db, rows, include);
  const actorIds = rows.map(({ actor_id }) => actor_id);
  const actors = await readActorsOfAgents(db, actorIds);
  const configOf = (row: AgentRow) => {
    if (!include.includes('config') && !include.includes('tools')) return null;
    const toolOf = (attached: AttachedTool) => catalogue?.builtIn(attached.tool) ?? null;
    return presentAs(AgentDefinitionConfig, {
      ...row,
      trigger_config: catalogue && presentTrigger(row),
      tools: include.includes('tools')
        ? row.tools.map((attached) => presentAs(AgentDefinitionTool, { ...attached, tool: toolOf(attached) }))
        : null,
    });
  };
  const present = (row: AgentRow) =>
    presentAs(AgentDefinition, {
      ...row,
      editability: row.definition_type === 'system' ? 'read_only' : 'editable',
      role: roles.get(row.role_id ?? '') ?? null,
      config: configOf(row),
      avatar_url: actors.get(row.actor_id)?.avatar_url ?? null,
      external_id: actors.get(row.actor_id)?.external_id ?? null,
    });
  return new Map(rows.map((row) => [row, present(row)]));
}

async function readActorsOfAgents(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, OfActor>> {
  const rows = await db.query(READ_ACTORS_OF_AGENTS, ids);
  return new Map(rows.map((row) => [row.id, row]));
}

type OfActor = Pick<ActorRow, 'id' | 'avatar_url' | 'external_id'>;

const READ_ACTORS_OF_AGENTS = statement<[ids: readonly string[]], OfActor>('read-actors-of-agents')`
    SELECT id, avatar_url, external_id FROM actors WHERE id = ANY($1)`;

/** Returns null for agents that are started only manually or by a chat. */
function presentTrigger({ trigger_config: trigger }: AgentRow): TriggerConfig | null {
  if (trigger === null) return null;
  return {
    cron_schedule: trigger.cron_schedule ?? null,
    timezone: trigger.timezone ?? null,
    event_filters: trigger.event_filters === undefined ? null : [...trigger.event_filters],
  };
}

function ofAccount(db: Db, accountId: string, id: string) {
  return db.kysely
    .selectFrom('agent_definitions')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId);
}

const agentNotFound = () => notFound('agent', 'id');
