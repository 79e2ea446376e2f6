/** Outbox topics of this slice. Each is handled after its transaction has committed. */

import { defineTopic } from '../../platform/db/queue/topic.ts';

/**
 * Messages entered the timeline: their events, notifications and triggers follow
 * (core/committed/sent-effects.ts). Written by the statements that insert the messages
 * (timeline/insert-store.ts, timeline/entering-store.ts).
 */
export const MESSAGES_SENT = defineTopic<MessagesSent>('messages.sent');

export interface MessagesSent {
  readonly messages: readonly {
    readonly conversation_id: string;
    readonly id: string;
    /** The person that approved it, who needs no notification of it; absent for all others. */
    readonly by?: string;
  }[];
}

/** Messages were imported, and readers of the conversation are shown them. */
export const MESSAGES_IMPORTED = defineTopic<MessagesImported>('messages.imported');

export interface MessagesImported {
  readonly conversation_id: string;
  /** The number of the last message. */
  readonly through: number;
}

/**
 * A message was edited: its notifications get the new text and follow its mentions
 * (core/notifications/feed/refresh.ts).
 */
export const MESSAGE_EDITED = defineTopic<MessageEdited>('messages.edited');
export const MESSAGE_DELETED = defineTopic<ContentChanged>('messages.deleted');

export interface ContentChanged {
  readonly message_id: string;
  readonly conversation_id: string;
}

export interface MessageEdited extends ContentChanged {
  /** The actors whose mention was added or removed; absent if there are none. */
  readonly mentions?: readonly string[];
}

/**
 * A schedule ended without being sent, and not by a person's decision: its author is notified
 * (core/notifications/causes/not-sent.ts).
 */
export const SCHEDULE_NOT_SENT = defineTopic<NotSent>('scheduled.not_sent');

export interface NotSent {
  readonly message_id: string;
}

/** A message was sent by mail, which goes out next (features/mail/outgoing/outgoing.ts). */
export const EMAIL_DUE = defineTopic<EmailDue>('messages.email_due');

export interface EmailDue {
  readonly message_id: string;
  /** The actor that sent it: the person that approved a draft, otherwise its author. */
  readonly by: string | null;
  /** `traceparent` of the request that sent it. */
  readonly traceparent?: string | null;
}
