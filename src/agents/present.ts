import type { AttachedTool } from '../db/schema.ts';
import type {
  AgentDefinition,
  AgentDefinitionConfig,
  AgentDefinitionTool,
  TriggerConfig,
} from '../protocol/resources/agent-definition.ts';
import type { AvailableTool } from '../protocol/resources/available-tool.ts';
import type { Role } from '../protocol/resources/role.ts';
import type { AgentRow } from './rows.ts';

/** Returns a definition (docs/contract.md#agents) with the requested expansions. */
export function presentAgent(
  row: AgentRow,
  expansions: { readonly role: Role | null; readonly config: AgentDefinitionConfig | null },
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
  };
}

/** Returns the configuration of an agent (docs/contract.md#agents). */
export function presentConfig(
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

/** Returns null for agents that are started only by hand or by a chat. */
export function presentTrigger({ trigger_config: trigger }: AgentRow): TriggerConfig | null {
  if (trigger === null) return null;
  return {
    cron_schedule: trigger.cron_schedule ?? null,
    timezone: trigger.timezone ?? null,
    event_filters: trigger.event_filters === undefined ? null : [...trigger.event_filters],
  };
}

/** Returns a tool that is attached to an agent (docs/contract.md#tools). */
export function presentTool(attached: AttachedTool, tool: AvailableTool | null): AgentDefinitionTool {
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
