import { REFRESH_TOKEN_DAYS } from '@parley/protocol/resources/token.ts';

/**
 * Contains the refresh token of a session. Only `/v1/auth/session` reads it
 * (DECISIONS.md#the-cookie-of-a-session-is-for-this-host-alone).
 */
export const SESSION_COOKIE = '__Host-parley_session';
/** Contains a sign-in that is under way (flow-seal.ts). */
export const FLOW_COOKIE = '__Host-parley_sign_in';

/** Seconds from the start of a sign-in to its end. */
export const FLOW_S = 600;

const SESSION_S = REFRESH_TOKEN_DAYS * 24 * 60 * 60;

/** Values of Set-Cookie. */
export const sessionCookie = (token: string) => cookie(SESSION_COOKIE, token, 'Strict', SESSION_S);
/** `Lax`, because the browser returns from the provider by a link from another site. */
export const flowCookie = (sealed: string) => cookie(FLOW_COOKIE, sealed, 'Lax', FLOW_S);
export const NO_SESSION_COOKIE = cookie(SESSION_COOKIE, '', 'Strict', 0);
export const NO_FLOW_COOKIE = cookie(FLOW_COOKIE, '', 'Lax', 0);

/** Browsers accept the prefix only with Secure, Path=/ and no Domain (RFC 6265bis, 4.1.3). */
function cookie(name: string, value: string, sameSite: 'Strict' | 'Lax', maxAgeS: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeS}; Secure; HttpOnly; SameSite=${sameSite}`;
}

/** Returns undefined for an absent or empty cookie. `header` is the value of Cookie. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim() || undefined;
  }
  return undefined;
}
