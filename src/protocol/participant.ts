import { type Static, Type } from 'typebox';
import { Actor } from './actor.ts';
import { Nullable, OneOf } from './schema.ts';

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
