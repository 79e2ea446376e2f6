import { decodeJwt, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { LogoutTarget } from '../sign-ins.ts';
import type { SignInProvider } from './relying-party.ts';

export interface LogoutToken extends LogoutTarget {
  readonly jti: string;
}

/** This provider may end no sessions by this token. The message quotes nothing from the token. */
export class LogoutRefused extends Error {
  override readonly name = 'LogoutRefused';
}

/** Returns the unverified issuer and clients of a token, only for a look-up in our own table. */
export function claimedParties(token: string): {
  readonly issuer: string;
  readonly clientIds: readonly string[];
} {
  try {
    const { iss, aud } = decodeJwt(token);
    const clientIds = [aud ?? []].flat();
    if (typeof iss === 'string' && clientIds.every((id) => typeof id === 'string')) {
      return { issuer: iss, clientIds };
    }
  } catch {
    // Refused below.
  }
  throw new LogoutRefused('The logout token cannot be read.');
}

/**
 * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6), except that the caller
 * checks whether `jti` is new. Rejects with LogoutRefused.
 */
export async function verifyLogoutToken(
  token: string,
  { issuer, client_id: audience, algorithms }: SignInProvider,
  keys: JWTVerifyGetKey,
  nowMs = Date.now(),
): Promise<LogoutToken> {
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer,
    audience,
    algorithms: algorithms.filter((algorithm) => !algorithm.startsWith('HS')),
    requiredClaims: ['iat', 'jti', 'events'],
    clockTolerance: SKEW_S,
    currentDate: new Date(nowMs),
  }).catch((error: unknown) => {
    if (!(error instanceof errors.JOSEError)) throw error;
    throw new LogoutRefused('The logout token is not valid.', { cause: error });
  });
  const { typ = 'JWT' } = protectedHeader;
  if (!TYPES.includes(typ.toLowerCase())) throw new LogoutRefused('The token is of another type.');
  const { iat = 0, jti, events, sub, sid } = payload;
  const ageS = nowMs / 1_000 - iat;
  if (ageS > MAX_AGE_S || ageS < -SKEW_S)
    throw new LogoutRefused('The logout token was not issued just now.');
  if (!isText(jti)) throw new LogoutRefused('The logout token has no id.');
  if ('nonce' in payload) throw new LogoutRefused('A logout token has no nonce.');
  if (!isObject(events) || !isObject(events[LOGOUT_EVENT]))
    throw new LogoutRefused('The token is no logout.');
  const hasSub = sub !== undefined && sub !== null;
  const hasSid = sid !== undefined && sid !== null;
  if ((hasSub && !isText(sub)) || (hasSid && !isText(sid)) || (!hasSub && !hasSid)) {
    throw new LogoutRefused('The logout token names neither a subject nor a session.');
  }
  return { jti, ...(hasSub && { sub }), ...(hasSid && { sid: sid as string }) };
}

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const TYPES = ['jwt', 'logout+jwt'];
const MAX_AGE_S = 120;
const SKEW_S = 60;

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
