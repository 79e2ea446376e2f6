import { type Static, Type } from 'typebox';
import { Actor, ENTITY_TYPES, Entity, MessagingGroup } from './actor.ts';
import { PARTICIPANT_LIMITS, Participant, ParticipantInput, UserInput } from './participant.ts';
import { Body, Id, Name, Nullable, OneOf, Timestamp } from './schema.ts';

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
export type WorkflowStatus = (typeof WORKFLOW_STATUSES)[number];

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

/** What `include[]` of the companions that show conversations may name (design.md section 8). */
export const CONVERSATION_INCLUDES = ['assignee', 'group', 'participants', 'topic', 'last_message'] as const;
export type ConversationInclude = (typeof CONVERSATION_INCLUDES)[number];

/** What `include[]` of Set Legal Hold may name (specification, endpoint 2). */
export const LEGAL_HOLD_INCLUDES = ['assignee', 'group', 'participants'] as const;

const Topic = Body({ type: OneOf(ENTITY_TYPES), id: Id });

/** Between two users: the one who asks and another one, or for API keys two others. */
const DirectMessageInput = Body({
  type: Type.Literal('direct_message'),
  audience: Type.Optional(Type.Literal('internal')),
  participants: Type.Array(UserInput, { minItems: 1, maxItems: 2 }),
  topic: Type.Optional(Topic),
});

const GroupInput = Body({
  type: Type.Literal('group'),
  /** Default internal. */
  audience: Type.Optional(OneOf(AUDIENCES)),
  title: Type.Optional(Name),
  participants: Type.Array(ParticipantInput, { maxItems: PARTICIPANT_LIMITS.inARequest }),
  /** Its members are copied in beside `participants`. */
  group_id: Type.Optional(Id),
  topic: Type.Optional(Topic),
});

/** Body of Create Conversation (design.md section 8). `system` conversations are the service's own. */
export type CreateConversationBody = Static<typeof DirectMessageInput> | Static<typeof GroupInput>;
export const CreateConversationBody = Type.Unsafe<CreateConversationBody>({
  type: 'object',
  discriminator: { propertyName: 'type' },
  required: ['type'],
  oneOf: [DirectMessageInput, GroupInput],
});

/** Body of Update Conversation (design.md section 8): what is absent stays, null clears. */
export const UpdateConversationBody = Body({
  title: Type.Optional(Nullable(Name)),
  workflow_status: Type.Optional(OneOf(WORKFLOW_STATUSES)),
  assignee_id: Type.Optional(Nullable(Id)),
  topic: Type.Optional(Nullable(Topic)),
  status: Type.Optional(OneOf(['active', 'archived'])),
});
export type UpdateConversationBody = Static<typeof UpdateConversationBody>;

/** Body of Set Legal Hold (specification, endpoint 2). */
export const SetLegalHoldBody = Body({ legal_hold: OneOf(LEGAL_HOLDS) });

export const MarkReadBody = Body({
  sequence: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
});

export const CustomerTokenBody = Body({ participant_id: Id });
