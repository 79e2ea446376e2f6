import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { LRUCache } from 'lru-cache';
import { unavailable } from '../../../contract/protocol/errors.ts';
import { KEY_SET_BYTES } from '../../../contract/protocol/resources/identity-provider.ts';
import { bounded } from '../../../platform/bounded.ts';
import type { Logger } from '../../../platform/log.ts';
import type { GuardedFetch } from '../../../platform/outbound/guarded-fetch.ts';
import type { ProviderRow } from '../providers/provider-store.ts';

/** Finds the key of a token by its header. Rejects if none, or more than one, fits. */
export type KeySetReader = ReturnType<typeof createLocalJWKSet>;

export interface KeySetsOptions {
  readonly fetch: Pick<GuardedFetch, 'fetch'>;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

type KeySource = Pick<ProviderRow, 'id' | 'revision' | 'jwks' | 'jwks_url'>;

/**
 * The public keys of identity providers. Those at an address are read once for ten minutes, and
 * again for a key that is not among them, at most every 30 seconds. While a provider is away its
 * last keys hold for a day. One request at a time asks, for all that wait.
 */
export class KeySets {
  readonly #options: KeySetsOptions;
  readonly #now: () => number;
  readonly #sets = new LRUCache<string, Kept>(bounded(MAX_SETS));
  /** The readers of key sets that stand in the rows of providers. */
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
      // A provider that was away delays callers once, and not at each try.
      if (kept.keys === undefined || !kept.failed || ageMs > KEEP_MS) await asked;
    }
    if (kept.keys === undefined || this.#now() - kept.readAtMs > KEEP_MS) {
      throw unavailable('The keys of the identity provider cannot be read at the moment.');
    }
    return kept.keys;
  }

  /**
   * Reads the keys again for one that was not among them. Returns undefined if it is too early, or
   * they are at no address.
   */
  async renewed(source: KeySource): Promise<KeySetReader | undefined> {
    if (source.jwks !== null) return undefined;
    const kept = this.#kept(source);
    if (kept.asking === undefined && this.#now() - kept.askedAtMs < RENEW_MS) return undefined;
    await this.#ask(source, kept);
    return kept.failed ? undefined : kept.keys;
  }

  #ownOf(jwks: object): KeySetReader {
    const known = this.#own.get(jwks) ?? readKeySet(jwks);
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
      kept.keys = await this.#fetch(url!);
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

  async #fetch(url: string): Promise<KeySetReader> {
    const { status, bytes, truncated } = await this.#options.fetch.fetch(url, {
      maxBytes: KEY_SET_BYTES,
      mayAsk: () => true,
      wants: () => true,
      redirects: 0,
      signal: AbortSignal.timeout(FETCH_MS),
    });
    if (status !== 200) throw new Error(`The key set was answered with ${status}.`);
    if (truncated) throw new Error(`The key set is larger than ${KEY_SET_BYTES} bytes.`);
    return readKeySet(JSON.parse(bytes.toString()));
  }
}

/** Throws if this is no key set. Keys of unknown kinds are in it, and fit no token. */
export function readKeySet(value: unknown): KeySetReader {
  return createLocalJWKSet(value as JSONWebKeySet);
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
/** For a provider whose keys were never read. */
const FIRST_AGAIN_MS = 5_000;
