import { createPublicKey, KeyObject } from 'node:crypto';
import { unavailable } from '@parley/protocol/errors/errors.ts';
import { KEY_SET_BYTES } from '@parley/protocol/resources/identity-provider.ts';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWK } from 'jose';
import { LRUCache } from 'lru-cache';
import { bounded } from '../../../platform/bounded.ts';
import type { Logger } from '../../../platform/log.ts';
import type { GuardedFetch } from '../../../platform/outbound/guarded-fetch.ts';

/** Finds the key of a token by its header. Rejects unless exactly one key fits. */
export type KeySetReader = ReturnType<typeof createLocalJWKSet>;

export interface KeySetsOptions {
  readonly fetch: Pick<GuardedFetch, 'fetch'>;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** The parts of an identity provider that its keys depend on: a stored set, or an address. */
export interface KeySource {
  readonly id: string;
  readonly revision: number;
  readonly jwks: object | null;
  readonly jwks_url: string | null;
}

/**
 * The public keys of identity providers. Keys at an address are cached for ten minutes, and read
 * again for an unknown key, at most every 30 seconds. While a provider is unavailable, its last
 * keys stay valid for a day. Concurrent callers share one request.
 */
export class KeySets {
  readonly #options: KeySetsOptions;
  readonly #now: () => number;
  readonly #sets = new LRUCache<string, Kept>(bounded(MAX_SETS));
  /** The readers of key sets that are stored in the rows of providers. */
  readonly #own = new WeakMap<object, KeySetReader>();

  constructor(options: KeySetsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Rejects with ApiError `service_unavailable` if there are no keys that may be used. */
  async of(source: KeySource): Promise<KeySetReader> {
    if (source.jwks !== null) return this.#ownOf(source.jwks);
    const kept = this.#kept(source);
    const ageMs = this.#now() - kept.readAtMs;
    if (ageMs > FRESH_MS && this.#mayAsk(kept)) {
      const asked = this.#ask(source, kept);
      // An unavailable provider delays callers once, not at each try.
      if (kept.keys === undefined || !kept.failed || ageMs > KEEP_MS) await asked;
    }
    if (kept.keys === undefined || this.#now() - kept.readAtMs > KEEP_MS) {
      throw unavailable('The keys of the identity provider cannot be read at the moment.');
    }
    return kept.keys;
  }

  /**
   * Reads the keys again for an unknown key. Returns undefined if it is too early, or if the keys
   * are not at an address.
   */
  async renewed(source: KeySource): Promise<KeySetReader | undefined> {
    if (source.jwks !== null) return undefined;
    const kept = this.#kept(source);
    if (kept.asking === undefined && this.#now() - kept.askedAtMs < RENEW_MS) return undefined;
    await this.#ask(source, kept);
    return kept.failed ? undefined : kept.keys;
  }

  #ownOf(jwks: object): KeySetReader {
    const known = this.#own.get(jwks) ?? readKeySet(jwks).reader;
    this.#own.set(jwks, known);
    return known;
  }

  #kept({ id, revision }: KeySource): Kept {
    const key = `${id} ${revision}`;
    const known = this.#sets.get(key);
    if (known !== undefined) return known;
    const never = Number.NEGATIVE_INFINITY;
    const kept: Kept = {
      keys: undefined,
      readAtMs: never,
      askedAtMs: never,
      failed: false,
      asking: undefined,
    };
    this.#sets.set(key, kept);
    return kept;
  }

  #mayAsk({ failed, keys, askedAtMs, asking }: Kept): boolean {
    if (asking !== undefined || !failed) return true;
    return this.#now() - askedAtMs >= (keys === undefined ? FIRST_AGAIN_MS : RENEW_MS);
  }

