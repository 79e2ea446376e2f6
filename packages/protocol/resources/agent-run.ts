import { type Static, Type } from 'typebox';
import {
  Body,
  describe,
  Id,
  Identity,
  Include,
  Nullable,
  OneOf,
  Text,
  Times,
  Timestamp,
} from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { Actor } from './actor.ts';
import { AgentDefinition } from './agent-definition.ts';
import { TOOL_CATEGORIES } from './available-tool.ts';
import { ACTION_STATUSES, RUN_STATUSES } from './run-status.ts';

export const RUN_TRIGGERS = ['scheduled', 'event', 'manual', 'chat'] as const;
export type RunTrigger = (typeof RUN_TRIGGERS)[number];

/** Sizes of a run. */
export const RUN_LIMITS = {
  /** Bytes of `input` as JSON. */
  inputBytes: 65_536,
  /** Turns of the model after which the run fails. */
  steps: 25,
  /** Tool calls per turn. */
  callsPerStep: 16,
  /** Bytes, as JSON, of all that the run wrote, called and read; then it has no further turn. */
  bytes: 4_194_304,
  /** Length of a chain of runs that start runs by their messages or ends. */
  depth: 5,
  /** Runs that descend from one run, in all; runs that begin together may exceed it by a few. */
  chain: 100,
} as const;

/** The values of `include[]` on the run endpoints (docs/contract.md#expansion). */
export const RUN_INCLUDES = ['actions', 'steps', 'definition', 'triggered_by'] as const;
export type RunInclude = (typeof RUN_INCLUDES)[number];

/** The parameter `include[]` of these endpoints. */
export const IncludeInRun = Include(RUN_INCLUDES, { definition: '1.2.harbor', triggered_by: '1.2.harbor' });

/** A model that was asked and failed before another took over. */
const Failover = Type.Object({ provider: Type.String(), model: Type.String(), reason: Type.String() });
export type Failover = Static<typeof Failover>;

describe(Failover, {
  provider: 'The provider that was asked.',
  model: 'The model that was asked.',
  reason: 'Why it did not finish.',
});

/** Reasons for incomplete answers (docs/contract.md#answers-that-were-cut). */
export const INCOMPLETE_REASONS = ['length', 'content_filter', 'error'] as const;
export type IncompleteReason = (typeof INCOMPLETE_REASONS)[number];

/** One turn of the model within a run. Its cost is known if the configuration has prices. */
export const AgentRunStep = Type.Object({
  ...Identity('agent_run_step'),
  position: Type.Integer({ minimum: 1 }),
  status: OneOf(['running', 'completed', 'failed']),
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
  ...Times,
  incomplete: Since('1.4.harbor', Nullable(OneOf(INCOMPLETE_REASONS))),
});
export type AgentRunStep = Static<typeof AgentRunStep>;
export type StepStatus = AgentRunStep['status'];

describe(AgentRunStep, {
  position: 'Number of the turn within the run, from 1.',
  status: 'Whether the turn is `running`, has `completed` or has `failed`.',
  provider: 'The provider that answered. Null until one has.',
  model: 'The model that answered. Null until one has.',
  failovers: 'Models that were asked first and did not finish, in that order.',
  text: 'What the model said. Null where it said nothing.',
  input_tokens: 'Tokens that the model read. Null where the provider does not say.',
  output_tokens: 'Tokens that the model wrote. Null where the provider does not say.',
  cost_usd: 'Cost of the turn in US dollars. Null where no price is configured for the model.',
  error_message: 'Why the turn failed. Null unless it did.',
  started_at: 'When the turn began.',
  completed_at: 'When the turn ended. Null while it is running.',
  incomplete:
    'Why the answer is not whole: `length` where the model or a limit cut it, `content_filter` where the provider withheld the rest, `error` where the turn failed or was stopped. Null where it is whole.',
});

/** A tool call of a run. Exactly these `arguments` are approved and executed. */
export const AgentRunAction = Type.Object({
  ...Identity('agent_run_action'),
  step_id: Type.String(),
  tool: Type.String(),
  category: OneOf(TOOL_CATEGORIES),
  status: OneOf(ACTION_STATUSES),
  arguments: Type.Unknown(),
  result: Type.Unknown(),
  error_message: Nullable(Type.String()),
  reviewed_by: Nullable(Type.String()),
  reviewed_at: Nullable(Timestamp),
  reason: Nullable(Type.String()),
  expires_at: Nullable(Timestamp),
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  ...Times,
});
export type AgentRunAction = Static<typeof AgentRunAction>;

describe(AgentRunAction, {
  step_id: 'Id of the turn in which the model asked for the call.',
  tool: 'Slug of the tool.',
  category: '`built_in` for tools of the service, `api_endpoint` for calls of an endpoint.',
  status: 'Where the call stands; `pending_review` waits for a person.',
  arguments: 'The exact arguments of the call, any JSON value. An approval covers these and nothing else.',
  result: 'The answer of the tool, any JSON value. Null until there is one.',
  error_message: 'Why the call failed. Null unless it did.',
  reviewed_by: 'Actor id of the person who decided. Null where no decision was made or needed.',
  reviewed_at: 'When the decision was made. Null until then.',
  reason: 'The reason that was given with the decision. Null where none was.',
  expires_at: 'When a call that waits for approval expires. Null for calls that need none.',
  started_at: 'When the call began. Null until then.',
  completed_at: 'When the call ended. Null until then.',
});

