/** The SDK: Parley's socket protocol (and its few REST calls) for browsers and Node 22. */

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
export type { CallOptions } from './call-scope.ts';
export { Client } from './client.ts';
export { CLIENT_ERRORS, ClientClosed, type ClientError, type ClientErrorReason } from './client-error.ts';
export type {
  ClientEvents,
  ClientState,
  ConversationSubscription as Subscription,
  FeedEvent,
  SubscribeOptions,
} from './client-events.ts';
export { type ConnectOptions, connect } from './connect.ts';
export type { ConnectionEnd, SocketConstructor, SocketLike } from './connection.ts';
export type { ConversationHandlers, Message, StreamingText as Writing } from './conversation-feed.ts';
export type { ConversationFilter, ConversationPage } from './conversations.ts';
export {
  type ConversationEvents,
  type ConversationOptions,
  LiveConversation,
  type MemberFilter,
} from './live-conversation.ts';
export { RequestFailed, type RequestOp } from './requests.ts';
export { type FetchOptions, RestRefused } from './rest.ts';
export type { PageEvents } from './source.ts';
export type { LocalMessage, SentMessage, TimelineMessage } from './timeline.ts';
export type { Timing } from './timing.ts';
export type { AttachmentInput, UploadOptions, UploadProgress } from './upload.ts';
