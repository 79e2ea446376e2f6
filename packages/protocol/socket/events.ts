import type { Version } from '../versions.ts';

/**
 * Every event that a socket can receive (docs/realtime.md#events). `stream` names the channel that
 * it travels on (`scheduled.updated` also travels on the channel of its author, if other
 * subscribers may not see it). `order` is how nodes deliver it: `created` strictly by number,
 * `updated` after the message that it is about, `durable` as it arrives, `ephemeral` not at all if
 * the reader is slow. Sockets of a version before `since` do not receive it.
 */
export const EVENTS = {
  'message.created': { stream: 'conversation', order: 'created', customers: true, since: '1.1.harbor' },
  'message.updated': { stream: 'conversation', order: 'updated', customers: true, since: '1.1.harbor' },
  'message.reacted': { stream: 'conversation', order: 'updated', customers: true, since: '1.2.harbor' },
  'message.pinned': { stream: 'conversation', order: 'updated', customers: false, since: '1.2.harbor' },
  'messages.purged': { stream: 'conversation', order: 'durable', customers: true, since: '1.2.harbor' },
  'draft.created': { stream: 'conversation', order: 'durable', customers: false, since: '1.1.harbor' },
  'draft.updated': { stream: 'conversation', order: 'durable', customers: false, since: '1.1.harbor' },
  'scheduled.updated': { stream: 'conversation', order: 'durable', customers: true, since: '1.1.harbor' },
  'conversation.updated': { stream: 'conversation', order: 'durable', customers: false, since: '1.1.harbor' },
  'participant.added': { stream: 'conversation', order: 'durable', customers: false, since: '1.1.harbor' },
  'participant.updated': { stream: 'conversation', order: 'durable', customers: false, since: '1.1.harbor' },
  'participant.removed': { stream: 'conversation', order: 'durable', customers: false, since: '1.1.harbor' },
  'conversation.added': { stream: 'actor', order: 'durable', customers: true, since: '1.1.harbor' },
  'conversation.removed': { stream: 'actor', order: 'durable', customers: true, since: '1.1.harbor' },
  'notification.created': { stream: 'actor', order: 'durable', customers: false, since: '1.1.harbor' },
  'notification.updated': { stream: 'actor', order: 'durable', customers: false, since: '1.1.harbor' },
  'agent_run.updated': { stream: 'actor', order: 'durable', customers: false, since: '1.1.harbor' },
  'inbox.updated': { stream: 'actor', order: 'ephemeral', customers: false, since: '1.2.harbor' },
  'inbox.changed': {
    stream: 'actor',
    order: 'ephemeral',
    customers: true,
    since: '1.3.harbor',
  },
  'message.delta': { stream: 'conversation', order: 'ephemeral', customers: false, since: '1.1.harbor' },
  'message.reset': { stream: 'conversation', order: 'ephemeral', customers: false, since: '1.1.harbor' },
  'message.snapshot': { stream: 'conversation', order: 'ephemeral', customers: false, since: '1.1.harbor' },
  typing: { stream: 'conversation', order: 'ephemeral', customers: false, since: '1.1.harbor' },
  presence: { stream: 'conversation', order: 'ephemeral', customers: false, since: '1.1.harbor' },
  read: { stream: 'conversation', order: 'ephemeral', customers: false, since: '1.1.harbor' },
} as const satisfies Record<
  string,
  {
    readonly stream: 'conversation' | 'actor';
    readonly order: 'created' | 'updated' | 'durable' | 'ephemeral';
    readonly customers: boolean;
    readonly since: Version;
  }
>;

export type EventName = keyof typeof EVENTS;

/** Events of an ephemeral order: sent once at most, kept nowhere. */
export type EphemeralEventName = {
  [E in EventName]: (typeof EVENTS)[E]['order'] extends 'ephemeral' ? E : never;
}[EventName];

/** Events that are committed before they are sent, and are sent again after a break. */
export type DurableEventName = Exclude<EventName, EphemeralEventName>;

/**
 * Durable events except new messages, which are found by number. Each has a source, from which it
 * is published and, where it may have been missed, read again (core/features/event-sources.ts).
 */
export type ChangeEventName = {
  [E in EventName]: (typeof EVENTS)[E]['order'] extends 'updated' | 'durable' ? E : never;
}[EventName];

/** An event frame in the form that a socket receives. */
export interface EventFrame {
  readonly type: 'event';
  readonly event: EventName;
  readonly conversation_id?: string;
  readonly sequence?: number;
  readonly at: string;
  readonly data: object;
}
