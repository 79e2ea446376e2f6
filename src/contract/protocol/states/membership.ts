import type { MEMBERSHIPS } from '../resources/participant.ts';
import type { Transitions } from './transitions.ts';

/**
 * Every way in which a participant's `membership` changes (docs/contract.md#participants). A
 * participant that hides a conversation is still a member of it.
 */
export const MEMBERSHIP_MOVES = {
  join: { from: ['left', 'removed'], to: 'active', when: 'it is added again' },
  leave: { from: ['active', 'hidden'], to: 'left', when: 'it leaves' },
  remove: { from: ['active', 'hidden'], to: 'removed', when: 'another actor removes it' },
  hide: { from: ['active', 'hidden'], to: 'hidden', when: 'it hides the conversation from its own list' },
  unhide: { from: ['active', 'hidden'], to: 'active', when: 'it shows the conversation again' },
} as const satisfies Transitions<(typeof MEMBERSHIPS)[number]>;
