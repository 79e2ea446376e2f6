import { type Static, Type } from 'typebox';
import { describe, Nullable, OneOf, Timestamp } from '../schema/schema.ts';

/** The outcome of a time at which a schedule was due. */
export const OCCURRENCE_OUTCOMES = ['ran', 'ran_late', 'skipped'] as const;
export type OccurrenceOutcome = (typeof OCCURRENCE_OUTCOMES)[number];

/**
 * Why nothing ran: no node was running and a newer time is due as well; it was more than a day ago;
 * a run of the agent was still open; the account has no active subscription.
 */
export const SKIP_REASONS = ['missed', 'too_late', 'overlap', 'unsubscribed'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/**
 * A time at which an agent's schedule was due, and its outcome. There is one for each agent and
 * time.
 */
export const AgentOccurrence = Type.Object({
  object: Type.Literal('agent_occurrence'),
  agent_id: Type.String(),
  due_at: Timestamp,
  outcome: OneOf(OCCURRENCE_OUTCOMES),
  reason: Nullable(OneOf(SKIP_REASONS)),
  /** Null if no run was started. */
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
