import { webcrypto } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import { errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { nanoid } from 'nanoid';
import { bounded } from '../../platform/bounded.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { sharedSecret } from '../../platform/db/shared-secret.ts';
import type { CredentialProvider } from './principal.ts';

export interface TokensOptions {
  readonly database: Database;
  /** At least 32 characters (see config.ts). Default: a secret in the database, for all nodes. */
  readonly secret?: string | null;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export interface TokenSubject {
  readonly accountId: string;
  readonly actorId: string;
  /** The identity provider whose token was exchanged for this token, which ends with it. */
  readonly provider?: CredentialProvider | undefined;
  /** The widget by which a visitor came. */
  readonly widgetId?: string | undefined;
}

export interface VerifiedToken extends TokenSubject {
  /** The family of the refresh token issued with it; undefined without a refresh token. */
  readonly familyId: string | undefined;
  /** The token's own id (`jti`). */
  readonly id: string;
  /** Both in milliseconds since 1970. */
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/**
 * Access tokens: signed JWTs that any node verifies without a look-up (docs/contract.md#tokens).
 * authenticate.ts decides whether their actor may act.
 */
export class Tokens {
  readonly #key: webcrypto.CryptoKey;
  readonly #now: () => number;
  /** Valid tokens only. Verifying costs 50 µs, and callers send a token with every request. */
  readonly #verified = new LRUCache<string, VerifiedToken>(bounded(MAX_VERIFIED));

  /** Rejects with the database's error if it needs Postgres for the secret and Postgres is away. */
  static async open(options: TokensOptions): Promise<Tokens> {
    const secret = options.secret ?? (await sharedSecret(options.database, SETTING));
    // Imported once, because each use of a raw secret would import it again.
    const key = await webcrypto.subtle.importKey(
      'raw',
      Buffer.from(secret),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign', 'verify'],
    );
    return new Tokens(key, options.now ?? Date.now);
  }

  /** Use `Tokens.open`. */
  private constructor(key: webcrypto.CryptoKey, now: () => number) {
    this.#key = key;
    this.#now = now;
  }

  /** Issues a token for `ttlS` seconds; `expiresAt` is ISO 8601, a whole second. */
  async issueAccess(
    options: TokenSubject & { readonly ttlS?: number; readonly familyId?: string },
  ): Promise<{ token: string; expiresAt: string }> {
    const issuedAtS = this.#now() / 1000;
    const expiresAtS = Math.floor(issuedAtS) + (options.ttlS ?? DEFAULT_TTL_S);
    // `account` comes first: OWN_TOKEN_START.
    const { accountId: account, familyId: family, provider, widgetId: widget } = options;
    const claims = { account, family, provider, widget };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
      .setIssuer(PARTY)
      .setAudience(PARTY)
      .setSubject(options.actorId)
      .setJti(nanoid())
      .setIssuedAt(issuedAtS)
      .setExpirationTime(expiresAtS)
      .sign(this.#key);
    return { token, expiresAt: wireTime(expiresAtS * 1000) };
  }

  /** Rejects with ApiError `expired_token`, or `invalid_credentials` for a foreign token. */
  async verifyAccess(token: string): Promise<VerifiedToken> {
    const known = this.#verified.get(token);
    if (known !== undefined) {
      if (known.expiresAtMs <= this.#now()) throw expiredToken();
      return known;
    }
    const verified = await this.#verify(token);
    this.#verified.set(token, verified);
    return verified;
  }

  async #verify(token: string): Promise<VerifiedToken> {
    try {
      const { payload } = await jwtVerify(token, this.#key, {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer: PARTY,
        audience: PARTY,
        requiredClaims: ['sub', 'jti', 'exp', 'account'],
        currentDate: new Date(this.#now()),
      });
      // A token without a time of issue counts as the oldest.
      const { sub, jti, iat = 0, exp, account, family, provider, widget } = payload;
      if (typeof account !== 'string' || !sub || !jti || exp === undefined) {
        throw invalid();
      }
      const familyId = typeof family === 'string' ? family : undefined;
      const times = { issuedAtMs: iat * 1000, expiresAtMs: exp * 1000 };
      return {
        accountId: account,
        actorId: sub,
        id: jti,
        familyId,
        ...times,
        ...(provider !== undefined && { provider: provider as CredentialProvider }),
        ...(typeof widget === 'string' && { widgetId: widget }),
      };
    } catch (error) {
      // The signature is checked before the claims, so only a genuine token is reported as expired.
      if (error instanceof errors.JWTExpired) throw expiredToken();
      if (error instanceof errors.JOSEError) throw invalid();
      throw error;
    }
  }
}

const ALGORITHM = 'HS256';
/** RFC 9068: no other kind of JWT is accepted as an access token. */
const TYPE = 'at+jwt';
/** Issuer and audience. */
const PARTY = 'parley';
export const DEFAULT_TTL_S = 900;
const MAX_VERIFIED = 10_000;
const SETTING = 'token_secret';

/**
 * The beginning of every access token of ours: the whole header and the start of the claims, up to
 * a whole group of four characters. It distinguishes them from other tokens without reading either.
 */
export const OWN_TOKEN_START = `${base64url(JSON.stringify({ alg: ALGORITHM, typ: TYPE }))}.${base64url('{"account":"acc')}`;

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

export function expiredToken(): ApiError {
  return new ApiError('expired_token', 'The access token has expired. Request a new one.');
}

function invalid(): ApiError {
  return new ApiError('invalid_credentials', 'The access token is not valid. Request a new one.');
}
