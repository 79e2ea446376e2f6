import type { WorkflowStatus } from '../resources/conversation.ts';
import type { Transitions } from './transitions.ts';

/** Statuses that a user can change by hand; `needs_approval` ends when the draft is decided. */
const BY_HAND = ['new', 'open', 'waiting_internal', 'waiting_external', 'resolved'] as const;

/**
 * The changes of a case's `workflow_status` (docs/contract.md#workflow). While a draft is open the
 * case stays in `needs_approval`, and the other moves change the status that it returns to.
 */
export const WORKFLOW = {
  customer_wrote: { from: BY_HAND, to: 'open', when: 'the customer writes; this reopens a resolved case' },
  automatic_mail: {
    from: ['resolved'],
    to: 'new',
    when: 'automatic mail of the customer comes; a case that is not resolved stays',
  },
  reply_sent: { from: BY_HAND, to: 'waiting_external', when: 'the customer is sent a reply' },
  draft_opened: {
    from: [...BY_HAND, 'needs_approval'],
    to: 'needs_approval',
    when: 'a reply draft waits for approval',
  },
  drafts_decided: {
    from: ['needs_approval'],
    to: 'open',
    when: 'the last open draft is decided: back to the lane that the case has meanwhile come to',
  },
  take_up: { from: BY_HAND, to: 'open', when: 'by hand' },
  wait_for_the_team: { from: BY_HAND, to: 'waiting_internal', when: 'by hand' },
  wait_for_the_customer: { from: BY_HAND, to: 'waiting_external', when: 'by hand' },
  resolve: { from: BY_HAND, to: 'resolved', when: 'by hand' },
} as const satisfies Transitions<WorkflowStatus>;

export type WorkflowMove = keyof typeof WORKFLOW;

/** The move that leads to a status by hand. There is none to `new` and `needs_approval`. */
export const MOVES_BY_HAND = {
  open: 'take_up',
  waiting_internal: 'wait_for_the_team',
  waiting_external: 'wait_for_the_customer',
  resolved: 'resolve',
} as const satisfies Partial<Record<WorkflowStatus, WorkflowMove>>;
