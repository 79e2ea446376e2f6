import { ApiError, invalid, missingField } from '@parley/protocol/errors/errors.ts';
import {
  ACCESS_TOKEN_TYPE,
  type CreateTokenBody,
  type ExchangedToken,
} from '@parley/protocol/resources/token.ts';
import type { Authenticator } from '../../../api/access/authenticate.ts';
import { accountMissing, requireSubscription } from '../../../api/access/authorize.ts';
import { type Principal, UNAUTHENTICATED } from '../../../api/access/principal.ts';
import { DEFAULT_TTL_S, type Tokens } from '../../../api/access/tokens.ts';

export interface ExchangeOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly tokens: Pick<Tokens, 'issueAccess'>;
}

/**
 * Checks that a body asks for the tokens of a user, with a credential, or for an exchange. Throws
 * ApiError `invalid_credentials`, `missing_field` or `validation_failed`.
 */
export function checkTokenBody(principal: Principal, body: CreateTokenBody): void {
  const { user_id, grant_type, subject_token, subject_token_type } = body;
  if (principal === UNAUTHENTICATED && subject_token === undefined && grant_type === undefined) {
    const message = 'The Authorization header is missing. Send "Bearer <credential>".';
    throw new ApiError('invalid_credentials', message, { param: 'Authorization' });
  }
  if (user_id !== undefined) {
    for (const field of ['grant_type', 'subject_token', 'subject_token_type'] as const) {
      if (body[field] !== undefined) throw invalid(field, 'Send either user_id, or a token to exchange.');
    }
    return;
  }
  if (subject_token === undefined && grant_type === undefined) throw missingField('user_id');
  if (grant_type === undefined) throw missingField('grant_type');
  if (subject_token === undefined) throw missingField('subject_token');
  if (subject_token_type === undefined) throw missingField('subject_token_type');
}

/**
 * Exchanges the token of an identity provider for an access token of the same person, with the same
 * rights and no later end (docs/contract.md#identity-providers). Throws ApiError, such as
 * `invalid_credentials` (param subject_token).
 */
export async function exchangeToken(
  { authenticator, tokens }: ExchangeOptions,
  subjectToken: string,
  account: string | undefined,
): Promise<ExchangedToken> {
  if (account === undefined || account === '') throw accountMissing();
  const principal = await authenticate(authenticator, subjectToken, account);
  const { actor, accountId, credential } = principal;
  if (credential.provider === undefined || accountId !== account) {
    throw new ApiError(
      'invalid_credentials',
      'Only a token of an identity provider can be exchanged.',
      PARAM,
    );
  }
  requireSubscription(principal);
  // The tolerance for the issuer's clock does not lengthen the life of the access token.
  const leftS = Math.floor((credential.statedEndMs! - Date.now()) / 1_000);
  if (leftS < 1)
    throw new ApiError(
      'expired_token',
      'The token has expired. Request a new one from the identity provider.',
      PARAM,
    );
  const ttlS = Math.min(DEFAULT_TTL_S, leftS);
  const { provider } = credential;
  const { token, expiresAt } = await tokens.issueAccess({ accountId, actorId: actor.id, provider, ttlS });
  return {
    object: 'exchanged_token',
    access_token: token,
    issued_token_type: ACCESS_TOKEN_TYPE,
    token_type: 'Bearer',
    expires_in: ttlS,
    expires_at: expiresAt,
  };
}

const PARAM = { param: 'subject_token' } as const;

async function authenticate(
  authenticator: Pick<Authenticator, 'authenticate'>,
  subjectToken: string,
  account: string,
): Promise<Principal> {
  try {
    return await authenticator.authenticate(`Bearer ${subjectToken}`, account);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new ApiError(error.condition, error.message, PARAM);
  }
}
