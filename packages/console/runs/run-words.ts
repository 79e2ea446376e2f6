import type { AgentRun, AgentRunAction, AgentRunStep } from '@parley/client';
import { texts } from '../texts/texts.ts';

/** The words for the states of runs, calls and steps. */
export const RUN_WORDS: Readonly<Record<AgentRun['status'], string>> = texts.runs.states;

export const CALL_WORDS: Readonly<Record<AgentRunAction['status'], string>> = texts.runs.callStates;

export const STEP_WORDS: Readonly<Record<AgentRunStep['status'], string>> = texts.runs.stepStates;

/** Returns the look of a state: `good`, `bad`, `busy` or nothing special. */
export function toneOf(status: string): 'good' | 'bad' | 'busy' | 'quiet' {
  if (status === 'completed' || status === 'approved') return 'good';
  if (['failed', 'rejected', 'expired'].includes(status)) return 'bad';
  return ['running', 'executing', 'pending', 'pending_review', 'awaiting_approval'].includes(status)
    ? 'busy'
    : 'quiet';
}
