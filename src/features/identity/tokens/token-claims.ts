import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { NamedPerson } from '../persons/persons.ts';
import type { ProviderRow } from '../providers/provider-store.ts';
import { refused } from './token-form.ts';

/** The claims of a token with a valid signature. */
export interface ProvenClaims extends NamedPerson {
  /** In milliseconds since 1970, like the next fields. */
  readonly issuedAtMs: number;
  /** `statedEndMs` with the tolerated skew. */
  readonly expiresAtMs: number;
  /** The claim `exp`. */
  readonly statedEndMs: number;
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * Checks the claims of a token whose signature is valid. Throws ApiError `expired_token` or
 * `invalid_credentials`.
 */
export function readClaims(provider: ProviderRow, claims: Claims, nowMs: number): ProvenClaims {
  requireAudience(provider, claims);
  if (Object.hasOwn(claims, 'events')) throw refused('A token about events is no credential.');
  const times = readTimes(claims, nowMs);
  return { ...times, ...namedBy(provider, claims) };
}

/**
 * Returns the person of the claims. Throws ApiError `invalid_credentials` without a usable subject.
 */
export function namedBy(provider: ProviderRow, claims: Claims): NamedPerson {
  const subject = claimOf(claims, provider.subject_claim);
  if (typeof subject !== 'string' || !SUBJECT.test(subject)) {
    throw refused(
      'The subject of the token must be a text of 1 to 255 characters without control characters.',
    );
  }
  const [name, email] = [claimOf(claims, provider.name_claim), claimOf(claims, provider.email_claim)];
  return {
    subject,
    ...(typeof name === 'string' && { name }),
    ...(typeof email === 'string' && isVerified(claimOf(claims, 'email_verified')) && { email }),
  };
}

/**
 * Returns whether the address is verified. Applications that sign tokens for their own persons
 * often leave the claim out, and some providers write it as text; any other value does not verify.
 */
function isVerified(claim: unknown): boolean {
  return claim === undefined || claim === true || claim === 'true';
}

function requireAudience({ audience }: ProviderRow, { aud }: Claims): void {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!named.every((one) => typeof one === 'string')) throw refused('The token names no audience.');
  if (named.some((one) => audience.includes(one as string))) return;
  throw refused('The token is for another audience.');
}

function readTimes(
  claims: Claims,
  nowMs: number,
): Pick<ProvenClaims, 'issuedAtMs' | 'expiresAtMs' | 'statedEndMs'> {
  const [exp, iat] = [timeOf(claims, 'exp'), timeOf(claims, 'iat')];
  if (exp === undefined || iat === undefined) throw refused('The token must have the times exp and iat.');
  const nbf = timeOf(claims, 'nbf') ?? iat;
  if (exp + SKEW_MS <= nowMs)
    throw new ApiError(
      'expired_token',
      'The token has expired. Request a new one from the identity provider.',
    );
  if (Math.max(iat, nbf) > nowMs + SKEW_MS) throw refused('The token is not valid yet.');
  return { issuedAtMs: iat, expiresAtMs: exp + SKEW_MS, statedEndMs: exp };
}

/** Returns milliseconds since 1970, or undefined if the claim is absent. */
function timeOf(claims: Claims, name: string): number | undefined {
  if (!Object.hasOwn(claims, name)) return undefined;
  const seconds = claims[name];
  if (typeof seconds === 'number' && seconds >= 0 && seconds <= MAX_SECONDS) return seconds * 1_000;
  throw refused(`The time ${name} of the token must be a number of seconds since 1970.`);
}

function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** Tolerated difference between clocks. */
const SKEW_MS = 60_000;
/** The last second of the year 9999. */
const MAX_SECONDS = 253_402_300_799;

const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,255}$/u;
