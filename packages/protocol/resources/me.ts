import { type Static, Type } from 'typebox';
import { Body, describe, Name, Nullable } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { Account } from './account.ts';
import { Actor } from './actor.ts';
import { AvatarKey } from './avatar.ts';
import { Role } from './role.ts';
import { User } from './user.ts';
import { ChangedUsername, USERNAME_TEXTS } from './username.ts';

/** The caller: its actor, its account, and what it may do (docs/contract.md#the-caller). */
export const Me = Type.Object({
  object: Type.Literal('me'),
  actor: Actor,
  account: Account,
  user: Nullable(User),
  role: Nullable(Role),
  permissions: Type.Array(Type.String()),
  operator: Since('1.3.harbor', Type.Boolean()),
});
export type Me = Static<typeof Me>;

describe(Me, {
  actor: 'The actor as which the caller acts: the author of what it sends.',
  account: 'The account that the credential belongs to.',
  user: 'The user behind the credential. Null for API keys and agents.',
  role: 'The role that bounds what the caller may do. Null where it has none, which then permits nothing.',
  permissions:
    'Everything that the role permits, each as `{permission}:{action}`; for an admin role all permissions.',
  operator:
    'Whether the caller is an operator, with a session of its own: it sees the installation as a whole.',
});

export const UpdateMeBody = Body({
  name: Type.Optional(Name),
  avatar_s3_key: Type.Optional(AvatarKey),
  username: ChangedUsername,
});
export type UpdateMeBody = Static<typeof UpdateMeBody>;
describe(UpdateMeBody, { name: 'The new name of the person.', username: USERNAME_TEXTS.change });
