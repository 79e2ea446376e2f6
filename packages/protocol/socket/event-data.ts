import { type Static, type TSchema, Type } from 'typebox';
import { Presence, Read, Typing } from '../resources/activity.ts';
import { AgentRun } from '../resources/agent-run.ts';
import { ChatMessage, MESSAGE_RESULTS } from '../resources/chat-message.ts';
import { Conversation } from '../resources/conversation.ts';
import { InboxSummary } from '../resources/inbox.ts';
import { Notification } from '../resources/notification.ts';
import { Participant } from '../resources/participant.ts';
import { REACTION_LIMITS, ReactionCount } from '../resources/reaction.ts';
import { describe, described, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import type { EventFrame, EventName } from './events.ts';

const Id = Type.String();
const MessageId = described(Id, 'Id of the message that is being written.');
const Attempt = Type.Integer({
  minimum: 1,
  description: 'Number of the attempt at the text; pieces of an older one are to be ignored.',
});
/** UTF-16 units. */
const Length = Type.Integer({ minimum: 0 });

/** The seal of a streamed text, which readers assemble from pieces and compare with it. */
export const StreamSeal = Type.Object(
  { attempt: Attempt, length: Length, sha256: Type.String() },
  { title: 'stream_seal' },
);
export type StreamSeal = Static<typeof StreamSeal>;

describe(StreamSeal, {
  attempt: 'Number of the attempt that became the text.',
  length: 'Length of the text in UTF-16 units.',
  sha256: 'SHA-256 of the text in UTF-8, to compare with the text that was put together piece by piece.',
});
const Stream = Type.Optional(
  described(StreamSeal, 'What the text that was streamed must come to. Present where it was streamed.'),
);

const UpdatedMessage = Type.Object(
  { ...ChatMessage.properties, stream: Stream },
  { title: 'updated_message' },
);

const Outcome = Type.Object({
  result: OneOf(MESSAGE_RESULTS),
  reason: Nullable(Type.String()),
  at: Timestamp,
});
describe(Outcome, {
  result: 'How it ended.',
  reason: 'Why, where there is more to say than the result does. Null otherwise.',
  at: 'When it ended.',
});

const UnsentMessage = Type.Object(
  {
    ...ChatMessage.properties,
    outcome: described(Nullable(Outcome), 'How the message ended. Null while that is open.'),
    stream: Stream,
  },
  { title: 'unsent_message' },
);

const OWN = ['status', 'unread', 'last_read_sequence', 'snoozed', 'snoozed_until'] as const;
const SharedConversation = Type.Object(Type.Omit(Conversation, OWN).properties, {
  title: 'shared_conversation',
});

export const LostConversation = Type.Object(
  {
    id: Id,
    object: Type.Literal('conversation'),
    reason: Since('1.2.harbor', OneOf(['left', 'removed', 'deleted'])),
  },
  { title: 'lost_conversation' },
);
export type LostConversation = Static<typeof LostConversation>;

describe(LostConversation, {
  id: 'Id of the conversation.',
  reason:
    'Why: the caller has left, was removed, or the conversation was deleted. A deleted one may be restored, which is `conversation.added`.',
});

export const MessageDelta = Type.Object({
  message_id: MessageId,
  attempt: Attempt,
  offset: described(Length, 'Where the piece begins, in UTF-16 units from the start of the text.'),
  text: described(Type.String(), 'The piece of text, which begins at `offset`.'),
});
export type MessageDelta = Static<typeof MessageDelta>;
export const MessageReset = Type.Object({
  message_id: MessageId,
  attempt: Attempt,
  keep: described(Length, 'How much of the text stays, in UTF-16 units; what is behind it is dropped.'),
  reason: described(Type.String(), 'Why the text is dropped.'),
});
export type MessageReset = Static<typeof MessageReset>;
export const MessageSnapshot = Type.Object({
  message_id: MessageId,
  attempt: Attempt,
  body: described(Type.String(), 'The text so far, which replaces what the reader has.'),
});
export type MessageSnapshot = Static<typeof MessageSnapshot>;

export const MessagesPurged = Type.Object(
  { conversation_id: Id, through_sequence: Type.Integer({ minimum: 0 }) },
  { title: 'messages_purged' },
);
export type MessagesPurged = Static<typeof MessagesPurged>;
describe(MessagesPurged, { through_sequence: 'The highest `sequence` that is gone.' });

export const MessageReacted = Type.Object(
  { message_id: Id, reactions: Type.Array(ReactionCount, { maxItems: REACTION_LIMITS.kinds }) },
  { title: 'message_reacted' },
);
export type MessageReacted = Static<typeof MessageReacted>;
describe(MessageReacted, {
  reactions:
    'All reactions of the message, which replace those that the reader has, in the order in which each emoji was first used.',
});

export const MessagePinned = Type.Object(
  { message_id: Id, pinned_by: Nullable(Id), pinned_at: Nullable(Timestamp) },
  { title: 'message_pinned' },
);
export type MessagePinned = Static<typeof MessagePinned>;
describe(MessagePinned, {
  pinned_by: 'Id of the actor that pinned it. Null where it is not pinned any more.',
  pinned_at: 'When it was pinned. Null where it is not pinned any more.',
});

export const InboxChanged = Type.Object(
  { conversation_ids: Nullable(Type.Array(Id)) },
  { title: 'inbox_changed' },
);
export type InboxChanged = Static<typeof InboxChanged>;
describe(InboxChanged, {
  conversation_ids:
    'Ids of conversations that may have moved, changed or left the lists of the caller: `GET /v1/messaging/conversations` with `conversation_ids[]` shows them. Null where they cannot be named: read the lists again.',
});

/** The fields of `data` for every event (docs/realtime.md#events). */
export const EVENT_DATA = {
  'message.created': {
    summary: 'A message was sent. Each is delivered once, in the order of `sequence`.',
    data: ChatMessage,
  },
  'message.updated': {
    summary: 'A message was edited or deleted, or its streamed text is complete.',
    data: UpdatedMessage,
  },
  'message.reacted': {
    summary:
      'An actor has reacted to a message, or has taken a reaction back. `data` has all reactions of it.',
    data: MessageReacted,
  },
  'message.pinned': {
    summary: 'A message was pinned in its conversation, or is not pinned any more.',
    data: MessagePinned,
  },
  'messages.purged': {
    summary:
      'The oldest messages of the conversation are gone for good: drop those up to `through_sequence`. Their numbers are not used again.',
    data: MessagesPurged,
  },
  'draft.created': { summary: 'A reply draft waits for approval.', data: UnsentMessage },
  'draft.updated': {
    summary: 'A reply draft was edited or decided, or its streamed text is complete.',
    data: UnsentMessage,
  },
  'scheduled.updated': {
    summary:
      'A scheduled message was created, edited, sent, canceled, or failed. Sent to its author, and on a case to the team.',
    data: UnsentMessage,
  },
  'conversation.updated': {
    summary: 'A conversation changed. Fields that differ for each reader are left out.',
    data: SharedConversation,
  },
  'participant.added': { summary: 'An actor joined the conversation.', data: Participant },
  'participant.updated': { summary: "A participant's role or state changed.", data: Participant },
  'participant.removed': { summary: 'An actor left the conversation or was removed.', data: Participant },
  'conversation.added': { summary: 'The caller can read a conversation from now on.', data: Conversation },
  'conversation.removed': {
    summary:
      'The caller can no longer read a conversation. One that was deleted says so to its subscribers too, with `conversation_id` in the frame.',
    data: LostConversation,
  },
  'notification.created': { summary: 'The caller was notified.', data: Notification },
  'notification.updated': {
    summary:
      'A notification was seen, read or dismissed, also by reading its conversation; or its message was edited or deleted, or its work was done.',
    data: Notification,
  },
  'agent_run.updated': { summary: 'The status of a run that the caller triggered changed.', data: AgentRun },
  'inbox.updated': {
    summary:
      'The caller’s conversations have moved, or their counts have changed: all of them as they are now, once a second at most.',
    data: InboxSummary,
  },
  'inbox.changed': {
    summary:
      'Conversations of the caller have moved or changed, or it has read them: which, so that a client that holds a list asks for these alone.',
    data: InboxChanged,
  },
  'message.delta': {
    summary: 'A piece of text was added to a message that an agent streams.',
    data: MessageDelta,
  },
  'message.reset': {
    summary: 'The writer drops the text after `keep` and continues from there.',
    data: MessageReset,
  },
  'message.snapshot': {
    summary: 'The whole text so far of a message that an agent streams. It replaces the pieces.',
    data: MessageSnapshot,
  },
  typing: { summary: 'An actor started or stopped typing.', data: Typing },
  presence: { summary: 'The presence of an actor changed: online, away or offline.', data: Presence },
  read: { summary: 'An actor moved its read position.', data: Read },
} as const satisfies Record<EventName, { readonly summary: string; readonly data: TSchema }>;

/** Event frames with the type of their data: comparing `event` narrows it. */
export type EventOf<E extends EventName = EventName> = {
  readonly [N in E]: Omit<EventFrame, 'event' | 'data'> & {
    readonly event: N;
    readonly data: Static<(typeof EVENT_DATA)[N]['data']>;
  };
}[E];
