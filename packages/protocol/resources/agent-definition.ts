import { type Static, Type } from 'typebox';
import { ChangedOwnId, NewOwnId, OWN_ID_TEXTS, OwnId } from '../schema/external-ids.ts';
import {
  type Alternative,
  Body,
  demand,
  describe,
  Id,
  Identity,
  Line,
  Name,
  Nullable,
  OneOf,
  Text,
  Times,
  where,
} from '../schema/schema.ts';
import { MEMBERS_SINCE, Since } from '../schema/since.ts';
import { AvailableTool, BUILT_IN_SINCE, BUILT_IN_TOOLS } from './available-tool.ts';
import { AvatarKey } from './avatar.ts';
import { EventType } from './event-type.ts';
import { Role } from './role.ts';

export const TRIGGER_TYPES = ['scheduled', 'event', 'manual', 'chat'] as const;
export const AGENT_STATUSES = ['active', 'inactive'] as const;
export const TIERS = ['frontier', 'high', 'balanced', 'cheap', 'legacy'] as const;

export type TriggerType = (typeof TRIGGER_TYPES)[number];
export type AgentStatus = (typeof AGENT_STATUSES)[number];
export type Tier = (typeof TIERS)[number];

/** Sizes of an agent (docs/contract.md#sizes). */
export const AGENT_LIMITS = {
  slugCharacters: 64,
  descriptionCharacters: 2_000,
  categoryCharacters: 64,
  promptCharacters: 100_000,
  endpointTools: 200,
  eventFilters: 50,
  toolConfigCharacters: 10_000,
} as const;

/** Custom agents that an account may have, by its plan (docs/contract.md#sizes). */
export const MAX_AGENTS = { free: 5, pro: 100 } as const;

/** Grants every endpoint tool. No other slug may stand beside it (docs/contract.md#tools). */
export const EVERY_ENDPOINT_TOOL = '*';

/** The values of `include[]` wherever agents are shown. */
export const AGENT_INCLUDES = ['config', 'tools', 'role'] as const;
export type AgentInclude = (typeof AGENT_INCLUDES)[number];

/** The trigger of the agent; fields of other types are null. Create Agent shows it as null. */
export const TriggerConfig = Type.Object({
  cron_schedule: Nullable(Type.String()),
  timezone: Nullable(Type.String()),
  event_filters: Nullable(Type.Array(Type.String())),
});
export type TriggerConfig = Static<typeof TriggerConfig>;

describe(TriggerConfig, {
  cron_schedule: 'Cron expression of a `scheduled` agent. Null for other trigger types.',
  timezone: 'IANA timezone in which the cron expression is read. Null for other trigger types.',
  event_filters: 'Events that start an `event` agent. Null for other trigger types.',
});

/** An attached built-in tool (docs/contract.md#tools). Create Agent shows `tool` as null. */
export const AgentDefinitionTool = Type.Object({
  ...Identity('agent_definition_tool'),
  tool: Nullable(AvailableTool),
  review_requirement: OneOf(['not_required', 'required']),
  config: Type.Unknown(),
  sort_order: Type.Integer(),
  ...Times,
});
export type AgentDefinitionTool = Static<typeof AgentDefinitionTool>;
export type ReviewRequirement = AgentDefinitionTool['review_requirement'];

describe(AgentDefinitionTool, {
  tool: 'The built-in tool that is attached. Always null in the answer of Create Agent.',
  review_requirement:
    '`required` pauses the run for approval at each call. A tool that is `mutating` pauses even when this is `not_required`.',
  config:
    "The configuration of the tool, which follows the tool's `config_schema`; any JSON value, null where there is none.",
  sort_order: 'Display order; lower comes first.',
});

/** The configuration of an agent (docs/contract.md#agents). The trigger decides a null `tier`. */
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

describe(AgentDefinitionConfig, {
  system_prompt: 'Standing instructions for every run. Null where there are none.',
  tier: 'Class of models that the agent uses. Null lets the trigger decide: `high` for chat and manual runs, `balanced` for scheduled and event runs.',
  temperature:
    'Sampling temperature between 0 and 1; lower is more repeatable. Null for the default of the model.',
  trigger_config:
    'What starts the agent, by its `trigger_type`. Null where nothing is configured, and always null in the answer of Create Agent.',
  endpoint_tool_slugs:
    'API endpoints that the agent may call, by the slugs of List Tools. The single entry `*` grants the whole catalogue.',
  endpoint_tool_review:
    'Map from tool slug to whether each call of it waits for approval. Absent slugs need no review.',
  tools: 'The attached built-in tools. Null unless expanded.',
});

