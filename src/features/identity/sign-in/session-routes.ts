import { createHmac } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { UseInvitationBody } from '@parley/protocol/resources/invitation.ts';
import { compile, parseObject } from '@parley/protocol/validation/validation.ts';
import { requireJsonType } from '../../../api/pipeline/json-type.ts';
import type { PublicAnswer, PublicRoutes, StreamedRequest } from '../../../api/pipeline/public-routes.ts';
import { endSessionOfToken, refreshTokenPair } from '../../../core/accounts/sessions/token-pairs.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { acceptInvitation, showInvitation } from '../invitations/accept-invitation.ts';
import { isSignIn } from '../sign-ins.ts';
import { NO_SESSION_COOKIE, readCookie, SESSION_COOKIE, sessionCookie } from './cookies.ts';
import { PRIVATE } from './page-routes.ts';
import { readSmallBody, SMALL_BODY_BYTES } from './small-body.ts';

export interface SessionRoutesOptions extends Pick<NodeParts, 'database' | 'tokens' | 'urls'> {
  readonly secret: string;
}

/**
 * Returns the routes that show an invitation and begin a session by it, trade its cookie for an
 * access token, and end it. The cookie is read only here (docs/contract.md#sign-in).
 */
export function sessionRoutes({ database, tokens, urls, secret }: SessionRoutesOptions): PublicRoutes {
  return {
    '/v1/auth/session': {
      limited: {
        async post(request) {
          const token = tokenIn(request, urls.public);
          if (token === undefined) return EMPTY;
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
        async put(request) {
          requireOwnPage(request, urls.public);
          const refreshToken = await acceptInvitation({ database, tokens }, await bodyOf(request));
          return { ...EMPTY, cookies: [sessionCookie(refreshToken)] };
        },
        async delete(request) {
          const token = tokenIn(request, urls.public);
          if (token === undefined) return EMPTY;
          await database.transaction((tx) => endSessionOfToken(tx, token));
          return { ...EMPTY, cookies: [NO_SESSION_COOKIE] };
        },
      },
    },
    '/v1/auth/invitation': {
      limited: {
        async post(request) {
          requireOwnPage(request, urls.public);
          const facts = await showInvitation(database, await bodyOf(request));
          return { status: 200, body: JSON.stringify(facts), headers: PRIVATE };
        },
      },
    },
  };
}

/** Visitors who never signed in are no error: each page of the documentation asks. */
const EMPTY: PublicAnswer = { status: 204, body: null, headers: PRIVATE };

/**
 * Returns the refresh token, or undefined for a browser without a session. Throws ApiError
 * `insufficient_permissions` unless the page belongs to this server.
 */
function tokenIn(request: StreamedRequest, publicUrl: string): string | undefined {
  const token = readCookie(request.cookie, SESSION_COOKIE);
  if (token !== undefined) requireOwnPage(request, publicUrl);
  return token;
}

/** Requires a page of this server. Browsers send the page's origin with POST, PUT and DELETE. */
function requireOwnPage({ origin }: StreamedRequest, publicUrl: string): void {
  if (origin === new URL(publicUrl).origin) return;
  const message = 'Only pages of this server can call this endpoint.';
  throw new ApiError('insufficient_permissions', message, { param: 'Origin' });
}

async function bodyOf(request: StreamedRequest): Promise<UseInvitationBody> {
  requireJsonType(request.contentType);
  const text = await readSmallBody(request);
  if (text === undefined) {
    throw new ApiError('payload_too_large', `Send at most ${SMALL_BODY_BYTES} bytes.`);
  }
  return readUse(text === '' ? {} : parseObject(text));
}

const readUse = compile(UseInvitationBody);

function noSession(): ApiError {
  return new ApiError('invalid_credentials', 'This browser has no session. Sign in again.');
}
