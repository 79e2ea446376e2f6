import type { AgentRun, AgentRunAction, AgentRunStep } from '@parley/client';

/** The words for the states of runs, calls and steps. */
export const RUN_WORDS: Readonly<Record<AgentRun['status'], string>> = {
  pending: 'Waiting to start',
  running: 'Running',
  awaiting_input: 'Waits for an answer',
  awaiting_approval: 'Waits for approval',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Stopped',
};

export const CALL_WORDS: Readonly<Record<AgentRunAction['status'], string>> = {
  pending_review: 'Waits for approval',
  approved: 'Approved',
  rejected: 'Rejected',
  expired: 'Expired',
  executing: 'Running',
  completed: 'Done',
  failed: 'Failed',
  cancelled: 'Stopped',
};

export const STEP_WORDS: Readonly<Record<AgentRunStep['status'], string>> = {
  running: 'Running',
  completed: 'Done',
  failed: 'Failed',
};

/** Returns the look of a state: `good`, `bad`, `busy` or nothing special. */
export function toneOf(status: string): 'good' | 'bad' | 'busy' | 'quiet' {
  if (status === 'completed' || status === 'approved') return 'good';
  if (['failed', 'rejected', 'expired'].includes(status)) return 'bad';
  return ['running', 'executing', 'pending', 'pending_review', 'awaiting_approval'].includes(status)
    ? 'busy'
    : 'quiet';
}

const USD = new Intl.NumberFormat(undefined, {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
});

/** Returns a cost in US dollars, to the last millionth. */
export function costText(usd: number): string {
  return USD.format(usd);
}

/** Returns a duration as text: milliseconds, seconds, or minutes and seconds. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}