/** The definition of an agent (docs/contract.md#agents). */
export const AgentDefinition = Type.Object({
  ...Identity('agent_definition'),
  actor_id: Since('1.2.harbor', Type.String()),
  definition_type: OneOf(['system', 'custom']),
  category_code: Type.String(),
  trigger_type: OneOf(TRIGGER_TYPES),
  name: Type.String(),
  slug: Type.String(),
  description: Nullable(Type.String()),
  editability: OneOf(['editable', 'read_only']),
  status: OneOf(AGENT_STATUSES),
  role: Nullable(Role),
  config: Nullable(AgentDefinitionConfig),
  ...Times,
  avatar_url: Since('1.2.harbor', Nullable(Type.String())),
  role_id: Since('1.2.harbor', Nullable(Type.String())),
  external_id: OwnId,
});
export type AgentDefinition = Static<typeof AgentDefinition>;
export type DefinitionType = AgentDefinition['definition_type'];

describe(AgentDefinition, {
  actor_id: 'Id of the actor as which the agent acts. Requests that name an actor take this id or `id`.',
  definition_type:
    '`system` agents come with the service and cannot be edited or deleted; `custom` agents were created in this account.',
  category_code: 'Category by which agents are grouped.',
  trigger_type:
    'What starts the agent by itself: a cron schedule (`scheduled`), an event (`event`), a message to it (`chat`), or nothing (`manual`).',
  name: 'Name for people.',
  slug: 'Name for URLs, unique within the account.',
  description: 'What the agent is for. Null where nothing was said.',
  editability: '`read_only` for system agents, `editable` for custom ones.',
  status: 'An `inactive` agent cannot be started.',
  role: 'The role that bounds what the agent may do. Null unless expanded, and for an agent without a role, whose runs fail at once.',
  config: 'Instructions, models, triggers and tools. Null unless expanded.',
  role_id: 'Id of the role that `role` expands. Null for an agent without a role.',
  external_id: OWN_ID_TEXTS.field,
});

const Description = Nullable(Text(AGENT_LIMITS.descriptionCharacters));
const CategoryCode = Line(AGENT_LIMITS.categoryCharacters);
const RoleId = Nullable(Id);

const TriggerConfigInput = Body({
  cron_schedule: Type.Optional(Type.String({ maxLength: 200 })),
  timezone: Type.Optional(Type.String({ maxLength: 64 })),
  event_filters: Type.Optional(
    Type.Array(EventType, { minItems: 1, maxItems: AGENT_LIMITS.eventFilters, uniqueItems: true }),
  ),
});
export type TriggerConfigInput = Static<typeof TriggerConfigInput>;

describe(TriggerConfigInput, {
  cron_schedule:
    'Cron expression with five fields. Required when `trigger_type` is `scheduled`, refused for other types.',
  timezone: 'IANA timezone for the schedule, such as `Europe/Amsterdam`. Default `UTC`.',
  event_filters:
    'Events that start the agent: events of Parley such as `message.created`, and any that producers raise, such as `order.created`. At least one is required when `trigger_type` is `event`; refused for other types.',
});

const ToolInput = Body({
  tool: OneOf(BUILT_IN_TOOLS, { [MEMBERS_SINCE]: BUILT_IN_SINCE }),
  config_json: Type.Optional(Type.String({ maxLength: AGENT_LIMITS.toolConfigCharacters })),
  sort_order: Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000 })),
  require_review: Type.Optional(Type.Boolean()),
});
export type ToolInput = Static<typeof ToolInput>;

describe(ToolInput, {
  tool: 'The built-in tool to attach, each once. API endpoints are granted through `endpoint_tool_slugs`.',
  config_json: "Configuration of the tool as a JSON text, which follows the tool's `config_schema`.",
  sort_order: 'Display order; lower comes first. Default: the position in the list.',
  require_review:
    'Whether each call pauses the run in `awaiting_approval` until a person approves or rejects it. Default false.',
});

const AgentConfigInput = Body({
  system_prompt: Type.Optional(Nullable(Text(AGENT_LIMITS.promptCharacters))),
  tier: Type.Optional(Nullable(OneOf(TIERS))),
  temperature: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  trigger_config: Type.Optional(TriggerConfigInput),
  endpoint_tool_slugs: Type.Optional(
    Type.Array(Type.String({ maxLength: 100 }), { maxItems: AGENT_LIMITS.endpointTools, uniqueItems: true }),
  ),
  endpoint_tool_review: Type.Optional(
    Type.Record(Type.String(), Type.Boolean(), {
      maxProperties: AGENT_LIMITS.endpointTools,
      propertyNames: { maxLength: 100 },
    }),
  ),
  tools: Type.Optional(
    Type.Array(ToolInput, { maxItems: BUILT_IN_TOOLS.length, [MEMBERS_SINCE]: BUILT_IN_SINCE }),
  ),
});
export type AgentConfigInput = Static<typeof AgentConfigInput>;

