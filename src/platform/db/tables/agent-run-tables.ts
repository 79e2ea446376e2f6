import type { ColumnType, Generated } from 'kysely';
import type {
  Failover,
  IncompleteReason,
  OccurrenceOutcome,
  RunTrigger,
  SkipReason,
  StepStatus,
} from '../../../contract/protocol/resources/agent-run.ts';
import type { TOOL_CATEGORIES } from '../../../contract/protocol/resources/available-tool.ts';
import type { ActionStatus, RunStatus } from '../../../contract/protocol/resources/run-status.ts';
import type { Streamed, Time, Times } from './touched.ts';

export interface AgentRunTables {
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
  };

  artifacts: {
    id: string;
    account_id: string;
    run_id: string;
    s3_key: string;
    filename: string;
    content_type: string;
    size_bytes: number;
    created_at: Time;
  };

  agent_occurrences: {
    agent_id: string;
    due_at: string;
    outcome: OccurrenceOutcome;
    reason: SkipReason | null;
    run_id: string | null;
    created_at: Time;
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
