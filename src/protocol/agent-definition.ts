import { type Static, Type } from 'typebox';
import { AvailableTool, BUILT_IN_TOOLS } from './available-tool.ts';
import { Role } from './role.ts';
import { Body, Id, Name, Nullable, OneOf, Timestamp } from './schema.ts';
import { TRIGGER_EVENTS } from './trigger-event.ts';

export const DEFINITION_TYPES = ['system', 'custom'] as const;
export const TRIGGER_TYPES = ['scheduled', 'event', 'manual', 'chat'] as const;
export const AGENT_STATUSES = ['active', 'inactive'] as const;
export const TIERS = ['frontier', 'high', 'balanced', 'cheap', 'legacy'] as const;
export const REVIEW_REQUIREMENTS = ['not_required', 'required'] as const;

export type DefinitionType = (typeof DEFINITION_TYPES)[number];
export type TriggerType = (typeof TRIGGER_TYPES)[number];
export type AgentStatus = (typeof AGENT_STATUSES)[number];
export type Tier = (typeof TIERS)[number];
export type ReviewRequirement = (typeof REVIEW_REQUIREMENTS)[number];

/** Sizes of an agent (design.md section 7). */
export const AGENT_LIMITS = {
  slugCharacters: 64,
  descriptionCharacters: 2_000,
  categoryCharacters: 64,
  promptCharacters: 100_000,
  endpointTools: 200,
  toolConfigCharacters: 10_000,
} as const;

/** Custom agents that an account may have, by its plan (design.md section 7, plan limits). */
export const MOST_AGENTS = { free: 5, pro: 100 } as const;

/** Grants every endpoint tool; stands alone (specification, Create Agent). */
export const EVERY_ENDPOINT_TOOL = '*';

/** What `include[]` may name wherever agents are shown. */
export const AGENT_INCLUDES = ['config', 'tools', 'role'] as const;
export type AgentInclude = (typeof AGENT_INCLUDES)[number];

/** What starts it; fields of other trigger types are null. Create Agent shows null in its place. */
export const TriggerConfig = Type.Object({
  cron_schedule: Nullable(Type.String()),
  timezone: Nullable(Type.String()),
  event_filters: Nullable(Type.Array(Type.String())),
});
export type TriggerConfig = Static<typeof TriggerConfig>;

/** An attached built-in tool (specification, agent_definition_tool). Create Agent shows `tool` null. */
export const AgentDefinitionTool = Type.Object({
  id: Type.String(),
  object: Type.Literal('agent_definition_tool'),
  tool: Nullable(AvailableTool),
  review_requirement: OneOf(REVIEW_REQUIREMENTS),
  config: Type.Unknown(),
  sort_order: Type.Integer(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type AgentDefinitionTool = Static<typeof AgentDefinitionTool>;

/** Specification, agent_definition_config. `tier` null: chosen from the trigger when it runs. */
export const AgentDefinitionConfig = Type.Object({
  object: Type.Literal('agent_definition_config'),
  system_prompt: Nullable(Type.String()),
  tier: Nullable(OneOf(TIERS)),
  temperature: Nullable(Type.Number({ minimum: 0, maximum: 1 })),
  trigger_config: Nullable(TriggerConfig),
  endpoint_tool_slugs: Type.Array(Type.String()),
  endpoint_tool_review: Type.Record(Type.String(), Type.Boolean()),
  tools: Nullable(Type.Array(AgentDefinitionTool)),
});
export type AgentDefinitionConfig = Static<typeof AgentDefinitionConfig>;

/** Specification, agent_definition. */
export const AgentDefinition = Type.Object({
  id: Type.String(),
  object: Type.Literal('agent_definition'),
  definition_type: OneOf(DEFINITION_TYPES),
  category_code: Type.String(),
  trigger_type: OneOf(TRIGGER_TYPES),
  name: Type.String(),
  slug: Type.String(),
  description: Nullable(Type.String()),
  editability: OneOf(['editable', 'read_only']),
  status: OneOf(AGENT_STATUSES),
  role: Nullable(Role),
  config: Nullable(AgentDefinitionConfig),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type AgentDefinition = Static<typeof AgentDefinition>;

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Description = Nullable(Type.String({ maxLength: AGENT_LIMITS.descriptionCharacters }));
const CategoryCode = Text(AGENT_LIMITS.categoryCharacters);
const RoleId = Nullable(Id);

const TriggerConfigInput = Body({
  cron_schedule: Type.Optional(Type.String({ maxLength: 200 })),
  timezone: Type.Optional(Type.String({ maxLength: 64 })),
  event_filters: Type.Optional(
    Type.Array(OneOf(TRIGGER_EVENTS), { minItems: 1, maxItems: TRIGGER_EVENTS.length }),
  ),
});
export type TriggerConfigInput = Static<typeof TriggerConfigInput>;

const ToolInput = Body({
  tool: OneOf(BUILT_IN_TOOLS),
  config_json: Type.Optional(Type.String({ maxLength: AGENT_LIMITS.toolConfigCharacters })),
  sort_order: Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000 })),
  require_review: Type.Optional(Type.Boolean()),
});
export type ToolInput = Static<typeof ToolInput>;

const AgentConfigInput = Body({
  system_prompt: Type.Optional(Nullable(Type.String({ maxLength: AGENT_LIMITS.promptCharacters }))),
  tier: Type.Optional(Nullable(OneOf(TIERS))),
  temperature: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  trigger_config: Type.Optional(TriggerConfigInput),
  endpoint_tool_slugs: Type.Optional(
    Type.Array(Type.String({ maxLength: 100 }), { maxItems: AGENT_LIMITS.endpointTools }),
  ),
  endpoint_tool_review: Type.Optional(
    Type.Record(Type.String(), Type.Boolean(), {
      maxProperties: AGENT_LIMITS.endpointTools,
      propertyNames: { maxLength: 100 },
    }),
  ),
  tools: Type.Optional(Type.Array(ToolInput, { maxItems: BUILT_IN_TOOLS.length })),
});
export type AgentConfigInput = Static<typeof AgentConfigInput>;

/**
 * Body of Create Agent (specification, endpoint 4). What the trigger type demands of `config.trigger_config`
 * is checked by agents/trigger-rules.ts, the tools by agents/tool-rules.ts.
 */
export const CreateAgentBody = Body({
  name: Name,
  slug: Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: AGENT_LIMITS.slugCharacters }),
  description: Type.Optional(Description),
  category_code: CategoryCode,
  trigger_type: OneOf(TRIGGER_TYPES),
  config: AgentConfigInput,
  role_id: Type.Optional(RoleId),
});
export type CreateAgentBody = Static<typeof CreateAgentBody>;

/** What is left out stays; `description`, `role_id` and the config's plain fields are cleared with null. */
export const UpdateAgentBody = Body({
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  category_code: Type.Optional(CategoryCode),
  status: Type.Optional(OneOf(AGENT_STATUSES)),
  config: Type.Optional(AgentConfigInput),
  role_id: Type.Optional(RoleId),
});
export type UpdateAgentBody = Static<typeof UpdateAgentBody>;
