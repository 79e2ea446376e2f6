import { type Static, Type } from 'typebox';
import { ACTION_STATUSES, RUN_STATUSES } from './agent-run-states.ts';
import { TOOL_CATEGORIES } from './available-tool.ts';
import { Body, Id, Nullable, OneOf, Timestamp } from './schema.ts';

export const RUN_TRIGGERS = ['scheduled', 'event', 'manual', 'chat'] as const;
export type RunTrigger = (typeof RUN_TRIGGERS)[number];

export const STEP_STATUSES = ['running', 'completed', 'failed'] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

/** Sizes of a run. */
export const RUN_LIMITS = {
  /** Bytes of `input` as JSON. */
  inputBytes: 65_536,
  /** Turns of the model, after which the run fails. */
  steps: 25,
  /** Tool calls of one turn. */
  callsPerStep: 16,
  /** Bytes as JSON of what it has said, asked for and read, after which it has no further turn. */
  bytes: 4_194_304,
  /** Runs that start runs by their messages or ends, in a row. */
  depth: 5,
  /** Runs that go back to one run, all together; those that begin at once may be a few more. */
  chain: 100,
} as const;

/** What `include[]` may name on the run endpoints (design.md section 8). */
export const RUN_INCLUDES = ['actions', 'steps'] as const;
export type RunInclude = (typeof RUN_INCLUDES)[number];

/** A model that was asked and did not finish, before another took over. */
const Failover = Type.Object({ provider: Type.String(), model: Type.String(), reason: Type.String() });
export type Failover = Static<typeof Failover>;

/** One turn of the model within a run. Costs are known where the configuration has prices. */
export const AgentRunStep = Type.Object({
  id: Type.String(),
  object: Type.Literal('agent_run_step'),
  position: Type.Integer({ minimum: 1 }),
  status: OneOf(STEP_STATUSES),
  provider: Nullable(Type.String()),
  model: Nullable(Type.String()),
  failovers: Type.Array(Failover),
  text: Nullable(Type.String()),
  input_tokens: Nullable(Type.Integer({ minimum: 0 })),
  output_tokens: Nullable(Type.Integer({ minimum: 0 })),
  cost_usd: Nullable(Type.Number({ minimum: 0 })),
  error_message: Nullable(Type.String()),
  started_at: Timestamp,
  completed_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type AgentRunStep = Static<typeof AgentRunStep>;

/** A tool call of a run. `arguments` are exactly what is executed; a person approves these and nothing else. */
export const AgentRunAction = Type.Object({
  id: Type.String(),
  object: Type.Literal('agent_run_action'),
  step_id: Type.String(),
  tool: Type.String(),
  category: OneOf(TOOL_CATEGORIES),
  status: OneOf(ACTION_STATUSES),
  /** Any JSON value. */
  arguments: Type.Unknown(),
  /** Any JSON value; null until the tool has answered. */
  result: Type.Unknown(),
  error_message: Nullable(Type.String()),
  /** Actor id of who decided. */
  reviewed_by: Nullable(Type.String()),
  reviewed_at: Nullable(Timestamp),
  reason: Nullable(Type.String()),
  expires_at: Nullable(Timestamp),
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type AgentRunAction = Static<typeof AgentRunAction>;

/** One execution of an agent (specification, agent_run). Messages show the run that wrote them without its lists. */
export const AgentRun = Type.Object({
  id: Type.String(),
  object: Type.Literal('agent_run'),
  trigger_type: OneOf(RUN_TRIGGERS),
  status: OneOf(RUN_STATUSES),
  definition: Type.Null(),
  /** Any JSON value. */
  input: Type.Unknown(),
  /** Any JSON value; null until the run has completed. */
  output: Type.Unknown(),
  error_message: Nullable(Type.String()),
  triggered_by: Type.Null(),
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  duration_ms: Nullable(Type.Integer({ minimum: 0 })),
  actions: Nullable(Type.Array(AgentRunAction)),
  steps: Nullable(Type.Array(AgentRunStep)),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type AgentRun = Static<typeof AgentRun>;

/** Body of Trigger Agent Run: any JSON value as input (design.md section 8). */
export const TriggerRunBody = Body({ input: Type.Optional(Type.Unknown()) });
export type TriggerRunBody = Static<typeof TriggerRunBody>;

/** Body of Continue Agent Run: each call that waits is decided once, by its id alone. */
export const ContinueRunBody = Body({
  decisions: Type.Array(
    Body({
      action_id: Id,
      approve: Type.Boolean(),
      reason: Type.Optional(Nullable(Type.String({ maxLength: 1_000 }))),
    }),
    { minItems: 1, maxItems: RUN_LIMITS.callsPerStep },
  ),
});
export type ContinueRunBody = Static<typeof ContinueRunBody>;
