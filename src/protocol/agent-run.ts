import { type Static, Type } from 'typebox';
import { Nullable, OneOf, Timestamp } from './schema.ts';

export const RUN_TRIGGERS = ['scheduled', 'event', 'manual', 'chat'] as const;
export const RUN_STATUSES = [
  'pending',
  'running',
  'awaiting_input',
  'awaiting_approval',
  'completed',
  'failed',
  'cancelled',
] as const;

/** One execution of an agent (specification, agent_run), as messages show the run that wrote them. */
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
  actions: Type.Null(),
  steps: Type.Null(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type AgentRun = Static<typeof AgentRun>;
