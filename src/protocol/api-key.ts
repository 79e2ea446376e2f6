import { type Static, Type } from 'typebox';
import { Role } from './role.ts';
import { Body, Id, Name, Nullable, OneOf, Timestamp } from './schema.ts';

export const API_KEY_STATUSES = ['active', 'expired', 'revoked'] as const;

/** What `include[]` may name where API keys are what was asked for. */
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
};

/** A programmatic caller's credential (design.md sections 7, keys, and 8). The secret is not to be had again. */
export const ApiKey = Type.Object(FIELDS);
export type ApiKey = Static<typeof ApiKey>;

/** As it is shown once, when it is made: with the secret. */
export const NewApiKey = Type.Object({ ...FIELDS, key: Type.String() }, { title: 'new_api_key' });
export type NewApiKey = Static<typeof NewApiKey>;

/** Without `expires_at` it does not expire. */
export const CreateApiKeyBody = Body({
  name: Name,
  role_id: Id,
  expires_at: Type.Optional(Timestamp),
});
