import type { EventOf } from '../protocol/socket/event-data.ts';
import type { EVENTS } from '../protocol/socket/events.ts';
import type { ConnectionEnd } from './after-close.ts';
import type { ClientError } from './client-error.ts';

/**
 * `connecting`: on the way · `catching_up`: connected, and something that was missed is still to come ·
 * `live`: everything is there and comes as it happens · `offline`: waiting for the next try, or over.
 */
export type ClientState = 'connecting' | 'catching_up' | 'live' | 'offline';

/** What the actor's own feed brings, whichever conversations are subscribed to. */
export type FeedEvent = {
  [E in keyof typeof EVENTS]: (typeof EVENTS)[E]['stream'] extends 'actor' ? E : never;
}[keyof typeof EVENTS];

/** What the listeners of each event are called with; those of the feed with the event's data and its whole frame. */
export type ClientEvents = {
  readonly [E in FeedEvent]: readonly [data: EventOf<E>['data'], frame: EventOf<E>];
} & {
  readonly state: readonly [state: ClientState];
  /** The actor's own feed has a gap: load notifications and the list of conversations again. */
  readonly stale: readonly [];
  /** Something keeps the client from connecting or a request from being answered. */
  readonly error: readonly [error: ClientError];
  /** It will not connect again: the reason is one that trying again does not change. */
  readonly end: readonly [end: ConnectionEnd];
};
