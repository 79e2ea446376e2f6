import type { EVENTS, EventFrame } from '../protocol/events.ts';
import type { ConnectionEnd } from './after-close.ts';

/**
 * `connecting`: on the way · `catching_up`: connected, and something that was missed is still to come ·
 * `live`: everything is there and comes as it happens · `offline`: waiting for the next try, or over.
 */
export type ClientState = 'connecting' | 'catching_up' | 'live' | 'offline';

/** What the actor's own feed brings, whichever conversations are subscribed to. */
export type FeedEvent = {
  [E in keyof typeof EVENTS]: (typeof EVENTS)[E]['stream'] extends 'actor' ? E : never;
}[keyof typeof EVENTS];

export type ClientEvents = { readonly [E in FeedEvent]: EventFrame } & {
  readonly state: ClientState;
  /** It will not connect again: the reason is one that trying again does not change. */
  readonly end: ConnectionEnd;
};
