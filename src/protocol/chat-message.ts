import { type Static, Type } from 'typebox';
import { Actor, ENTITY_TYPES, Entity } from './actor.ts';
import { AgentRun } from './agent-run.ts';
import { ATTACHMENT_KINDS, Attachment } from './attachment.ts';
import { Conversation } from './conversation.ts';
import { Body, Nullable, OneOf, Timestamp } from './schema.ts';

export const MESSAGE_KINDS = ['chat', 'system_event', 'agent', 'scheduled', 'alert', 'email'] as const;
export const MESSAGE_STATUSES = [
  'draft',
  'scheduled',
  'sent',
  'canceled',
  'rejected',
  'failed',
  'superseded',
] as const;
export const VISIBILITIES = ['internal', 'external', 'system'] as const;
export const CHANNELS = ['message', 'email'] as const;

export type MessageKind = (typeof MESSAGE_KINDS)[number];
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];
export type Visibility = (typeof VISIBILITIES)[number];
export type Channel = (typeof CHANNELS)[number];

/** Sizes of a message (design.md section 7). */
export const MESSAGE_LIMITS = {
  bodyCharacters: 40_000,
  attachments: 20,
  mentions: 50,
  cc: 50,
  clientMessageIdCharacters: 255,
  subjectCharacters: 998,
  urlCharacters: 2_048,
} as const;

/** Specification, chat_message. Sub-objects are null unless the caller asked for them. */
export const ChatMessage = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat_message'),
  kind: OneOf(MESSAGE_KINDS),
  status: OneOf(MESSAGE_STATUSES),
  visibility: OneOf(VISIBILITIES),
  conversation: Nullable(Conversation),
  sequence: Nullable(Type.Integer({ minimum: 1 })),
  body: Nullable(Type.String()),
  subject: Nullable(Type.String()),
  sender: Nullable(Actor),
  author: Nullable(Actor),
  attachments: Nullable(Type.Array(Attachment)),
  reply_to: Nullable(Type.Unsafe<object>({ type: 'object', title: 'chat_message' })),
  resource: Nullable(Entity),
  channel: OneOf(CHANNELS),
  scheduled_at: Nullable(Timestamp),
  agent_run: Nullable(AgentRun),
  streaming_state: Nullable(OneOf(['streaming', 'complete'])),
  client_message_id: Nullable(Type.String()),
  edited_at: Nullable(Timestamp),
  deleted_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type ChatMessage = Static<typeof ChatMessage>;

/** What `include[]` of Send Message may name (specification, endpoint 1). */
export const SEND_MESSAGE_INCLUDES = ['sender', 'author', 'resource'] as const;

/** What `include[]` of the companions that show messages may name (design.md section 8). */
export const MESSAGE_INCLUDES = [
  'conversation',
  'sender',
  'author',
  'attachments',
  'reply_to',
  'resource',
  'agent_run',
] as const;
export type MessageInclude = (typeof MESSAGE_INCLUDES)[number];

const Text = (maxLength: number) => Type.String({ maxLength });
const Addresses = Type.Array(Type.String({ format: 'email' }), { maxItems: MESSAGE_LIMITS.cc });

const AttachmentInput = Body({
  kind: OneOf(ATTACHMENT_KINDS),
  s3_key: Type.Optional(Text(1_024)),
  filename: Type.Optional(Text(255)),
  content_type: Type.Optional(Text(255)),
  size_bytes: Type.Optional(Type.Integer({ minimum: 0 })),
  url: Type.Optional(Text(MESSAGE_LIMITS.urlCharacters)),
  resource_type: Type.Optional(OneOf(ENTITY_TYPES)),
  resource_id: Type.Optional(Text(64)),
});

/**
 * Body of Send Message (specification, endpoint 1). What one field demands of another (body or
 * attachment, client_message_id in mode send, paired link fields) is checked by messages/rules.ts.
 */
export const SendMessageBody = Body({
  body: Type.Optional(Text(MESSAGE_LIMITS.bodyCharacters)),
  mode: Type.Optional(OneOf(['send', 'draft'])),
  channel: Type.Optional(OneOf(CHANNELS)),
  source_thread_message_id: Type.Optional(Text(64)),
  client_message_id: Type.Optional(Text(MESSAGE_LIMITS.clientMessageIdCharacters)),
  audience: Type.Optional(OneOf(['internal', 'customer'])),
  subject: Type.Optional(Text(MESSAGE_LIMITS.subjectCharacters)),
  cc: Type.Optional(Addresses),
  scheduled_at: Type.Optional(Timestamp),
  reply_to_message_id: Type.Optional(Text(64)),
  link_resource_type: Type.Optional(OneOf(ENTITY_TYPES)),
  link_resource_id: Type.Optional(Text(64)),
  attachments: Type.Optional(Type.Array(AttachmentInput, { maxItems: MESSAGE_LIMITS.attachments })),
  mentions: Type.Optional(Type.Array(Text(64), { maxItems: MESSAGE_LIMITS.mentions })),
});
export type SendMessageBody = Static<typeof SendMessageBody>;

/**
 * Body of Update Message (design.md section 8): what is absent stays, "" and [] clear. Which of these a
 * message takes in its state is checked by messages/edit-rules.ts.
 */
export const EditMessageBody = Body({
  body: Type.Optional(Text(MESSAGE_LIMITS.bodyCharacters)),
  subject: Type.Optional(Text(MESSAGE_LIMITS.subjectCharacters)),
  cc: Type.Optional(Addresses),
  scheduled_at: Type.Optional(Timestamp),
});
export type EditMessageBody = Static<typeof EditMessageBody>;

/** Body of Approve Reply Draft (design.md section 7): what the approver has seen. */
export const ApproveDraftBody = Body({
  /** The draft's `updated_at`. */
  if_version: Type.Optional(Timestamp),
  /** The highest sequence of the conversation. */
  if_last_sequence: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});
export type ApproveDraftBody = Static<typeof ApproveDraftBody>;
