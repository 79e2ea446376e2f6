import { type Static, Type } from 'typebox';
import { Handle } from '../schema/addresses.ts';
import { ActorsOwnId, OWN_ID_TEXTS, OwnId } from '../schema/external-ids.ts';
import { describe, Identity, Nullable, OneOf, Times } from '../schema/schema.ts';
import { NullBefore, Since } from '../schema/since.ts';
import { USERNAME_TEXTS, Username } from './username.ts';

/** A user, API key, agent or group (docs/contract.md#actors). */
export const Actor = Type.Object({
  ...Identity('actor'),
  type: OneOf(['user', 'api_key', 'agent', 'group']),
  name: Nullable(Type.String()),
  handle: Handle('user'),
  avatar_url: NullBefore({ version: '1.2.harbor', unless: 'type', is: 'user' }, Nullable(Type.String())),
  role: Type.Null(),
  external_id: ActorsOwnId,
  username: Username,
});
export type Actor = Static<typeof Actor>;
export type ActorType = Actor['type'];
/** An actor, as far as events name it that are no resources. */
export type NamedByEvent = Pick<Actor, 'id' | 'external_id'>;

describe(Actor, {
  type: '`user` is a person of the account or a customer, `api_key` a program, `agent` an automated agent, and `group` a shared identity such as the persona Customer Service.',
  name: 'Display name. Null where the actor has none.',
  handle: 'Email address of a `user`, redacted value of an `api_key`. Null for other types.',
  role: 'Reserved, and always null.',
  external_id: OWN_ID_TEXTS.ofActor,
  username: USERNAME_TEXTS.shown,
});

export const ENTITY_TYPES = ['account', 'actor', 'entity'] as const;

/** A pointer to an app resource (docs/contract.md#entities). */
export const Entity = Type.Object({
  ...Identity('entity'),
  type: OneOf(ENTITY_TYPES),
  name: Nullable(Type.String()),
  handle: Handle('actor'),
});
export type Entity = Static<typeof Entity>;

describe(Entity, {
  type: 'Kind of the resource that `id` points to; `object` is always `entity`.',
  name: 'Display name, such as the name of a user or the number of a sales order. Null where there is none.',
  handle: 'Secondary identifier, such as an email address or a redacted API key. Null where there is none.',
});

/**
 * A reusable roster, or a persona such as 'Customer Service' (docs/contract.md#groups). `members`
 * is null except where the groups themselves are requested with `include[]=members`.
 */
export const MessagingGroup = Type.Object({
  ...Identity('messaging_group'),
  actor_id: Since('1.2.harbor', Type.String()),
  name: Type.String(),
  members: Nullable(Type.Array(Actor)),
  ...Times,
  avatar_url: Since('1.2.harbor', Nullable(Type.String())),
  external_id: OwnId,
});
export type MessagingGroup = Static<typeof MessagingGroup>;

describe(MessagingGroup, {
  actor_id:
    'Id of the actor that stands for the group as assignee or sender. Requests that name an actor take this id or `id`.',
  name: 'Name of the group, as customers see it where it is a persona.',
  members: 'Users and agents on the roster, in their order. Null unless expanded.',
  external_id: OWN_ID_TEXTS.field,
});

/** The columns of an actor that every read returns. */
export interface ActorFields {
  readonly id: string;
  readonly type: ActorType;
  readonly name: string | null;
  readonly handle: string | null;
  readonly avatar_url: string | null;
  readonly external_id: string | null;
  readonly username: string | null;
}

/** Returns the actor. Only users and keys show a handle (docs/contract.md#actors). */
export function presentActor(fields: ActorFields): Actor {
  const { id, type, name, handle, avatar_url, external_id, username } = fields;
  return {
    id,
    object: 'actor',
    type,
    name,
    handle: type === 'user' || type === 'api_key' ? handle : null,
    avatar_url,
    role: null,
    external_id,
    username,
  };
}

/**
 * A message within a part of a message. chat-message.ts, which imports these parts, adds its fields
 * here, so that no part imports it.
 */
export interface MentionedMessage {
  readonly object: 'chat_message';
}

/** Its schema: the name of the resource (packages/protocol/forms/mentions.ts). */
export const MentionedMessage = Type.Unsafe<MentionedMessage>({ type: 'object', title: 'chat_message' });