  #ask(source: KeySource, kept: Kept): Promise<void> {
    kept.asking ??= this.#read(source, kept).finally(() => {
      kept.asking = undefined;
    });
    return kept.asking;
  }

  async #read({ id, jwks_url: url }: KeySource, kept: Kept): Promise<void> {
    kept.askedAtMs = this.#now();
    try {
      kept.keys = await this.#fetch(id, url!);
      kept.readAtMs = this.#now();
      kept.failed = false;
    } catch (error) {
      kept.failed = true;
      this.#options.log.warn(
        { err: error, identity_provider_id: id, has_earlier_keys: kept.keys !== undefined },
        'the keys of an identity provider could not be read',
      );
    }
  }

  async #fetch(id: string, url: string): Promise<KeySetReader> {
    const { status, bytes, truncated } = await this.#options.fetch.fetch(url, {
      maxBytes: KEY_SET_BYTES,
      mayAsk: () => true,
      wants: () => true,
      redirects: 0,
      signal: AbortSignal.timeout(FETCH_MS),
    });
    if (status !== 200) throw new Error(`The key set was answered with ${status}.`);
    if (truncated) throw new Error(`The key set is larger than ${KEY_SET_BYTES} bytes.`);
    const { reader, odd, hasKeys } = readKeySet(JSON.parse(bytes.toString()));
    if (!hasKeys && odd.length > 0) throw new Error(`None of its keys can be used: ${odd.join('; ')}`);
    if (odd.length > 0) {
      this.#options.log.warn(
        { identity_provider_id: id, entries: odd },
        'some keys of an identity provider cannot be used',
      );
    }
    return reader;
  }
}

export interface ReadKeySet {
  readonly reader: KeySetReader;
  /** The entries that are no usable public keys, by their position, with the fault. */
  readonly odd: readonly string[];
  readonly hasKeys: boolean;
}

/**
 * Reads a key set without its invalid entries, which do not affect the others. Keys of unknown
 * kinds stay in the set and fit no token. Throws if the value is no key set.
 */
export function readKeySet(value: unknown): ReadKeySet {
  const entries: unknown = (value as Partial<JSONWebKeySet> | null)?.keys;
  if (!Array.isArray(entries)) throw new Error('It has no list of keys.');
  const odd: string[] = [];
  const keys = entries.filter((entry: unknown, index): entry is JWK => {
    const fault = faultOf(entry);
    if (fault !== undefined) odd.push(`keys[${index}]: ${fault}`);
    return fault === undefined;
  });
  // jose clones keys, which fails for an ExactNumber (exact-json.ts) in a member that it ignores.
  const find = createLocalJWKSet({ keys: JSON.parse(JSON.stringify(keys)) as JWK[] });
  const reader = (async (...token: Parameters<typeof find>) => {
    try {
      return await find(...token);
    } catch (error) {
      const same = error instanceof errors.JWKSMultipleMatchingKeys ? await sameKey(error) : undefined;
      if (same === undefined) throw error;
      return same;
    }
  }) as KeySetReader;
  return { reader, odd, hasKeys: keys.length > 0 };
}

/** Returns the fault of an entry of a kind that signs tokens, or undefined. */
function faultOf(entry: unknown): string | undefined {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return 'it is no object';
  const { kty, d } = entry as JWK;
  if (typeof kty !== 'string') return 'it has no kty';
  if (!KINDS.has(kty)) return undefined;
  if (d !== undefined) return 'it is a private key';
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: entry as JWK, format: 'jwk' });
    const bits = asymmetricKeyDetails?.modulusLength ?? LEAST_RSA_BITS;
    return bits < LEAST_RSA_BITS ? `it has fewer than ${LEAST_RSA_BITS} bits` : undefined;
  } catch {
    return 'it cannot be read';
  }
}

/** Shortest RSA key with which jose verifies. */
const LEAST_RSA_BITS = 2_048;
const KINDS: ReadonlySet<string> = new Set(['RSA', 'EC', 'OKP']);

/** Returns the key if all entries are the same key, otherwise undefined. */
async function sameKey(error: errors.JWKSMultipleMatchingKeys) {
  const found: Awaited<ReturnType<ReturnType<typeof createLocalJWKSet>>>[] = [];
  for await (const key of error) found.push(key);
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  const objects = [first, ...others].map((key) => KeyObject.from(key));
  return objects.every((key) => key.equals(objects[0]!)) ? first : undefined;
}

/** The state of one address; changed in place. */
interface Kept {
  keys: KeySetReader | undefined;
  readAtMs: number;
  askedAtMs: number;
  /** Whether the last try failed. */
  failed: boolean;
  asking: Promise<void> | undefined;
}

const MAX_SETS = 1_000;
const FETCH_MS = 5_000;
const FRESH_MS = 600_000;
const KEEP_MS = 24 * 60 * 60 * 1_000;
const RENEW_MS = 30_000;
/** Pause before the next try at a provider whose keys were never read. */
const FIRST_AGAIN_MS = 5_000;
