import { type ActionStatus, OPEN_STATUSES, type RunStatus } from '../resources/run-status.ts';
import type { Transitions } from './transitions.ts';

/**
 * All changes of `agent_run.status` (docs/contract.md#runs). `none`: there is no run yet.
 */
export const RUN_MOVES = {
  trigger: { from: ['none'], to: 'pending', when: 'a message, an event, a schedule or a person starts it' },
  start: { from: ['pending'], to: 'running', when: 'a node takes it up' },
  pause: { from: ['running'], to: 'awaiting_approval', when: 'a call needs the approval of a person' },
  continue: { from: ['awaiting_approval'], to: 'running', when: 'every call that waited is decided' },
  ask: { from: ['running'], to: 'awaiting_input', when: 'a call of `ask_person` waits for an answer' },
  answer: { from: ['awaiting_input'], to: 'running', when: 'every question that it asked has ended' },
  complete: { from: ['running'], to: 'completed', when: 'the agent has finished its reply' },
  fail: {
    from: OPEN_STATUSES,
    to: 'failed',
    when: 'it cannot go on: no role, no model that answers, a node that died',
  },
  cancel: { from: OPEN_STATUSES, to: 'cancelled', when: 'a person cancels it' },
} as const satisfies Transitions<RunStatus | 'none'>;

/** The changes of `agent_run_action.status`. An approval counts once, for the arguments shown. */
export const ACTION_MOVES = {
  propose: { from: ['none'], to: 'pending_review', when: 'the agent calls a tool that needs review' },
  allow: { from: ['none'], to: 'approved', when: 'the agent calls a tool that needs none' },
  approve: {
    from: ['pending_review'],
    to: 'approved',
    when: 'a person who may do it themselves approves it',
  },
  reject: { from: ['pending_review'], to: 'rejected', when: 'a person rejects it' },
  expire: { from: ['pending_review'], to: 'expired', when: 'it was not decided within 24 hours' },
  execute: { from: ['approved'], to: 'executing', when: 'its turn has come' },
  complete: { from: ['executing'], to: 'completed', when: 'the tool has answered' },
  fail: { from: ['executing'], to: 'failed', when: 'the tool has refused, or its node died' },
  cancel: {
    from: ['pending_review', 'approved'],
    to: 'cancelled',
    when: 'its run ended before it was executed',
  },
} as const satisfies Transitions<ActionStatus | 'none'>;

/** Milliseconds for which a call waits for a decision (docs/contract.md#tools). */
export const APPROVAL_MS = 24 * 60 * 60 * 1_000;
