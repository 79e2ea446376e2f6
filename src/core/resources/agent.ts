import type { Selectable } from 'kysely';
import { notFound } from '../../contract/protocol/errors.ts';
import type {
  AgentDefinition,
  AgentDefinitionConfig,
  AgentDefinitionTool,
  AgentInclude,
  TriggerConfig,
} from '../../contract/protocol/resources/agent-definition.ts';
import type { AvailableTool, BuiltInTool } from '../../contract/protocol/resources/available-tool.ts';
import type { Role } from '../../contract/protocol/resources/role.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import type { AttachedTool, Schema } from '../../platform/db/tables/schema.ts';
import { readActors } from './actor.ts';
import { readRoles } from './role.ts';

export type AgentRow = Selectable<Schema['agent_definitions']>;

/** The part of the ToolCatalogue (features/agents/tools/catalogue.ts) that the resource needs. */
export interface BuiltInTools {
  builtIn(tool: BuiltInTool): AvailableTool;
}

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
 * Returns each row's resource with the requested expansions. Images take one query, and so do roles
 * if requested. Requesting `tools`, a part of `config`, includes it. Without a catalogue the
 * resources look as in the answer of Create Agent (docs/contract.md#creating-an-agent):
 * `trigger_config` and each entry's `tool` are null.
 */
export async function expandAgents(
  db: Db,
  rows: readonly AgentRow[],
  include: readonly AgentInclude[],
  catalogue: BuiltInTools | null,
): Promise<ReadonlyMap<AgentRow, AgentDefinition>> {
  const roleIds = include.includes('role') ? [...new Set(rows.flatMap(({ role_id }) => role_id ?? []))] : [];
  const roles = await readRoles(db, roleIds);
  const actorIds = rows.map(({ actor_id }) => actor_id);
  const actors = await readActors(db, actorIds);
  const configOf = (row: AgentRow): AgentDefinitionConfig | null => {
    if (!include.includes('config') && !include.includes('tools')) return null;
    return presentConfig(row, {
      trigger_config: catalogue && presentTrigger(row),
      tools: include.includes('tools')
        ? row.tools.map((attached) => presentTool(attached, catalogue?.builtIn(attached.tool) ?? null))
        : null,
    });
  };
  return new Map(
    rows.map((row) => [
      row,
      presentAgent(row, {
        role: roles.get(row.role_id ?? '') ?? null,
        config: configOf(row),
        avatarUrl: actors.get(row.actor_id)?.avatar_url ?? null,
      }),
    ]),
  );
}

/** Returns a definition (docs/contract.md#agents) with the requested expansions. */
function presentAgent(
  row: AgentRow,
  expansions: {
    readonly role: Role | null;
    readonly config: AgentDefinitionConfig | null;
    readonly avatarUrl: string | null;
  },
): AgentDefinition {
  return {
    id: row.id,
    object: 'agent_definition',
    actor_id: row.actor_id,
    definition_type: row.definition_type,
    category_code: row.category_code,
    trigger_type: row.trigger_type,
    name: row.name,
    slug: row.slug,
    description: row.description,
    editability: row.definition_type === 'system' ? 'read_only' : 'editable',
    status: row.status,
    role: expansions.role,
    config: expansions.config,
    created_at: row.created_at,
    updated_at: row.updated_at,
    avatar_url: expansions.avatarUrl,
    role_id: row.role_id,
  };
}

function presentConfig(
  row: AgentRow,
  expansions: {
    readonly trigger_config: TriggerConfig | null;
    readonly tools: AgentDefinitionTool[] | null;
  },
): AgentDefinitionConfig {
  return {
    object: 'agent_definition_config',
    system_prompt: row.system_prompt,
    tier: row.tier,
    temperature: row.temperature,
    trigger_config: expansions.trigger_config,
    endpoint_tool_slugs: row.endpoint_tool_slugs,
    endpoint_tool_review: row.endpoint_tool_review,
    tools: expansions.tools,
  };
}

/** Returns null for agents that are started only manually or by a chat. */
function presentTrigger({ trigger_config: trigger }: AgentRow): TriggerConfig | null {
  if (trigger === null) return null;
  return {
    cron_schedule: trigger.cron_schedule ?? null,
    timezone: trigger.timezone ?? null,
    event_filters: trigger.event_filters === undefined ? null : [...trigger.event_filters],
  };
}

/** Returns a tool that is attached to an agent (docs/contract.md#tools). */
function presentTool(attached: AttachedTool, tool: AvailableTool | null): AgentDefinitionTool {
  return {
    id: attached.id,
    object: 'agent_definition_tool',
    tool,
    review_requirement: attached.review_requirement,
    config: attached.config,
    sort_order: attached.sort_order,
    created_at: attached.created_at,
    updated_at: attached.updated_at,
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
