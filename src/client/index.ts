/** The SDK: Parley's socket protocol (and the few REST calls beside it) for browsers and Node 22. */
export type { ConnectionEnd } from './after-close.ts';
export { Client, RequestFailed, type SubscribeOptions, type Subscription } from './client.ts';
export type { ClientEvents, ClientState, FeedEvent } from './client-events.ts';
export { type ConnectOptions, connect } from './connect.ts';
export type { SocketConstructor, SocketLike } from './connection.ts';
export type { ConversationHandlers, Message, Writing } from './conversation-feed.ts';
export { RestRefused } from './rest.ts';
export type { Timing } from './timing.ts';
