import type {
  AgentStatus,
  DefinitionType,
  ReviewRequirement,
  Tier,
  TriggerType,
} from '@parley/protocol/resources/agent-definition.ts';
import type {
  Failover,
  IncompleteReason,
  RunTrigger,
  StepStatus,
} from '@parley/protocol/resources/agent-run.ts';
import type { BuiltInTool, TOOL_CATEGORIES } from '@parley/protocol/resources/available-tool.ts';
import type { ActionStatus, RunStatus } from '@parley/protocol/resources/run-status.ts';
import type { ColumnType, Generated } from 'kysely';
import type { FoldedColumn } from '../../platform/db/tables/folded-column.ts';
import type { Streamed, Time, Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends AgentTables {}
}

interface AgentTables {
  agent_definitions: Times & {
    id: string;
    account_id: string;
    actor_id: string;
    definition_type: Generated<DefinitionType>;
    category_code: string;
    trigger_type: TriggerType;
    name: string;
    slug: string;
    description: string | null;
    status: Generated<AgentStatus>;
    role_id: string | null;
    system_prompt: string | null;
    tier: Tier | null;
    temperature: number | null;
    trigger_config: ColumnType<AgentTriggerConfig | null, string | null | undefined, string | null>;
    endpoint_tool_slugs: Generated<string[]>;
    endpoint_tool_review: ColumnType<Readonly<Record<string, boolean>>, string | undefined, string>;
    tools: ColumnType<readonly AttachedTool[], string | undefined, string>;
    next_due_at: string | null;
    folded: FoldedColumn;
  };

  agent_runs: Streamed & {
    created_at: Time;
    id: string;
    account_id: string;
    agent_id: string;
    actor_id: string;
    trigger_type: RunTrigger;
    trigger_key: string;
    status: Generated<RunStatus>;
    input: Json;
    output: Json;
    error_message: string | null;
    triggered_by: string | null;
    conversation_id: string | null;
    trigger_message_id: string | null;
    reply_message_id: string | null;
    depth: Generated<number>;
    root_id: string | null;
    /** W3C `traceparent` of the request that led to the run. */
    traceparent: string | null;
    owner: string | null;
    fence: Generated<number>;
    lease_until: string | null;
    cancel_requested_at: string | null;
    /** The first actor that asked for the cancel; null before that. */
    cancelled_by: string | null;
    started_at: string | null;
    completed_at: string | null;
  };

  agent_run_steps: Times & {
    id: string;
    run_id: string;
    position: number;
    status: Generated<StepStatus>;
    provider: string | null;
    model: string | null;
    failovers: ColumnType<readonly Failover[], string | undefined, string>;
    text: string | null;
    calls: ColumnType<readonly StoredCall[], string | undefined, string>;
    input_tokens: number | null;
    output_tokens: number | null;
    cost_usd: number | null;
    error_message: string | null;
    incomplete: IncompleteReason | null;
    started_at: Time;
    completed_at: string | null;
  };

  agent_run_actions: Times & {
    id: string;
    run_id: string;
    step_id: string;
    position: number;
    call_id: string;
    tool: string;
    category: (typeof TOOL_CATEGORIES)[number];
    status: ActionStatus;
    /** JSON text, byte for byte as a person sees it and as it is executed. */
    arguments: string;
    result: Json;
    error_message: string | null;
    reviewed_by: string | null;
    reviewed_at: string | null;
    reason: string | null;
    expires_at: string | null;
    started_at: string | null;
    completed_at: string | null;
    /** The message whose question a person is to answer; null once it has ended. */
    awaits: string | null;
  };
}

/** Any JSON value: read as a value, written as JSON text. */
type Json = ColumnType<unknown, string | null | undefined, string | null>;

/** A call as the model wrote it. `arguments`: the JSON text of an object. */
export interface StoredCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** `cron_schedule` and `timezone` are for schedules, `event_filters` for starts by events. */
interface AgentTriggerConfig {
  readonly cron_schedule?: string;
  readonly timezone?: string;
  readonly event_filters?: readonly string[];
}

/** A built-in tool of an agent. `config`: JSON that fits the tool's schema, or null. */
export interface AttachedTool {
  readonly id: string;
  readonly tool: BuiltInTool;
  readonly review_requirement: ReviewRequirement;
  readonly config: unknown;
  readonly sort_order: number;
  readonly created_at: string;
  readonly updated_at: string;
}
