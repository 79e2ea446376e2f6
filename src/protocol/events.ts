/**
 * Every event a socket can get (realtime.md section 3). `stream` is whose channel it travels on;
 * `order` is how nodes deliver it: `created` strictly by number, `updated` behind the message it is
 * about, `durable` as it comes, `ephemeral` not at all when the reader is slow.
 */
export const EVENTS = {
  'message.created': { stream: 'conversation', order: 'created', customers: true },
  'message.updated': { stream: 'conversation', order: 'updated', customers: true },
  'draft.created': { stream: 'conversation', order: 'durable', customers: false },
  'draft.updated': { stream: 'conversation', order: 'durable', customers: false },
  'scheduled.updated': { stream: 'conversation', order: 'durable', customers: false },
  'conversation.updated': { stream: 'conversation', order: 'durable', customers: false },
  'participant.added': { stream: 'conversation', order: 'durable', customers: false },
  'participant.updated': { stream: 'conversation', order: 'durable', customers: false },
  'participant.removed': { stream: 'conversation', order: 'durable', customers: false },
  'conversation.added': { stream: 'actor', order: 'durable', customers: true },
  'conversation.removed': { stream: 'actor', order: 'durable', customers: true },
  'notification.created': { stream: 'actor', order: 'durable', customers: false },
  'notification.updated': { stream: 'actor', order: 'durable', customers: false },
  'agent_run.updated': { stream: 'actor', order: 'durable', customers: false },
  'message.delta': { stream: 'conversation', order: 'ephemeral', customers: true },
  'message.reset': { stream: 'conversation', order: 'ephemeral', customers: true },
  'message.snapshot': { stream: 'conversation', order: 'ephemeral', customers: true },
  typing: { stream: 'conversation', order: 'ephemeral', customers: false },
  presence: { stream: 'conversation', order: 'ephemeral', customers: false },
  read: { stream: 'conversation', order: 'ephemeral', customers: false },
} as const satisfies Record<
  string,
  {
    readonly stream: 'conversation' | 'actor';
    readonly order: 'created' | 'updated' | 'durable' | 'ephemeral';
    readonly customers: boolean;
  }
>;

export type EventName = keyof typeof EVENTS;

/** An event frame as a socket gets it. */
export interface EventFrame {
  readonly type: 'event';
  readonly event: EventName;
  readonly conversation_id?: string;
  readonly sequence?: number;
  readonly at: string;
  readonly data: object;
}
