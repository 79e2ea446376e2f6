import { type Static, Type } from 'typebox';
import { Role } from './role.ts';
import { Body, Id, Name, Nullable, OneOf, Timestamp } from './schema.ts';

export const USER_STATUSES = ['active', 'deactivated'] as const;

/** What `include[]` may name where users are what was asked for. */
export const USER_INCLUDES = ['role'] as const;

/** A person of the account (design.md section 8, Access). Its id is its actor's. */
export const User = Type.Object({
  id: Type.String(),
  object: Type.Literal('user'),
  name: Type.String(),
  email: Type.String(),
  status: OneOf(USER_STATUSES),
  role: Nullable(Role),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type User = Static<typeof User>;

export const CreateUserBody = Body({
  name: Name,
  email: Type.String({ format: 'email' }),
  role_id: Id,
});
