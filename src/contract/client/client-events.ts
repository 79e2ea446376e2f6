import type { EventOf } from '../protocol/socket/event-data.ts';
import type { EVENTS } from '../protocol/socket/events.ts';
import type { ConnectionEnd } from './after-close.ts';
import type { ClientError } from './client-error.ts';

/**
 * `connecting`: a connection is being opened. `catching_up`: connected, and something that was
 * missed is still to come. `live`: everything has arrived, and events arrive as they happen.
 * `offline`: waiting for the next try, or ended.
 */
export type ClientState = 'connecting' | 'catching_up' | 'live' | 'offline';

/** The events of the actor's own feed, which arrive whichever conversations are subscribed to. */
export type FeedEvent = {
  [E in keyof typeof EVENTS]: (typeof EVENTS)[E]['stream'] extends 'actor' ? E : never;
}[keyof typeof EVENTS];

/**
 * The arguments of each event's listeners; for events of the feed they are the event's data and its
 * whole frame.
 */
export type ClientEvents = {
  readonly [E in FeedEvent]: readonly [data: EventOf<E>['data'], frame: EventOf<E>];
} & {
  readonly state: readonly [state: ClientState];
  /** The actor's own feed has a gap: load notifications and the list of conversations again. */
  readonly stale: readonly [];
  /** Something prevents the client from connecting, or a request from being answered. */
  readonly error: readonly [error: ClientError];
  /** The client will not connect again: a further try would fail for the same reason. */
  readonly end: readonly [end: ConnectionEnd];
};