describe(AgentConfigInput, {
  system_prompt:
    'Instructions that the model gets at every turn of a run, beside those of the platform; null clears them.',
  tier: 'Class of models: `frontier` for the hardest work, `high` for normal planning and customers, `balanced` for research and extraction, `cheap` for simple transforms, `legacy` to be avoided. Null or absent lets the trigger decide: `high` for chat and manual runs, `balanced` for scheduled and event runs.',
  temperature:
    'Sampling temperature between 0 and 1; lower is more repeatable. Null stands for the default of the model.',
  trigger_config: 'What starts the agent; which fields are required depends on `trigger_type`.',
  endpoint_tool_slugs:
    'API endpoints that the agent may call, by the slugs of List Tools with category `api_endpoint`. The single entry `*` grants the whole catalogue; absent or empty grants none.',
  endpoint_tool_review: 'Map from tool slug to boolean: true makes each call of that tool wait for approval.',
  tools: 'Built-in tools to attach. In Update Agent the list replaces the present one.',
});

/**
 * Body of Create Agent (docs/contract.md#creating-an-agent). features/agents/triggers/rules.ts
 * checks the requirements of the trigger type on `config.trigger_config`,
 * features/agents/tools/rules.ts those of the tools.
 */
export const CreateAgentBody = Body({
  name: Name,
  slug: Type.String({
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
    sentence: 'Must be words of lower-case letters and digits, joined by single dashes: night-watch.',
    maxLength: AGENT_LIMITS.slugCharacters,
  }),
  description: Type.Optional(Description),
  category_code: CategoryCode,
  trigger_type: OneOf(TRIGGER_TYPES),
  config: AgentConfigInput,
  role_id: Type.Optional(RoleId),
  external_id: NewOwnId,
});
export type CreateAgentBody = Static<typeof CreateAgentBody>;

describe(CreateAgentBody, {
  name: 'Name for people; it must not be blank.',
  slug: 'Name for URLs: small letters, digits and single dashes. It must be unique within the account; a taken one answers `resource_exists`.',
  description: 'What the agent is for.',
  category_code: 'Category by which agents are grouped.',
  trigger_type:
    '`scheduled` requires `config.trigger_config.cron_schedule`, `event` requires `config.trigger_config.event_filters`, `chat` answers messages of conversations that the agent is in, and `manual` starts by request alone. Every agent can be started with Trigger Agent Run.',
  config:
    'Instructions, models, triggers and tools. An empty object is allowed where the trigger type requires nothing.',
  role_id:
    'The role whose permissions bound every call of the agent; it must grant no more than the caller has. An agent without a role cannot run.',
  external_id: OWN_ID_TEXTS.create,
});
demand(CreateAgentBody, [
  where('trigger_type', 'manual'),
  where('trigger_type', 'chat'),
  startedBy('scheduled', 'cron_schedule'),
  startedBy('event', 'event_filters'),
]);

/** Absent fields stay; null clears `description`, `role_id` and the plain fields of the config. */
export const UpdateAgentBody = Body({
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  category_code: Type.Optional(CategoryCode),
  status: Type.Optional(OneOf(AGENT_STATUSES)),
  config: Type.Optional(AgentConfigInput),
  role_id: Type.Optional(RoleId),
  avatar_s3_key: Since('1.2.harbor', AvatarKey),
  external_id: ChangedOwnId,
});
export type UpdateAgentBody = Static<typeof UpdateAgentBody>;

describe(UpdateAgentBody, {
  name: 'The new name for people.',
  description: 'What the agent is for; null clears it.',
  category_code: 'The new category.',
  status: '`inactive` keeps the agent from being started, `active` allows it again.',
  config: 'The fields of the configuration that change; absent ones stay.',
  role_id:
    'The role whose permissions bound every call of the agent; null takes the role away, and its runs fail.',
  external_id: OWN_ID_TEXTS.change,
});

function startedBy(triggerType: TriggerType, field: keyof TriggerConfigInput): Alternative {
  const config = { required: ['trigger_config'], properties: { trigger_config: { required: [field] } } };
  return { properties: { trigger_type: { const: triggerType }, config } };
}
