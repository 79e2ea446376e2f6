import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import type { EVENTS } from '@parley/protocol/socket/events.ts';
import type { ClientError } from '../errors/client-error.ts';
import type { ConnectionEnd } from '../errors/connection-end.ts';
import type { ConversationHandlers } from './conversation-feed.ts';

/**
 * `connecting`: a connection is being opened. `catching_up`: connected, but missed events are still
 * to come. `live`: everything has arrived, and events arrive as they happen. `offline`: waiting for
 * the next try, or ended.
 */
export type ClientState = 'connecting' | 'catching_up' | 'live' | 'offline';

/** The events of the actor's feed, which arrive without any subscription. */
export type FeedEvent = {
  [E in keyof typeof EVENTS]: (typeof EVENTS)[E]['stream'] extends 'actor' ? E : never;
}[keyof typeof EVENTS];

/** Events of the own feed; all others are of a conversation. */
export const FEED_EVENTS: Readonly<Record<FeedEvent, true>> = {
  'conversation.added': true,
  'conversation.removed': true,
  'notification.created': true,
  'notification.updated': true,
  'agent_run.updated': true,
  'inbox.updated': true,
  'inbox.changed': true,
};

/** The arguments of each event's listeners; for feed events their data and the whole frame. */
export type ClientEvents = {
  readonly [E in FeedEvent]: readonly [data: EventOf<E>['data'], frame: EventOf<E>];
} & {
  /** `Client.state` has changed. */
  readonly state: readonly [state: ClientState];
  /** The actor's feed has a gap: load notifications and the list of conversations again. */
  readonly stale: readonly [];
  /** Something prevents the client from connecting, or a request from being answered. */
  readonly error: readonly [error: ClientError];
  /** The client will not connect again, because another try would fail for the same reason. */
  readonly end: readonly [end: ConnectionEnd];
};

/** The handlers of a subscription, and its first message. */
export interface SubscribeOptions extends ConversationHandlers {
  /** The last message number that the application has. By default only new messages arrive. */
  readonly afterSequence?: number;
  /** Begins this many numbers before the newest, if `afterSequence` is absent. */
  readonly backlog?: number;
}

/** A subscription to the bare stream of a conversation. */
export interface ConversationSubscription {
  /** Id of the conversation. */
  readonly conversationId: string;
  /** Every message up to this number that the caller may see has been passed to the handlers. */
  readonly completeThrough: number;
  /** Ends the subscription: no handler is called any more. */
  unsubscribe(): void;
}

/** The listeners of each event. A listener's error is uncaught and affects nothing else. */
export class Listeners<Events extends Readonly<Record<string, readonly unknown[]>>> {
  readonly #byEvent: { [E in keyof Events]?: Set<(...args: Events[E]) => void> } = {};

  /** Returns the function that removes the listener. */
  add<E extends keyof Events>(event: E, listener: (...args: Events[E]) => void): () => void {
    const listeners: Set<(...args: Events[E]) => void> = this.#byEvent[event] ?? new Set();
    this.#byEvent[event] = listeners;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  emit<E extends keyof Events>(event: E, ...args: Events[E]): void {
    for (const listener of [...(this.#byEvent[event] ?? [])]) isolate(() => listener(...args));
  }
}

/** Runs a handler of the application; its error is thrown later, outside the client. */
export function isolate(run: () => void): void {
  try {
    run();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
