import { type Static, Type } from 'typebox';
import { AddressOrNone } from '../schema/addresses.ts';
import { ChangedOwnId, NewOwnId, OWN_ID_TEXTS, OwnId } from '../schema/external-ids.ts';
import { Body, describe, Id, Identity, Name, Nullable, OneOf, Times } from '../schema/schema.ts';
import { OptionalSince, Since } from '../schema/since.ts';
import type { Version } from '../versions.ts';
import { AvatarKey } from './avatar.ts';
import { METADATA_TEXTS, MetadataField, MetadataPatch } from './metadata.ts';
import { Role } from './role.ts';
import { ChangedUsername, NewUsername, USERNAME_TEXTS, Username } from './username.ts';

/** The values of `include[]` on the endpoints of users. */
export const USER_INCLUDES = ['role'] as const;

/** From here on a user needs no address. */
export const NO_EMAIL_SINCE = '1.4.harbor' satisfies Version;

/** A person of the account (docs/contract.md#users). Its id is the id of its actor. */
export const User = Type.Object({
  ...Identity('user'),
  actor_id: Since('1.2.harbor', Type.String()),
  name: Type.String(),
  email: AddressOrNone({
    version: NO_EMAIL_SINCE,
    description:
      'Email address, unique within the account; `<id>@no-address.invalid`, which gets no mail, where the user has none.',
  }),
  status: OneOf(['active', 'deactivated']),
  role: Nullable(Role),
  ...Times,
  avatar_url: Since('1.2.harbor', Nullable(Type.String())),
  role_id: Since('1.2.harbor', Nullable(Type.String())),
  metadata: MetadataField,
  external_id: OwnId,
  placeholder: Since('1.3.harbor', Type.Boolean()),
  username: Username,
});
export type User = Static<typeof User>;

describe(User, {
  actor_id: 'Id of the actor as which the user acts, which is always `id`.',
  name: 'Name of the person.',
  email: 'Email address, unique within the account. Null where the user has none.',
  status: 'A `deactivated` user can no longer sign in.',
  role: 'The role that bounds what the user may do. Null unless expanded.',
  role_id: 'Id of the role that `role` expands. Null for a placeholder, and once the person was erased.',
  placeholder:
    'Whether an import made this user for a person of another service. It is deactivated until it is claimed.',
  metadata: METADATA_TEXTS.shown,
  external_id: OWN_ID_TEXTS.field,
  username: USERNAME_TEXTS.shown,
});

export const CreateUserBody = Body({
  name: Name,
  email: OptionalSince(NO_EMAIL_SINCE, Type.String({ format: 'email' })),
  role_id: Id,
  metadata: MetadataField,
  external_id: NewOwnId,
  username: NewUsername,
});
describe(CreateUserBody, {
  name: 'Name of the person.',
  email:
    'Email address, unique within the account; a taken one answers `resource_exists`. Without one the user gets no mail, and signs in by a token.',
  role_id: 'The role of the user; it must grant no more than the caller has.',
  metadata: METADATA_TEXTS.given,
  external_id: OWN_ID_TEXTS.create,
  username: USERNAME_TEXTS.create,
});

/** Body of PUT for a user: all of a new user, else the changes. */
export const PutUserBody = Body({
  name: Type.Optional(Name),
  email: Type.Optional(Type.String({ format: 'email' })),
  role_id: Type.Optional(Id),
  metadata: MetadataField,
  username: ChangedUsername,
});
export type PutUserBody = Static<typeof PutUserBody>;
describe(PutUserBody, {
  name: 'Name of the person. Required for a new user.',
  email:
    'Email address, unique within the account. Required for a new user before 1.4.harbor; another one than the user has answers `resource_conflict`.',
  role_id: 'The role of the user; it must grant no more than the caller has. Required for a new user.',
  metadata: METADATA_TEXTS.put,
  username: USERNAME_TEXTS.change,
});

export const ClaimUserBody = Body({
  email: Type.String({ format: 'email' }),
  role_id: Id,
  name: Type.Optional(Name),
});
describe(ClaimUserBody, {
  email: 'Email address of the person; that of another user answers `resource_exists`.',
  role_id: 'The role of the user; it must grant no more than the caller has.',
  name: 'Another name of the person.',
});

export const UpdateUserBody = Body({
  name: Type.Optional(Name),
  role_id: Type.Optional(Id),
  avatar_s3_key: Type.Optional(AvatarKey),
  metadata: MetadataPatch,
  external_id: ChangedOwnId,
  username: ChangedUsername,
});
describe(UpdateUserBody, {
  name: 'The new name of the person.',
  role_id: 'The new role of the user; it must grant no more than the caller has.',
  metadata: METADATA_TEXTS.changed,
  external_id: OWN_ID_TEXTS.change,
  username: USERNAME_TEXTS.change,
});
