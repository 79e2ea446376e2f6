import { type Static, Type } from 'typebox';
import { IdOf } from '../schema/external-ids.ts';
import { type Alternative, Body, demand, describe, described, Timestamp } from '../schema/schema.ts';
import { OptionalSince, Since } from '../schema/since.ts';

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

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token';

/** The result of a token exchange (RFC 8693, 2.2.1): an access token that cannot be renewed. */
export const ExchangedToken = Type.Object({
  object: Type.Literal('exchanged_token'),
  access_token: Type.String(),
  issued_token_type: Type.Literal(ACCESS_TOKEN_TYPE),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer(),
  expires_at: Timestamp,
});
export type ExchangedToken = Static<typeof ExchangedToken>;

describe(ExchangedToken, {
  access_token: 'Goes into `Authorization: Bearer`.',
  issued_token_type: `What was issued: always \`${ACCESS_TOKEN_TYPE}\`.`,
  token_type: 'How it is sent: always `Bearer`.',
  expires_in:
    'Seconds until the access token expires: 15 minutes at most, and no later than what it was exchanged for.',
  expires_at: 'When the access token expires.',
});

/** Either a user's id, from a caller that may issue tokens, or a token to exchange. */
export const CreateTokenBody = Body(
  {
    user_id: OptionalSince('1.3.harbor', IdOf('user')),
    grant_type: Since('1.3.harbor', Type.Literal(TOKEN_EXCHANGE)),
    subject_token: Since('1.3.harbor', Type.String({ minLength: 1, maxLength: 8_192 })),
    subject_token_type: Since('1.3.harbor', Type.Literal(JWT_TYPE)),
  },
  { examples: [{ user_id: 'act_0TbVwXyZ8kQm3nPs5rUv7x9A' }] },
);
export type CreateTokenBody = Static<typeof CreateTokenBody>;
describe(CreateTokenBody, {
  user_id: 'Id of the user for whom the tokens are. Required unless a token is exchanged.',
  grant_type: `\`${TOKEN_EXCHANGE}\` exchanges a token of an identity provider (RFC 8693). Such a request needs no \`Authorization\`.`,
  subject_token: 'The token of an identity provider. Required with `grant_type`.',
  subject_token_type: `Always \`${JWT_TYPE}\`. Required with \`grant_type\`.`,
});
const EXCHANGE: Alternative = { required: ['grant_type', 'subject_token', 'subject_token_type'] };
demand(CreateTokenBody, [{ required: ['user_id'] }, EXCHANGE]);

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
