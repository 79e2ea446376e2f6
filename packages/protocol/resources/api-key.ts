import { type Static, Type } from 'typebox';
import { Body, describe, Id, Identity, Name, Nullable, OneOf, Times, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { Account } from './account.ts';
import { Role } from './role.ts';
import { User } from './user.ts';

/** The values of `include[]` on the endpoints of API keys. */
export const API_KEY_INCLUDES = ['role'] as const;

/** The credential of a program (docs/contract.md#api-keys). The secret cannot be read again. */
export const ApiKey = Type.Object({
  ...Identity('api_key'),
  name: Type.String(),
  redacted: Type.String(),
  actor_id: Type.String(),
  role: Nullable(Role),
  status: OneOf(['active', 'expired', 'revoked']),
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  ...Times,
  role_id: Since('1.2.harbor', Nullable(Type.String())),
});
export type ApiKey = Static<typeof ApiKey>;

describe(ApiKey, {
  name: 'Name of the key for people.',
  redacted: 'The end of the secret, by which its owner recognizes it.',
  actor_id: 'Id of the actor as which the key acts.',
  role: 'The role that bounds what the key may do. Null unless expanded.',
  status: 'Whether the key is `active`, `expired` or `revoked`.',
  expires_at: 'When the key expires. Null if it never does.',
  revoked_at: 'When the key was revoked, which is permanent. Null unless it was.',
  role_id: 'Id of the role that `role` expands.',
});

/** The form with the secret, shown once when the key is made. */
export const NewApiKey = Type.Object(
  {
    ...ApiKey.properties,
    key: Type.String({ description: 'The secret, shown this once. Send it as `Authorization: Bearer`.' }),
  },
  { title: 'new_api_key' },
);
export type NewApiKey = Static<typeof NewApiKey>;

/** Without `expires_at` the key does not expire. */
export const CreateApiKeyBody = Body({
  name: Name,
  role_id: Id,
  expires_at: Type.Optional(Timestamp),
});
describe(CreateApiKeyBody, {
  name: 'Name of the key for people.',
  role_id: 'The role that bounds what the key may do; it must grant no more than the caller has.',
  expires_at: 'When the key expires, in the future. Without it the key does not expire.',
});

/** The result of a public registration (docs/contract.md#registration). */
export const Registration = Type.Object({
  object: Type.Literal('registration'),
  account: Account,
  user: User,
  api_key: NewApiKey,
});
export type Registration = Static<typeof Registration>;

describe(Registration, {
  account: 'The new account. Its id is what `Service-Account` takes.',
  user: 'Its first user, who is an admin.',
  api_key: 'Its first API key, with the role of an admin. The secret is shown this once.',
});

/** Body of Register (docs/contract.md#registration). */
export const RegisterBody = Body({
  account_name: Name,
  name: Name,
  email: Type.String({ format: 'email' }),
});
export type RegisterBody = Static<typeof RegisterBody>;

describe(RegisterBody, {
  account_name: 'Name of the new account, on one line. Names need not be unique.',
  name: 'Name of its first user, on one line.',
  email: 'Email address of that user. It may belong to users of other accounts too.',
});
