import { notFound } from '@parley/protocol/errors/errors.ts';
import {
  CreateTokenBody,
  ExchangedToken,
  RefreshTokenBody,
  Token,
} from '@parley/protocol/resources/token.ts';
import { Since } from '@parley/protocol/schema/since.ts';
import { Type } from 'typebox';
import type { Authenticator } from '../../../api/access/authenticate.ts';
import type { Tokens } from '../../../api/access/tokens.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { lockUser } from '../actors/users.ts';
import { requireGrant } from '../rights/grants.ts';
import { findRoleById } from '../rights/roles.ts';
import { checkTokenBody, exchangeToken } from './token-exchange.ts';
import { issueTokenPair, refreshTokenPair } from './token-pairs.ts';

/** Returns both endpoints; each answers 201, as it creates a new credential. */
export function tokenRoutes(
  database: Database,
  tokens: Pick<Tokens, 'issueAccess'>,
  authenticator: Pick<Authenticator, 'authenticate'>,
): Route[] {
  return [
    defineRoute({
      name: 'create_token',
      method: 'POST',
      path: '/v1/auth/tokens',
      summary: 'Issue tokens for a user whose role grants no more than the caller has, or exchange a token',
      since: '1.1.harbor',
      permission: 'tokens:create',
      mayBeOpen: '1.3.harbor',
      agents: false,
      secret: true,
      body: CreateTokenBody,
      status: 201,
      response: Type.Union([Token, Since('1.3.harbor', ExchangedToken)]),
      rules: ({ principal, body }) => checkTokenBody(principal, body),
      prepare: ({ body, account }) =>
        body.subject_token === undefined
          ? undefined
          : exchangeToken({ authenticator, tokens }, body.subject_token, account),
      async change(tx, { principal, body }, exchanged) {
        if (exchanged !== undefined) return exchanged;
        const { accountId } = principal;
        // A concurrent deactivation either ends the new pair or is seen here.
        const user = await lockUser(tx, accountId, body.user_id!);
        if (user === undefined || user.deactivated || user.role_id === null) {
          throw notFound('user', 'user_id');
        }
        requireGrant(principal, await findRoleById(tx, accountId, user.role_id));
        return issueTokenPair(tx, tokens, { accountId, actorId: user.id });
      },
    }),
    defineRoute({
      name: 'refresh_token',
      method: 'POST',
      path: '/v1/auth/tokens/refresh',
      summary: 'Exchange a refresh token for a new pair of tokens',
      since: '1.1.harbor',
      permission: null,
      open: true,
      customers: true,
      agents: false,
      secret: true,
      body: RefreshTokenBody,
      status: 201,
      response: Token,
      commits:
        'The refusal of a token that was used before is committed too: it ends the family of the token.',
      handle: ({ body, answer }) =>
        refreshTokenPair(database, tokens, body.refresh_token, async (tx, pair) => answer(pair, tx)),
    }),
  ];
}
