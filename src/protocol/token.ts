import { type Static, Type } from 'typebox';
import { Body, Id, Timestamp } from './schema.ts';

/** How long a refresh token can be used, in days; each use gives a new one (design.md section 7, tokens). */
export const REFRESH_TOKEN_DAYS = 30;

/** A person's credentials (design.md section 8): `expires_at` is when the access token ends. */
export const Token = Type.Object({
  object: Type.Literal('token'),
  access_token: Type.String(),
  refresh_token: Type.String(),
  expires_at: Timestamp,
});
export type Token = Static<typeof Token>;

export const CreateTokenBody = Body({ user_id: Id });

export const RefreshTokenBody = Body({ refresh_token: Type.String() });
