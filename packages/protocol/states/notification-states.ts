import type { Notification } from '../resources/notification.ts';
import type { Transitions } from './transitions.ts';

type Status = Notification['status'];

/** A recipient's moves of a notification, none of them back (docs/contract.md#notifications). */
export const NOTIFICATION_MOVES = {
  see: { from: ['unseen'], to: 'seen', when: 'it appeared in the dropdown' },
  read: { from: ['unseen', 'seen'], to: 'read', when: 'it was opened; that is seeing it too' },
  dismiss: { from: ['unseen', 'seen', 'read'], to: 'dismissed', when: 'it was put away; for good' },
} as const satisfies Transitions<Status>;

export type NotificationMove = keyof typeof NOTIFICATION_MOVES;

/** States in which a move has already happened. A repetition changes nothing, without an error. */
export const NOTIFICATION_MOVED_ALREADY = {
  see: ['seen', 'read'],
  read: ['read'],
  dismiss: ['dismissed'],
} as const satisfies Record<NotificationMove, readonly Status[]>;
