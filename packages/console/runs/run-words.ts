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
