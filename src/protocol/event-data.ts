import { type Static, type TSchema, Type } from 'typebox';
import { Presence, Read, Typing } from './activity.ts';
import { AgentRun } from './agent-run.ts';
import { ChatMessage } from './chat-message.ts';
import { Conversation } from './conversation.ts';
import type { EventName } from './events.ts';
import { MESSAGE_RESULTS } from './message-outcome.ts';
import { Notification } from './notification.ts';
import { Participant } from './participant.ts';
import { Nullable, OneOf, Timestamp } from './schema.ts';

const Id = Type.String();
const Attempt = Type.Integer({ minimum: 1 });
/** UTF-16 units. */
const Length = Type.Integer({ minimum: 0 });

/** What the end of a stream says of its text, that readers put together piece by piece. */
export const StreamSeal = Type.Object(
  { attempt: Attempt, length: Length, sha256: Type.String() },
  { title: 'stream_seal' },
);
export type StreamSeal = Static<typeof StreamSeal>;

const UpdatedMessage = Type.Object(
  { ...ChatMessage.properties, stream: Type.Optional(StreamSeal) },
  { title: 'updated_message' },
);

const UnsentMessage = Type.Object(
  {
    ...ChatMessage.properties,
    outcome: Nullable(
      Type.Object({
        result: OneOf(MESSAGE_RESULTS),
        reason: Nullable(Type.String()),
        at: Timestamp,
      }),
    ),
    stream: Type.Optional(StreamSeal),
  },
  { title: 'unsent_message' },
);

const { status: _, unread: __, ...shared } = Conversation.properties;
const SharedConversation = Type.Object(shared, { title: 'shared_conversation' });

const LostConversation = Type.Object(
  { id: Id, object: Type.Literal('conversation') },
  { title: 'lost_conversation' },
);

export const MessageDelta = Type.Object({
  message_id: Id,
  attempt: Attempt,
  offset: Length,
  text: Type.String(),
});
export type MessageDelta = Static<typeof MessageDelta>;
export const MessageReset = Type.Object({
  message_id: Id,
  attempt: Attempt,
  keep: Length,
  reason: Type.String(),
});
export type MessageReset = Static<typeof MessageReset>;
export const MessageSnapshot = Type.Object({ message_id: Id, attempt: Attempt, body: Type.String() });
export type MessageSnapshot = Static<typeof MessageSnapshot>;

/** What is in `data` of every event, and what it says (realtime.md section 3). */
export const EVENT_DATA = {
  'message.created': {
    summary: 'A message was sent: each once, in the order of their numbers.',
    data: ChatMessage,
  },
  'message.updated': { summary: 'It was edited, deleted, or written to its end.', data: UpdatedMessage },
  'draft.created': { summary: 'A reply draft waits for approval.', data: UnsentMessage },
  'draft.updated': {
    summary: 'A reply draft was edited, written to its end, or its time is over.',
    data: UnsentMessage,
  },
  'scheduled.updated': {
    summary: 'A scheduled message was edited, or its time is over.',
    data: UnsentMessage,
  },
  'conversation.updated': {
    summary: "The conversation, without what is each reader's own.",
    data: SharedConversation,
  },
  'participant.added': { summary: 'Somebody is in the conversation now.', data: Participant },
  'participant.updated': { summary: 'A role or state of theirs has changed.', data: Participant },
  'participant.removed': { summary: 'Somebody is not in it any more.', data: Participant },
  'conversation.added': { summary: 'The caller may read a conversation.', data: Conversation },
  'conversation.removed': { summary: 'The caller may not read it any more.', data: LostConversation },
  'notification.created': { summary: 'The caller was notified.', data: Notification },
  'notification.updated': {
    summary: 'A notification was seen, read or dismissed, or its message was deleted.',
    data: Notification,
  },
  'agent_run.updated': { summary: 'A run that the caller triggered goes on.', data: AgentRun },
  'message.delta': { summary: 'A message that is being written has grown.', data: MessageDelta },
  'message.reset': { summary: 'Its writer begins anew behind `keep`.', data: MessageReset },
  'message.snapshot': { summary: 'Its text so far, in place of pieces.', data: MessageSnapshot },
  typing: { summary: 'Somebody types, or no more.', data: Typing },
  presence: { summary: 'Somebody is there, away or gone.', data: Presence },
  read: { summary: 'Somebody has read up to a message.', data: Read },
} as const satisfies Record<EventName, { readonly summary: string; readonly data: TSchema }>;
