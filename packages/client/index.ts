/** The SDK: Parley's socket protocol and its REST API for browsers and Node. */

export type { List } from '@parley/protocol/lists.ts';
export type { DeclaredStatus, PresenceStatus } from '@parley/protocol/resources/activity.ts';
export type { Actor } from '@parley/protocol/resources/actor.ts';
export type { AgentRun, AgentRunAction, AgentRunStep } from '@parley/protocol/resources/agent-run.ts';
export type {
  ApproveDraftBody,
  ChatMessage,
  EditMessageBody,
  MessageOutcome,
  MessageRevision,
  SendMessageBody,
} from '@parley/protocol/resources/chat-message.ts';
export type { Conversation, CreateConversationBody } from '@parley/protocol/resources/conversation.ts';
export type { ConversationFile } from '@parley/protocol/resources/conversation-file.ts';
export type { Import } from '@parley/protocol/resources/import.ts';
export type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
export type { Me } from '@parley/protocol/resources/me.ts';
export type { Notification, NotificationSummary } from '@parley/protocol/resources/notification.ts';
export type {
  NotificationSettings,
  SetNotificationSettingsBody,
} from '@parley/protocol/resources/notification-settings.ts';
export type { Block, Participant, ParticipantInput } from '@parley/protocol/resources/participant.ts';
export type { Person } from '@parley/protocol/resources/person.ts';
export type { Pin } from '@parley/protocol/resources/pin.ts';
export type { PushSubscription as PushRegistration } from '@parley/protocol/resources/push-subscription.ts';
export type { Reaction } from '@parley/protocol/resources/reaction.ts';
export type { SearchHit } from '@parley/protocol/resources/search-hit.ts';
export type { PeopleFilter, ProfileChange, SearchFilter } from './api.ts';
export { Client } from './client.ts';
export { type ConnectOptions, connect } from './connect.ts';
export { type ConversationOptions, LiveConversation } from './conversation/live-conversation.ts';
export { LiveThread, type ThreadOptions } from './conversation/live-thread.ts';
export { LiveWindow, type WindowOptions } from './conversation/live-window.ts';
export type {
  ForwardInput,
  HistoryFilter,
  MemberFilter,
  PageSize,
} from './conversation/view/conversation-queries.ts';
export type {
  ConversationEnd,
  ConversationEvents,
  ConversationSnapshot,
  People,
  ReadPosition,
  ThreadEvents,
  ThreadSnapshot,
  WindowSnapshot,
} from './conversation/view/conversation-snapshot.ts';
export type { LocalAttachment, LocalMessage } from './conversation/view/local-echo.ts';
export type { SentMessage, TimelineMessage } from './conversation/view/timeline.ts';
export { CLIENT_ERRORS, type ClientError, type ClientErrorReason } from './errors/client-error.ts';
export type { ConnectionEnd } from './errors/connection-end.ts';
export { ParleyError, type ParleyErrorCode } from './errors/parley-error.ts';
export type {
  ClientEvents,
  ClientState,
  ConversationSubscription as Subscription,
  FeedEvent,
  SubscribeOptions,
} from './events/client-events.ts';
export type {
  ConversationHandlers,
  Message,
  StreamingText,
} from './events/conversation-feed.ts';
export type { Inbox } from './inbox/inbox.ts';
export type { InboxQuery, InboxSnapshot } from './inbox/inbox-snapshot.ts';
export type { Activity, PageEvents } from './link/activity.ts';
export type { CallOptions } from './link/call-scope.ts';
export type { SocketConstructor, SocketLike } from './link/connection.ts';
export type { RequestOp } from './link/requests.ts';
export type { Transport } from './link/transport.ts';
export type { KeyValueStorage } from './link/transport-memory.ts';
export type { ConnectionSnapshot, ConnectionStatus } from './live/connection-status.ts';
export { type Change, LiveObject } from './live/live-object.ts';
export type { Loading } from './live/loaded-object.ts';
export type { NotificationQuery, NotificationsSnapshot } from './notifications/feed-snapshot.ts';
export type { Notifications } from './notifications/notifications.ts';
export type { KnownPeople } from './people/known-people.ts';
export type { Presence } from './people/presence.ts';
export type { PresenceSnapshot } from './people/presence-snapshot.ts';
export type { Push } from './push/push.ts';
export type { PushState, WorkerAddress } from './push/push-state.ts';
export type {
  ConversationChange,
  ConversationFilter,
  ConversationPage,
  Conversations,
  ParticipantChange,
} from './rest/conversations.ts';
export type { ArchiveFacts, ImportOptions } from './rest/import-archive.ts';
export type { AnswerOf, Method, RequestTo, TypedFetch } from './rest/typed-fetch.ts';
export type { AttachmentInput, UploadOptions, UploadProgress } from './rest/upload.ts';
export type { Run } from './runs/run.ts';
export type { RunSnapshot } from './runs/run-snapshot.ts';
export type { RunFilter, Runs } from './runs/runs.ts';
export type { Timing } from './timing/timing.ts';
