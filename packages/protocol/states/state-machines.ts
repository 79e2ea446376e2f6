import type { MEMBERSHIPS } from '../resources/participant.ts';
import { ACTION_MOVES, RUN_MOVES } from './agent-run-states.ts';
import { MESSAGE_MOVES } from './message-states.ts';
import { NOTIFICATION_MOVES } from './notification-states.ts';
import { QUESTION_MOVES } from './question-states.ts';
import type { Transitions } from './transitions.ts';
import { WORKFLOW } from './workflow.ts';

/** The changes of `membership` (docs/contract.md#participants). A `hidden` member is still one. */
export const MEMBERSHIP_MOVES = {
  join: { from: ['left', 'removed'], to: 'active', when: 'it is added again' },
  leave: { from: ['active', 'hidden'], to: 'left', when: 'it leaves' },
  remove: { from: ['active', 'hidden'], to: 'removed', when: 'another actor removes it' },
  hide: { from: ['active', 'hidden'], to: 'hidden', when: 'it hides the conversation from its own list' },
  unhide: { from: ['active', 'hidden'], to: 'active', when: 'it shows the conversation again' },
} as const satisfies Transitions<(typeof MEMBERSHIPS)[number]>;

/** A field of a resource that changes only as a table says. */
export interface StateMachine {
  /** `chat_message.status` */
  readonly field: string;
  /** One or two sentences for the documentation. */
  readonly about: string;
  readonly moves: Transitions<string>;
}

/** All state machines, for the documentation (docs/contract.md#messages). */
export const STATE_MACHINES: readonly StateMachine[] = [
  {
    field: 'chat_message.status',
    about:
      'Only `sent` messages stand in the timeline and have a sequence. A draft waits for a person, a scheduled message for its time.',
    moves: MESSAGE_MOVES,
  },
  {
    field: 'chat_message.question.status',
    about: 'A question is answered once, by whichever of those that may comes first, or it ends without.',
    moves: QUESTION_MOVES,
  },
  {
    field: 'conversation.workflow_status',
    about:
      'The lane of a customer case, `new` at first. While a reply draft is open the case stays in `needs_approval`, and what happens meanwhile decides where it returns to.',
    moves: WORKFLOW,
  },
  {
    field: 'conversation_participant.membership',
    about: 'One is `active` when added. Who hides a conversation is still a member of it.',
    moves: MEMBERSHIP_MOVES,
  },
  {
    field: 'notification.status',
    about: 'It only goes on, never back; what has happened already may be said again.',
    moves: NOTIFICATION_MOVES,
  },
  {
    field: 'agent_run.status',
    about:
      'A run is taken up by whichever node comes first, and waits for people in `awaiting_approval`, held by none. What it has written by its end stays.',
    moves: RUN_MOVES,
  },
  {
    field: 'agent_run_action.status',
    about:
      'A call of a tool. Where it needs review a person decides about it with Continue Agent Run: once, for exactly the arguments that it shows.',
    moves: ACTION_MOVES,
  },
];
