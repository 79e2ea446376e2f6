import { type Static, Type } from 'typebox';
import { Actor } from './actor.ts';
import { Body, Id, Name, Nullable, OneOf } from './schema.ts';

export const PARTICIPANT_TYPES = ['user', 'agent', 'system', 'customer'] as const;
export const PARTICIPANT_ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export const MEMBERSHIPS = ['active', 'left', 'removed', 'hidden'] as const;
export const MUTINGS = ['unmuted', 'muted'] as const;
export const TRIGGER_POLICIES = ['mention', 'keyword', 'always'] as const;

/** A member of a conversation (specification, conversation_participant); companions fill `actor`. */
export const Participant = Type.Object({
  id: Type.String(),
  object: Type.Literal('conversation_participant'),
  type: OneOf(PARTICIPANT_TYPES),
  role: OneOf(PARTICIPANT_ROLES),
  membership: OneOf(MEMBERSHIPS),
  notifications: OneOf(MUTINGS),
  actor: Nullable(Actor),
  agent_trigger_policy: Nullable(OneOf(TRIGGER_POLICIES)),
  agent_trigger_keywords: Type.Array(Type.String()),
});
export type Participant = Static<typeof Participant>;

/** Most participants in one request, and most trigger keywords of an agent. */
export const PARTICIPANT_LIMITS = { inARequest: 100, keywords: 50, keywordCharacters: 64 } as const;

const Keywords = Type.Array(Type.String({ minLength: 1, maxLength: PARTICIPANT_LIMITS.keywordCharacters }), {
  maxItems: PARTICIPANT_LIMITS.keywords,
});

/** A teammate; `role` is member unless given. */
export const UserInput = Body({
  type: Type.Literal('user'),
  actor_id: Id,
  role: Type.Optional(OneOf(PARTICIPANT_ROLES)),
});

/** Its policy is `mention` unless given; `keyword` demands keywords (conversations/roster.ts). */
const AgentInput = Body({
  type: Type.Literal('agent'),
  actor_id: Id,
  role: Type.Optional(OneOf(PARTICIPANT_ROLES)),
  agent_trigger_policy: Type.Optional(OneOf(TRIGGER_POLICIES)),
  agent_trigger_keywords: Type.Optional(Keywords),
});

/** The outside person of a case: one that the account knows by `actor_id`, or a new one by `name` and `email`. */
const CustomerInput = Body({
  type: Type.Literal('customer'),
  actor_id: Type.Optional(Id),
  name: Type.Optional(Name),
  email: Type.Optional(Type.String({ format: 'email' })),
  role: Type.Optional(OneOf(['member', 'viewer'])),
});

/** Body of Add Participant, and an item of a new conversation's `participants` (design.md section 8). */
export type ParticipantInput =
  | Static<typeof UserInput>
  | Static<typeof AgentInput>
  | Static<typeof CustomerInput>;
export const ParticipantInput = Type.Unsafe<ParticipantInput>({
  type: 'object',
  discriminator: { propertyName: 'type' },
  required: ['type'],
  oneOf: [UserInput, AgentInput, CustomerInput],
});

/** Body of Update Participant (design.md section 8): what is absent stays. */
export const UpdateParticipantBody = Body({
  role: Type.Optional(OneOf(PARTICIPANT_ROLES)),
  /** One's own alone. */
  notifications: Type.Optional(OneOf(MUTINGS)),
  agent_trigger_policy: Type.Optional(OneOf(TRIGGER_POLICIES)),
  agent_trigger_keywords: Type.Optional(Keywords),
});
export type UpdateParticipantBody = Static<typeof UpdateParticipantBody>;
