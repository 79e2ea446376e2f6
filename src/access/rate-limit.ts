import { LRUCache } from 'lru-cache';
import { ApiError } from '../protocol/errors.ts';

/** `PARLEY_RATE_LIMIT`, as config.ts reads it. */
export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

/** What the RateLimit-* headers say. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until all of `limit` is there again, rounded up. */
  readonly resetS: number;
}

export interface RateLimits {
  /** By `principal.credential.id`. */
  readonly credentials: RateLimiter;
  /** By the caller's address, before authentication: ten times as much, for many may share one. */
  readonly addresses: RateLimiter;
}

/** Both limits of a node; `null` (PARLEY_RATE_LIMIT=off) limits nobody. */
export function createRateLimits(limit: RateLimit | null): RateLimits {
  const perAddress = limit === null ? null : { ...limit, requests: limit.requests * PER_ADDRESS };
  return {
    credentials: new RateLimiter(limit),
    addresses: new RateLimiter(perAddress, { keyOf: networkOf }),
  };
}

export interface RateLimiterOptions {
  /** What to count by, where several keys are one caller. Default: the key itself. */
  readonly keyOf?: (key: string) => string;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * So many requests in a window that begins with a key's first one (specification, Limits). Counted in
 * this process, which is one look-up (every request pays for it twice); what several nodes count is brought
 * together a few times a second (rate-sharing.ts).
 */
export class RateLimiter {
  /** Requests that a window allows; 0 where nothing is limited. */
  readonly limit: number;
  readonly #windowMs: number;
  readonly #windows: LRUCache<string, Window> | undefined;
  readonly #keyOf: ((key: string) => string) | undefined;
  readonly #now: () => number;
  /** Keys counted since they were last shared; undefined while nobody asks. */
  #unshared: Map<string, number> | undefined;

  constructor(limit: RateLimit | null, { keyOf, now = () => performance.now() }: RateLimiterOptions = {}) {
    this.limit = limit?.requests ?? 0;
    this.#windowMs = (limit?.seconds ?? 0) * 1_000;
    this.#windows = limit === null ? undefined : new LRUCache({ max: MAX_WINDOWS });
    this.#keyOf = keyOf;
    // Whole: with fractions 60 s can come out a little longer, and be told as 61.
    this.#now = () => Math.floor(now());
  }

  /** Counts one request. Throws ApiError `rate_limit_exceeded`; undefined where nothing is limited. */
  consume(key: string): RateState | undefined {
    if (this.#windows === undefined) return undefined;
    const counted = this.#keyOf === undefined ? key : this.#keyOf(key);
    const nowMs = this.#now();
    let window = this.#windows.get(counted);
    if (window === undefined || window.endsMs <= nowMs) {
      window = { endsMs: nowMs + this.#windowMs, used: 0 };
      this.#windows.set(counted, window);
    }
    window.used += 1;
    if (this.#unshared !== undefined) {
      this.#unshared.set(counted, (this.#unshared.get(counted) ?? 0) + 1);
    }
    const resetS = Math.ceil((window.endsMs - nowMs) / 1_000);
    if (window.used > this.limit) throw tooMany(resetS);
    return { limit: this.limit, remaining: this.limit - window.used, resetS };
  }

  /** Of a window, in milliseconds. */
  get windowMs(): number {
    return this.#windowMs;
  }

  /** What was counted here since the last call, by key. The first one says that it is asked for from now on. */
  takeUnshared(): ReadonlyMap<string, number> {
    const unshared = this.#unshared ?? new Map();
    if (unshared.size > 0 || this.#unshared === undefined) this.#unshared = new Map();
    return unshared;
  }

  /** What all nodes together have counted of a key, and when that window ends. */
  learn(key: string, total: number, leftMs: number): void {
    const used = total + (this.#unshared?.get(key) ?? 0);
    this.#windows?.set(key, { endsMs: this.#now() + leftMs, used });
  }
}

interface Window {
  readonly endsMs: number;
  used: number;
}

/** Callers remembered at once, about 200 bytes each; the least recently seen are forgotten first. */
const MAX_WINDOWS = 100_000;

/**
 * What an address is counted as: an IPv4 address (also when it comes mapped into IPv6) itself, an IPv6
 * one its /64. One caller has all of a /64, and could otherwise fill the memory with counters.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const groups = groupsOf(address);
  const mapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  if (mapped) return [groups[6]!, groups[7]!].map((group) => `${group >> 8}.${group & 0xff}`).join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

const PER_ADDRESS = 10;

function tooMany(retryAfterS: number): ApiError {
  return new ApiError('rate_limit_exceeded', `Too many requests; try again in ${retryAfterS} s.`, {
    retryAfterS,
  });
}

/** The eight groups of an IPv6 address, written out or shortened, with or without an IPv4 tail. */
function groupsOf(address: string): number[] {
  const plain = address
    .replace(/%.*$/, '')
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
      const [a, b, c, d] = bytes.slice(0, 4).map(Number) as [number, number, number, number];
      return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    });
  const [before = '', after] = plain.split('::');
  const head = parseGroups(before);
  const tail = parseGroups(after ?? '');
  return [...head, ...new Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0), ...tail];
}

function parseGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
