import { ApiError, invalid, missingField } from '@parley/protocol/errors/errors.ts';
import {
  type CreateIdentityProviderBody,
  DEFAULT_ALGORITHMS,
  type IdentityAlgorithm,
  IdentityProvider,
  KEY_SET_BYTES,
  type KeySet,
  type UpdateIdentityProviderBody,
} from '@parley/protocol/resources/identity-provider.ts';
import { presentAs } from '../../../core/resources/present-as.ts';
import { jsonbBytes } from '../../../platform/db/tables/touched.ts';
import type { AddressGuard } from '../../../platform/outbound/address-guard.ts';
import { readReceiverUrl } from '../../../platform/outbound/address-guard.ts';
import { targetOf } from '../../../platform/outbound/outbound-url.ts';
import { readKeySet } from '../keys/key-sets.ts';
import type { ProviderRow } from './provider-store.ts';

export function presentProvider(row: ProviderRow): IdentityProvider {
  const { subject_claim: subject, name_claim: name, email_claim: email } = row;
  return presentAs(IdentityProvider, {
    ...row,
    has_secret: row.secret !== null,
    has_client_secret: row.client_secret !== null,
    claims: { subject, name, email },
  });
}

/** Checks a new provider. Throws ApiError. */
export function checkNewProvider(body: CreateIdentityProviderBody, guard: AddressGuard): void {
  checkIssuer(body.issuer, guard);
  if (KEY_SOURCES.every((field) => body[field] === undefined)) {
    throw missingField('jwks_url', 'Send one of jwks_url, jwks and secret.');
  }
  checkKeys(body, guard);
  checkAlgorithms(body.algorithms ?? [], body.secret !== undefined);
  if (body.person === 'customer' && body.role_id !== undefined) throw roleOfCustomer();
  if (body.person !== 'customer' && body.provision === 'first_use' && body.role_id === undefined) {
    throw missingField('role_id', ROLE_MISSING);
  }
  checkClient({
    client_id: body.client_id ?? null,
    client_secret: body.client_secret ?? null,
    person: body.person ?? 'team',
    secret: body.secret ?? null,
  });
}

/** Checks the parts of a change that need no provider. Throws ApiError. */
export function checkProviderChange(body: UpdateIdentityProviderBody, guard: AddressGuard): void {
  checkKeys(body, guard);
  if (body.algorithms !== undefined && hasKeys(body)) {
    checkAlgorithms(body.algorithms, body.secret !== undefined);
  }
}

/** Checks a provider in its state after a change. Throws ApiError. */
export function checkProvider(
  row: Pick<ProviderRow, 'algorithms' | 'provision' | 'role_id'> & ClientFields,
): void {
  checkAlgorithms(row.algorithms, row.secret !== null);
  checkClient(row);
  if (row.person === 'customer' && row.role_id !== null) throw roleOfCustomer();
  if (row.person === 'team' && row.provision === 'first_use' && row.role_id === null) {
    throw missingField('role_id', ROLE_MISSING);
  }
}

/**
 * Returns the columns of the key source that a body names, if any; the other sources are cleared.
 */
export function keyColumns({ jwks_url, jwks, secret }: KeyFields) {
  if (!hasKeys({ jwks_url, jwks, secret })) return {};
  return {
    jwks_url: jwks_url ?? null,
    jwks: jwks === undefined ? null : JSON.stringify(jwks),
    secret: secret ?? null,
  };
}

export function hasKeys(body: KeyFields): boolean {
  return KEY_SOURCES.some((field) => body[field] !== undefined);
}

export function defaultAlgorithms(hasSecret: boolean): IdentityAlgorithm[] {
  return hasSecret ? ['HS256'] : [...DEFAULT_ALGORITHMS];
}

export function listOf(audience: string | readonly string[]): string[] {
  return typeof audience === 'string' ? [audience] : [...audience];
}

type KeyFields = {
  readonly jwks_url?: string | undefined;
  readonly jwks?: KeySet | undefined;
  readonly secret?: string | undefined;
};

const KEY_SOURCES = ['jwks_url', 'jwks', 'secret'] as const;
const ROLE_MISSING = 'Name the role of the users that are made at their first use.';

/** Checks the form of the issuer, which is otherwise only compared. */
function checkIssuer(issuer: string, guard: AddressGuard): void {
  const url = URL.parse(issuer);
  if (url?.protocol === 'http:' && LOOPBACK.has(targetOf(url).host)) return;
  readReceiverUrl(issuer, 'issuer', guard);
  if (/[\s\p{Cc}?#]/u.test(issuer)) throw invalid('issuer', 'Must have no query, fragment or white space.');
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);

function checkKeys(body: KeyFields, guard: AddressGuard): void {
  const given = KEY_SOURCES.filter((field) => body[field] !== undefined);
  if (given.length > 1)
    throw invalid(given[1]!, `Leave it out, or leave ${given[0]} out: one of them verifies.`);
  if (body.jwks_url !== undefined) readReceiverUrl(body.jwks_url, 'jwks_url', guard);
  if (body.jwks !== undefined) checkKeySet(body.jwks);
}

function checkKeySet(jwks: KeySet): void {
  if (jsonbBytes(jwks) > KEY_SET_BYTES) {
    throw invalid('jwks', `Must have at most ${KEY_SET_BYTES} bytes as JSON, with numbers written out.`);
  }
  for (const [index, key] of jwks.keys.entries()) {
    if (key.kty === 'oct' || 'd' in key || 'k' in key) {
      throw invalid(`jwks.keys[${index}]`, 'Must be a public key. Make a new pair: this one is known now.');
    }
  }
  try {
    readKeySet(jwks);
  } catch {
    throw new ApiError('invalid_format', 'Must be a JSON Web Key Set.', { param: 'jwks' });
  }
}

function checkAlgorithms(algorithms: readonly IdentityAlgorithm[], hasSecret: boolean): void {
  const index = algorithms.findIndex((algorithm) => algorithm.startsWith('HS') !== hasSecret);
  if (index < 0) return;
  const message = hasSecret
    ? 'With a secret, only HS256, HS384 and HS512 verify.'
    : 'HS256, HS384 and HS512 need a secret, and a public key is none.';
  throw invalid(`algorithms[${index}]`, message);
}

type ClientFields = Pick<ProviderRow, 'client_id' | 'client_secret' | 'person' | 'secret'>;

/** Checks the client: sign-in is for the team, and ID tokens are verified with public keys. */
function checkClient({ client_id, client_secret, person, secret }: ClientFields): void {
  if (client_id === null) {
    if (client_secret !== null) throw missingField('client_id', 'Send the id of the client as well.');
    return;
  }
  if (person === 'customer') throw invalid('client_id', 'Customers do not sign in here. Leave it out.');
  if (secret !== null) {
    throw invalid('client_id', 'Sign-in needs public keys, in jwks_url or jwks. Leave it out with a secret.');
  }
}

function roleOfCustomer(): ApiError {
  return invalid('role_id', 'Customers have no role. Leave it out.');
}
