/** What this slice writes into the outbox (db/topic.ts). Each is handled once its transaction has committed. */

import { defineTopic } from '../db/topic.ts';

/**
 * Messages entered the timeline: their events, notifications and triggers follow (jobs/sent-effects.ts). Written by the
 * statements that insert the messages (insert-messages.ts).
 */
export const MESSAGES_SENT = defineTopic<MessagesSent>('messages.sent');

export interface MessagesSent {
  readonly messages: readonly { readonly conversation_id: string; readonly id: string }[];
}

/** The notifications of a message follow its text (notifications/refresh.ts). */
export const MESSAGE_EDITED = defineTopic<ContentChanged>('messages.edited');
export const MESSAGE_DELETED = defineTopic<ContentChanged>('messages.deleted');

export interface ContentChanged {
  readonly message_id: string;
  readonly conversation_id: string;
}

/** A schedule ended by itself without being sent: its author gets a notification (notifications/not-sent.ts). */
export const SCHEDULE_NOT_SENT = defineTopic<NotSent>('scheduled.not_sent');

export interface NotSent {
  readonly message_id: string;
}
