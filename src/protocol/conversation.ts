import { type Static, Type } from 'typebox';
import { Actor, Entity, MessagingGroup } from './actor.ts';
import { Participant } from './participant.ts';
import { Nullable, OneOf, Timestamp } from './schema.ts';

export const CONVERSATION_TYPES = ['direct_message', 'group', 'system'] as const;
export const AUDIENCES = ['internal', 'customer'] as const;
export const WORKFLOW_STATUSES = [
  'new',
  'open',
  'waiting_internal',
  'waiting_external',
  'needs_approval',
  'resolved',
] as const;
export const CONVERSATION_STATUSES = ['active', 'archived', 'hidden'] as const;
export const LEGAL_HOLDS = ['released', 'held'] as const;

export type ConversationType = (typeof CONVERSATION_TYPES)[number];
export type Audience = (typeof AUDIENCES)[number];

/** Specification, conversation. `status` and `unread` are each reader's own. */
export const Conversation = Type.Object({
  id: Type.String(),
  object: Type.Literal('conversation'),
  type: OneOf(CONVERSATION_TYPES),
  audience: OneOf(AUDIENCES),
  title: Nullable(Type.String()),
  workflow_status: Nullable(OneOf(WORKFLOW_STATUSES)),
  group: Nullable(MessagingGroup),
  status: OneOf(CONVERSATION_STATUSES),
  legal_hold: OneOf(LEGAL_HOLDS),
  assignee: Nullable(Actor),
  participants: Nullable(Type.Array(Participant)),
  topic: Nullable(Entity),
  unread: Type.Integer({ minimum: 0 }),
  last_message_at: Nullable(Timestamp),
  last_message: Nullable(Type.Unsafe<object>({ type: 'object', title: 'chat_message' })),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Conversation = Static<typeof Conversation>;
