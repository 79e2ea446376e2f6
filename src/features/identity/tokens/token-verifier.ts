import { hash } from 'node:crypto';
import { ApiError, unavailable } from '@parley/protocol/errors/errors.ts';
import { compactVerify, errors } from 'jose';
import { LRUCache } from 'lru-cache';
import type { ForeignTokens, Identity } from '../../../api/access/authenticate.ts';
import { RevocableCache } from '../../../api/access/revocable-cache.ts';
import type { Rights } from '../../../api/access/rights.ts';
import { bounded } from '../../../platform/bounded.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { isUnavailable } from '../../../platform/db/connection/unavailable.ts';
import type { KeySets } from '../keys/key-sets.ts';
import { keysOfProvider } from '../keys/provider-keys.ts';
import type { Persons } from '../persons/persons.ts';
import { type ProviderRow, providersOf, readProviders } from '../providers/provider-store.ts';
import { type ProvenClaims, readClaims } from './token-claims.ts';
import { type ClaimedToken, readTokenForm, refused } from './token-form.ts';

export interface TokenVerifierOptions {
  readonly database: Database;
  readonly rights: Rights;
  readonly keys: Pick<KeySets, 'of' | 'renewed'>;
  readonly persons: Pick<Persons, 'personOf'>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * Reads the tokens of identity providers (docs/contract.md#identity-providers). The issuer is only
 * looked up among the providers of the account that the request names: no address and no key comes
 * from a token. Verified tokens are cached for ten minutes, so a token is verified once, and the
 * authenticator above caches the caller as for any other credential.
 */
export class TokenVerifier implements ForeignTokens {
  readonly #options: TokenVerifierOptions;
  readonly #now: () => number;
  readonly #providers: RevocableCache<readonly ProviderRow[] | undefined>;
  readonly #verified: LRUCache<string, ProvenClaims>;

  constructor(options: TokenVerifierOptions) {
    const { database, rights } = options;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#verified = new LRUCache({ ...bounded(MAX_VERIFIED), ttl: VERIFIED_MS });
    this.#providers = new RevocableCache<readonly ProviderRow[] | undefined>({
      rights,
      max: MAX_ACCOUNTS,
      async load(accountId) {
        const rows = await readProviders(database, accountId);
        return rows.length === 0 ? undefined : rows;
      },
      subjectsOf: (_, accountId) => [accountId, providersOf(accountId)],
    });
  }

  close(): void {
    this.#providers.close();
    this.#verified.clear();
  }

  async read(accountId: string, token: string): Promise<Identity | undefined> {
    const claimed = readTokenForm(token);
    try {
      const providers = await this.#providers.get(accountId);
      const provider = providers?.find(({ issuer }) => issuer === claimed.issuer);
      if (provider === undefined) {
        throw refused('The account has no identity provider with the issuer of this token.');
      }
      return await this.#identityOf(provider, claimed, token);
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause;
      throw unavailable('Credentials cannot be checked at the moment.', cause);
    }
  }

  async #identityOf(provider: ProviderRow, claimed: ClaimedToken, token: string): Promise<Identity> {
    const id = hash('sha256', `${provider.id} ${provider.revision} ${token}`, 'base64url');
    let claims = this.#verified.get(id);
    if (claims === undefined) {
      claims = await this.#verify(provider, claimed, token);
      this.#verified.set(id, claims);
    }
    const actorId = await this.#options.persons.personOf(provider, claims);
    return {
      accountId: provider.account_id,
      actorId,
      credential: {
        kind: 'access_token',
        id,
        issuedAtMs: claims.issuedAtMs,
        provider: { id: provider.id, revision: provider.revision },
        expiresAtMs: claims.expiresAtMs,
        statedEndMs: claims.statedEndMs,
      },
    };
  }

  async #verify(provider: ProviderRow, claimed: ClaimedToken, token: string): Promise<ProvenClaims> {
    const { algorithm } = claimed;
    if (!provider.algorithms.includes(algorithm)) {
      throw refused('The algorithm of the token is not one of its identity provider.');
    }
    try {
      await this.#verifySignature(provider, algorithm, token);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
        throw refused('The token does not name one key of its identity provider.');
      }
      // jose refuses keys that do not fit, such as short ones, with other errors.
      throw refused('The signature of the token is not valid.');
    }
    return readClaims(provider, claimed.claims, this.#now());
  }

  async #verifySignature(provider: ProviderRow, algorithm: string, token: string): Promise<void> {
    const options = { algorithms: [algorithm] };
    if (provider.secret !== null) {
      if (!algorithm.startsWith('HS')) throw refused('The algorithm of the token needs a public key.');
      await compactVerify(token, Buffer.from(provider.secret), options);
      return;
    }
    await compactVerify(token, keysOfProvider(this.#options.keys, provider), options);
  }
}

const MAX_VERIFIED = 10_000;
const VERIFIED_MS = 600_000;
const MAX_ACCOUNTS = 1_000;
