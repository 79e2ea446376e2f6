import { type Static, Type } from 'typebox';
import { Body, describe, described, Id, Timestamp } from '../schema/schema.ts';

/** Days for which a refresh token works; each use gives a new one (docs/contract.md#tokens). */
export const REFRESH_TOKEN_DAYS = 30;

/** A person's credentials (docs/contract.md#tokens). The access token expires at `expires_at`. */
export const Token = Type.Object({
  object: Type.Literal('token'),
  access_token: Type.String(),
  refresh_token: Type.String(),
  expires_at: Timestamp,
});
export type Token = Static<typeof Token>;

describe(Token, {
  access_token: 'Goes into `Authorization: Bearer`.',
  refresh_token: 'Gets the next pair of tokens, once. Use after that revokes the whole family.',
  expires_at: 'When the access token expires.',
});

export const CreateTokenBody = Body({ user_id: described(Id, 'Id of the user for whom the tokens are.') });

export const RefreshTokenBody = Body({
  refresh_token: described(Type.String(), 'The refresh token; it can be used once.'),
});

/** Opens one socket without a key or token in the URL (docs/realtime.md#opening). */
export const RealtimeTicket = Type.Object({
  object: Type.Literal('realtime_ticket'),
  ticket: Type.String(),
  expires_at: Timestamp,
});
export type RealtimeTicket = Static<typeof RealtimeTicket>;

describe(RealtimeTicket, {
  ticket: 'The ticket, shown this once. It goes into `?ticket=` of the address of one socket.',
  expires_at: 'When the ticket can no longer be used.',
});
