import { type Static, Type } from 'typebox';
import { Handle } from '../schema/addresses.ts';
import { ActorsOwnId, IdOf, OWN_ID_TEXTS } from '../schema/external-ids.ts';
import { Body, describe, Identity, Line, Name, Nullable, OneOf } from '../schema/schema.ts';
import { DECLARED_STATUSES, PRESENCE_STATUSES } from './activity.ts';
import { USERNAME_TEXTS, Username } from './username.ts';

/** A user or agent that one may write to, by its actor's id (docs/contract.md#people). */
export const Person = Type.Object({
  ...Identity('person'),
  type: OneOf(['user', 'agent']),
  name: Nullable(Type.String()),
  handle: Handle('user'),
  avatar_url: Nullable(Type.String()),
  presence: Nullable(OneOf(PRESENCE_STATUSES)),
  external_id: ActorsOwnId,
  username: Username,
});
export type Person = Static<typeof Person>;

describe(Person, {
  id: 'Id of the actor: what participants, mentions, members and assignees are named by.',
  type: 'Whether it is a `user` of the account or an `agent`.',
  name: 'Display name. Null where there is none.',
  handle: 'Email address of a `user`. Null for an `agent`.',
  avatar_url: 'Address of the profile photo, which works without a credential. Null where there is none.',
  presence:
    '`online` or `away` as the sockets of the user say, `offline` after the last one. Null for an `agent`.',
  external_id: OWN_ID_TEXTS.ofActor,
  username: USERNAME_TEXTS.shown,
});

/** Most actors whose presence one request reads. */
const MAX_PRESENCES = 100;

export const PresenceQuery = Body({
  'actor_ids[]': Type.Array(IdOf('user'), { minItems: 1, maxItems: MAX_PRESENCES }),
});

/** The presence of a user (docs/contract.md#people). */
export const ActorPresence = Type.Object({
  object: Type.Literal('actor_presence'),
  actor_id: Type.String(),
  status: OneOf(PRESENCE_STATUSES),
  external_id: ActorsOwnId,
});
export type ActorPresence = Static<typeof ActorPresence>;

describe(ActorPresence, {
  actor_id: 'Id of the user, which is the id of its actor.',
  status: `${DECLARED_STATUSES.map((status) => `\`${status}\``).join(' or ')} as the sockets of the user say, \`offline\` after the last one.`,
  external_id: OWN_ID_TEXTS.ofActor,
});

/** Most actors that one request looks up. */
const MAX_ACTORS = 100;

export const ActorsQuery = Body({
  'actor_ids[]': Type.Array(IdOf('actor'), { minItems: 1, maxItems: MAX_ACTORS }),
});

/** A resource of the account's own application that conversations and messages can point to. */
export const CreateEntityBody = Body({
  name: Name,
  handle: Type.Optional(Line(254)),
});

describe(CreateEntityBody, {
  name: 'Display name, such as the number of a sales order.',
  handle: 'Secondary identifier, such as an email address.',
});
