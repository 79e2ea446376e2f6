/** The SDK: Parley's socket protocol (and its few REST calls) for browsers and Node. */

export type { Actor } from '../protocol/resources/actor.ts';
export type { ChatMessage, SendMessageBody } from '../protocol/resources/chat-message.ts';
export type { Conversation, CreateConversationBody } from '../protocol/resources/conversation.ts';
export type { InboxSummary } from '../protocol/resources/inbox.ts';
export type { Me } from '../protocol/resources/me.ts';
export type { Notification } from '../protocol/resources/notification.ts';
export type { Participant } from '../protocol/resources/participant.ts';
export type { Person } from '../protocol/resources/person.ts';
export type { SearchHit } from '../protocol/resources/search-hit.ts';
export type { PeopleFilter, SearchFilter } from './api.ts';
export { Client } from './client.ts';
export { CLIENT_ERRORS, type ClientError, type ClientErrorReason } from './client-error.ts';
export type {
  ClientEvents,
  ClientState,
  ConversationSubscription as Subscription,
  FeedEvent,
  SubscribeOptions,
} from './client-events.ts';
export { type ConnectOptions, connect } from './connect.ts';
export type {
  ConversationHandlers,
  Message,
  StreamingText as Writing,
} from './conversation/conversation-feed.ts';
export {
  type ConversationEvents,
  type ConversationOptions,
  LiveConversation,
  type MemberFilter,
} from './conversation/live-conversation.ts';
export type { LocalMessage, SentMessage, TimelineMessage } from './conversation/timeline.ts';
export type { ConversationFilter, ConversationPage } from './conversations.ts';
export type { CallOptions } from './link/call-scope.ts';
export type { ConnectionEnd, SocketConstructor, SocketLike } from './link/connection.ts';
export type { RequestOp } from './link/requests.ts';
export type { PageEvents } from './link/source.ts';
export type { Timing } from './link/timing.ts';
export type { Transport } from './link/transport.ts';
export type { KeyValueStorage } from './link/transport-memory.ts';
export { ParleyError, type ParleyErrorCode } from './parley-error.ts';
export type { AnswerOf, Method, RequestTo, TypedFetch } from './rest/typed-fetch.ts';
export type { AttachmentInput, UploadOptions, UploadProgress } from './rest/upload.ts';