/** One execution of an agent (docs/contract.md#runs). Messages show their run without its lists. */
export const AgentRun = Type.Object({
  ...Identity('agent_run'),
  trigger_type: OneOf(RUN_TRIGGERS),
  status: OneOf(RUN_STATUSES),
  definition: Nullable(AgentDefinition),
  input: Type.Unknown(),
  output: Type.Unknown(),
  error_message: Nullable(Type.String()),
  triggered_by: Nullable(Actor),
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  duration_ms: Nullable(Type.Integer({ minimum: 0 })),
  actions: Nullable(Type.Array(AgentRunAction)),
  steps: Nullable(Type.Array(AgentRunStep)),
  ...Times,
  agent_id: Since('1.2.harbor', Type.String()),
  triggered_by_id: Since('1.2.harbor', Nullable(Type.String())),
  conversation_id: Since('1.2.harbor', Nullable(Type.String())),
});
export type AgentRun = Static<typeof AgentRun>;

describe(AgentRun, {
  trigger_type:
    'What started the run: a `scheduled` time, an `event`, a `manual` request, or a message in a `chat`, where the answer is posted back.',
  status:
    'Where the run stands. `awaiting_approval` and `awaiting_input` wait for people; `completed`, `failed` and `cancelled` are final.',
  definition: 'The agent, without its configuration. Null unless expanded, and once the agent was deleted.',
  input: 'What the run was started with, any JSON value.',
  output: 'What came of the run, any JSON value. Null unless `status` is `completed`.',
  error_message: 'Why the run failed. Null unless it did.',
  triggered_by:
    'The actor that started the run, by a request or by a message. Null for runs that a schedule or an event started, and unless expanded.',
  started_at: 'When the run began. Null while it is `pending`.',
  completed_at: 'When the run ended. Null until then.',
  duration_ms: 'Milliseconds from start to end. Null until the run has ended.',
  actions: 'The tool calls of the run, in their order. Null unless expanded.',
  steps: 'The turns of the model, in their order. Null unless expanded.',
  agent_id: 'Id of the agent that `definition` expands. It stays when the agent is deleted.',
  triggered_by_id:
    'Id of the actor that `triggered_by` expands. Null for runs that a schedule or an event started.',
  conversation_id: 'Id of the conversation that the run is about. Null where there is none.',
});

/** Body of Trigger Agent Run: any JSON value as input (docs/contract.md#runs). */
export const TriggerRunBody = Body({ input: Type.Optional(Type.Unknown()) });

describe(TriggerRunBody, { input: 'What the agent is given to work on, any JSON value of at most 64 KiB.' });

const Decision = Body({
  action_id: Id,
  approve: Type.Boolean(),
  reason: Type.Optional(Nullable(Text(1_000))),
});
describe(Decision, {
  action_id: 'Id of the call that is decided.',
  approve: 'True executes the call, false rejects it.',
  reason: 'Why, for the audit; the model gets the reason of a rejection.',
});

/** Body of Continue Agent Run: each waiting call is decided once, by its id. */
export const ContinueRunBody = Body({
  decisions: Type.Array(Decision, { minItems: 1, maxItems: RUN_LIMITS.callsPerStep }),
});
export type ContinueRunBody = Static<typeof ContinueRunBody>;

describe(ContinueRunBody, {
  decisions: 'One decision for each call that waits; calls that are left out go on waiting.',
});

/** The outcome of a time at which a schedule was due. */
export const OCCURRENCE_OUTCOMES = ['ran', 'ran_late', 'skipped'] as const;
export type OccurrenceOutcome = (typeof OCCURRENCE_OUTCOMES)[number];

/**
 * Reasons for no run: no node was running and a newer time is due as well; it was over a day ago; a
 * run of the agent was still open; the account has no active subscription.
 */
const SKIP_REASONS = ['missed', 'too_late', 'overlap', 'unsubscribed'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** A time at which a schedule was due, and its outcome: one for each agent and time. */
export const AgentOccurrence = Type.Object({
  object: Type.Literal('agent_occurrence'),
  agent_id: Type.String(),
  due_at: Timestamp,
  outcome: OneOf(OCCURRENCE_OUTCOMES),
  reason: Nullable(OneOf(SKIP_REASONS)),
  run_id: Nullable(Type.String()),
  created_at: Timestamp,
});
export type AgentOccurrence = Static<typeof AgentOccurrence>;

describe(AgentOccurrence, {
  agent_id: 'Id of the agent.',
  due_at: 'The time at which the schedule was due.',
  outcome: 'Whether a run was started at its time (`ran`), later (`ran_late`) or not at all (`skipped`).',
  reason:
    'Why nothing ran: `missed` where a newer time was due as well, `too_late` after more than a day, `overlap` where a run was still open, `unsubscribed` without a subscription. Null unless skipped.',
  run_id: 'Id of the run that was started. Null where none was.',
});

/** A file that an agent made in a run, with the tool `create_artifact`. */
export const Artifact = Type.Object({
  ...Identity('artifact'),
  run_id: Type.String(),
  filename: Type.String(),
  content_type: Type.String(),
  size_bytes: Type.Integer({ minimum: 0 }),
  url: Type.String(),
  created_at: Timestamp,
});
export type Artifact = Static<typeof Artifact>;

describe(Artifact, {
  run_id: 'The run that made the file.',
  filename: 'Name of the file.',
  content_type: 'MIME type of the file.',
  size_bytes: 'Size of the file in bytes.',
  url: 'Time-limited address to download the file from.',
});
