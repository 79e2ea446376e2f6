import { ENDED_RUNS } from './ended-runs.ts';

/** The statuses of runs that have not ended. */
export const OPEN_STATUSES = ['pending', 'running', 'awaiting_input', 'awaiting_approval'] as const;

export const RUN_STATUSES = [...OPEN_STATUSES, ...ENDED_RUNS] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** The statuses of a call of a tool. */
export const ACTION_STATUSES = [
  'pending_review',
  'approved',
  'rejected',
  'expired',
  'executing',
  'completed',
  'failed',
  'cancelled',
] as const;
export type ActionStatus = (typeof ACTION_STATUSES)[number];
