import { createHmac } from 'node:crypto';
import { ApiError } from '../../../contract/protocol/errors.ts';
import { endSessionOfToken, refreshTokenPair } from '../../../core/accounts/sessions/token-pairs.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type {
  PublicAnswer,
  PublicRoutes,
  StreamedRequest,
} from '../../../platform/http/pipeline/public-routes.ts';
import { NO_SESSION_COOKIE, readCookie, SESSION_COOKIE, sessionCookie } from './cookies.ts';
import { PRIVATE } from './page-routes.ts';
import { isSignIn } from './sign-ins.ts';

export interface SessionRoutesOptions extends Pick<NodeParts, 'database' | 'tokens' | 'urls'> {
  readonly secret: string;
}

/**
 * Trades the cookie of a session for an access token, and ends the session. The cookie is read here
 * and nowhere else (docs/contract.md#sign-in).
 */
export function sessionRoutes({ database, tokens, urls, secret }: SessionRoutesOptions): PublicRoutes {
  return {
    '/v1/auth/session': {
      limited: {
        async post(request) {
          const token = tokenIn(request, urls.public);
          if (token === undefined) return NO_SESSION;
          const answer = await refreshTokenPair(
            database,
            tokens,
            token,
            async (tx, { access_token, refresh_token, expires_at }, { familyId, accountId, actorId }) => {
              if (!(await isSignIn(tx, familyId))) throw noSession();
              const body = { object: 'session_token', access_token, expires_at };
              return { next: refresh_token, body: { ...body, account_id: accountId, user_id: actorId } };
            },
            // Two tabs, or a page that is left before the answer, send the same cookie twice.
            createHmac('sha256', secret).update(token).digest('base64url'),
          );
          return {
            status: 200,
            body: JSON.stringify(answer.body),
            headers: PRIVATE,
            cookies: [sessionCookie(answer.next)],
          };
        },
        async delete(request) {
          const token = tokenIn(request, urls.public);
          if (token === undefined) return NO_SESSION;
          await database.transaction((tx) => endSessionOfToken(tx, token));
          return { ...NO_SESSION, cookies: [NO_SESSION_COOKIE] };
        },
      },
    },
  };
}

/** Visitors who never signed in are no error: each page of the documentation asks. */
const NO_SESSION: PublicAnswer = { status: 204, body: null, headers: PRIVATE };

/**
 * Returns the refresh token, or undefined for a browser without a session. Throws ApiError
 * `insufficient_permissions` unless the page is of this server: browsers name the origin of every
 * page in a POST and a DELETE.
 */
function tokenIn({ origin, cookie }: StreamedRequest, publicUrl: string): string | undefined {
  const token = readCookie(cookie, SESSION_COOKIE);
  if (token === undefined) return undefined;
  if (origin !== new URL(publicUrl).origin) {
    const message = 'Only pages of this server can call this endpoint.';
    throw new ApiError('insufficient_permissions', message, { param: 'Origin' });
  }
  return token;
}

function noSession(): ApiError {
  return new ApiError('invalid_credentials', 'This browser has no session. Sign in again.');
}
