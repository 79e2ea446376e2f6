import { ApiError } from '@parley/protocol/errors/errors.ts';
import { IDENTITY_ALGORITHMS, type IdentityAlgorithm } from '@parley/protocol/resources/identity-provider.ts';
import { parseStrictObject } from './strict-json.ts';

/** A token in the form of a signed JWT (RFC 7519). None of its claims is proven yet. */
export interface ClaimedToken {
  readonly algorithm: IdentityAlgorithm;
  readonly keyId: string | undefined;
  readonly issuer: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Longest token, in characters. */
const MAX_TOKEN_CHARACTERS = 8_192;

/**
 * Reads the parts of a token strictly: ambiguous input is refused. Only `alg`, `kid`, `typ` and
 * `crit` of the header count; keys in it, or addresses of keys, are never used. Throws ApiError
 * `invalid_credentials`.
 */
export function readTokenForm(token: string): ClaimedToken {
  if (token.length > MAX_TOKEN_CHARACTERS) {
    throw refused(`The token is longer than ${MAX_TOKEN_CHARACTERS} characters.`);
  }
  const parts = token.split('.');
  if (parts.length !== 3 || parts.some((part) => !isBase64url(part))) {
    throw refused('The token is not a signed JWT: three parts in base64url.');
  }
  const header = readPart(parts[0]!);
  const claims = readPart(parts[1]!);
  if (header === undefined || claims === undefined) {
    throw refused('The header and the claims of the token must be JSON objects without repeated members.');
  }
  return { ...readHeader(header), issuer: readIssuer(claims), claims };
}

export function refused(message: string): ApiError {
  return new ApiError('invalid_credentials', message);
}

function readHeader(header: Readonly<Record<string, unknown>>): Pick<ClaimedToken, 'algorithm' | 'keyId'> {
  const { alg, kid, typ, crit, b64, enc } = header;
  if (crit !== undefined || b64 !== undefined || enc !== undefined) {
    throw refused('The header of the token demands an extension that is not supported.');
  }
  const algorithm = IDENTITY_ALGORITHMS.find((known) => known === alg);
  if (algorithm === undefined) throw refused('The algorithm of the token is not supported.');
  if (kid !== undefined && (typeof kid !== 'string' || kid === '')) {
    throw refused('The key id of the token must be a text.');
  }
  if (typ !== undefined && (typeof typ !== 'string' || !TYPES.has(typ.toLowerCase()))) {
    throw refused('The type of the token must be JWT or at+jwt.');
  }
  return { algorithm, keyId: kid };
}

function readIssuer({ iss }: Readonly<Record<string, unknown>>): string {
  if (typeof iss === 'string') return iss;
  throw refused('The token names no issuer.');
}

const TYPES = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);

/** Returns whether the text is the canonical base64url of some bytes, without padding. */
function isBase64url(part: string): boolean {
  return BASE64URL.test(part) && Buffer.from(part, 'base64url').toString('base64url') === part;
}

const BASE64URL = /^[\w-]+$/;

function readPart(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return parseStrictObject(UTF8.decode(Buffer.from(part, 'base64url')));
  } catch {
    return undefined;
  }
}

/** Keeps a byte order mark, which is no JSON. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
