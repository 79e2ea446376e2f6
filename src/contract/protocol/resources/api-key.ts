import { type Static, Type } from 'typebox';
import { Body, describe, Id, Name, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { Role } from './role.ts';

export const API_KEY_STATUSES = ['active', 'expired', 'revoked'] as const;

/** What `include[]` may name on the endpoints of API keys. */
export const API_KEY_INCLUDES = ['role'] as const;

const FIELDS = {
  id: Type.String(),
  object: Type.Literal('api_key'),
  name: Type.String(),
  redacted: Type.String(),
  actor_id: Type.String(),
  role: Nullable(Role),
  status: OneOf(API_KEY_STATUSES),
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
  role_id: Since('1.2.harbor', Nullable(Type.String())),
};

const TEXTS = {
  name: 'Name of the key for people.',
  redacted: 'The end of the secret, by which its owner recognizes it.',
  actor_id: 'Id of the actor as which the key acts.',
  role: 'The role that bounds what the key may do. Null unless expanded.',
  status: 'Whether the key is `active`, `expired` or `revoked`.',
  expires_at: 'When the key expires. Null if it never does.',
  revoked_at: 'When the key was revoked, which is permanent. Null unless it was.',
  role_id: 'Id of the role that `role` expands.',
};

/** The credential of a program (docs/contract.md#api-keys). The secret cannot be read again. */
export const ApiKey = Type.Object(FIELDS);
export type ApiKey = Static<typeof ApiKey>;

describe(ApiKey, TEXTS);

/** The form that is shown once, when the key is made: with the secret. */
export const NewApiKey = Type.Object({ ...FIELDS, key: Type.String() }, { title: 'new_api_key' });
export type NewApiKey = Static<typeof NewApiKey>;

describe(NewApiKey, { ...TEXTS, key: 'The secret, shown this once. Send it as `Authorization: Bearer`.' });

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
