import { ApiError } from '@parley/protocol/errors/errors.ts';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { bounded } from '../../platform/bounded.ts';
import type { Addition, Tally } from '../../platform/engine/engine.ts';
import { type RateState, RateWindow, type Waiting } from './rate-window.ts';

/** `PARLEY_RATE_LIMIT`, as config.ts reads it. */
export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

export interface RateLimits {
  /** Counts by `principal.credential.id`. */
  readonly credentials: RateLimiter;
  /** Counts by actor id, for deferred work in its name, such as sending scheduled messages. */
  readonly deferred: RateLimiter;
  /** Counts by address, before authentication: ten times as many, as callers may share one. */
  readonly addresses: RateLimiter;
  /** Counts by address, like `visitorsOfAddress` (`scarce` in api/pipeline/route.ts). */
  readonly registrations: RateLimiter;
  readonly visitorsOfAddress: RateLimiter;
  /** Counts by the address of an SMTP client that brings mail. */
  readonly mails: RateLimiter;
  /** Counts by widget, for visitors that begin. */
  readonly visitors: RateLimiter;
}

/** Creates the limits of a node; null (PARLEY_RATE_LIMIT=off) limits nothing. */
export function createRateLimits(limit: RateLimit | null): RateLimits {
  const perAddress = limit === null ? null : { ...limit, requests: limit.requests * PER_ADDRESS };
  return {
    credentials: new RateLimiter(limit),
    deferred: new RateLimiter(limit),
    addresses: new RateLimiter(perAddress, { keyOf: networkOf }),
    registrations: new RateLimiter(limit && REGISTRATIONS, { keyOf: networkOf }),
    visitorsOfAddress: new RateLimiter(limit && VISITORS_OF_ADDRESS, { keyOf: networkOf }),
    mails: new RateLimiter(limit, { keyOf: networkOf }),
    visitors: new RateLimiter(limit && VISITORS),
  };
}

/** Creates the limits of polls on this node, which are not part of `PARLEY_RATE_LIMIT`. */
export function createPollLimits(perSecond: number): Record<'actors' | 'addresses', RateLimiter> {
  return {
    actors: new RateLimiter({ requests: perSecond, seconds: 1 }),
    // Enough for an office of a hundred that all poll as often as they may.
    addresses: new RateLimiter({ requests: 100 * perSecond, seconds: 1 }, { keyOf: networkOf }),
  };
}

export interface RateLimiterOptions {
  /** Returns the key to count by, if several keys are one caller. Default: the key itself. */
  readonly keyOf?: (key: string) => string;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** The calls of a limiter while it counts with other nodes. */
export interface Sharing {
  /** Called when a request waits for an exchange. */
  ask(): void;
  /** Called when there is something to exchange. */
  changed(): void;
}

/**
 * Admits a number of requests per window, which begins with a key's first request. It counts in
 * this process, with one look-up per request (each request is counted twice). rate-sharing.ts
 * exchanges counts between nodes; a request that this node cannot decide alone waits for the next
 * exchange.
 */
export class RateLimiter {
  /** Requests per window; 0 if nothing is limited. */
  readonly limit: number;
  readonly #windowMs: number;
  readonly #windows = new LRUCache<string, RateWindow>(bounded(MAX_WINDOWS));
  readonly #keyOf: ((key: string) => string) | undefined;
  readonly #now: () => number;
  /** Windows used since the last exchange or holding something; undefined if not exchanging. */
  #changed: Set<RateWindow> | undefined;
  /** Windows with waiting requests. */
  readonly #asking = new Set<RateWindow>();
  #sharing: Sharing | undefined;
  #mostOwed = Number.POSITIVE_INFINITY;

  constructor(limit: RateLimit | null, { keyOf, now = () => performance.now() }: RateLimiterOptions = {}) {
    this.limit = limit?.requests ?? 0;
    this.#windowMs = (limit?.seconds ?? 0) * 1_000;
    this.#keyOf = keyOf;
    // Whole milliseconds, because fractions can turn a window of 60 s into an announced 61.
    this.#now = () => Math.floor(now());
  }

  /**
   * Counts one request. Throws, or rejects with, ApiError `rate_limit_exceeded`; returns undefined
   * if nothing is limited, and a promise only if other nodes have to be asked.
   */
  consume(key: string): RateState | Promise<RateState> | undefined {
    if (this.limit === 0) return undefined;
    const counted = this.#keyOf === undefined ? key : this.#keyOf(key);
    const nowMs = this.#now();
    let window = this.#windows.get(counted);
    if (window === undefined) {
      window = new RateWindow(counted);
      this.#windows.set(counted, window);
    }
    if (window.endsMs <= nowMs) window.begin(nowMs + this.#windowMs);
    window.demand += 1;
    if (window.demand === 1) this.#change(window);
    if (window.grant(this.limit, this.#mostOwed)) return this.#stateOf(window, nowMs);
    if (window.used >= this.limit) throw tooMany(secondsLeft(window, nowMs));
    return this.#ask(window);
  }

  /** Starts counting with other nodes. */
  share(sharing: Sharing): void {
    this.#changed = new Set();
    this.#sharing = sharing;
    this.#mostOwed = Math.floor(this.limit * MAX_OWED);
  }

  /** Ends counting with other nodes. The returned last exchange gives back what this node holds. */
  unshare(): Exchange[] {
    this.#mostOwed = Number.POSITIVE_INFINITY;
    const last = this.takeExchanges('all');
    this.#changed = undefined;
    return last;
  }

  get isAsking(): boolean {
    return this.#asking.size > 0;
  }

  /** Whether there is nothing to exchange. */
  get isQuiet(): boolean {
    return !this.isAsking && (this.#changed?.size ?? 0) === 0;
  }

  /** Returns the exchanges of all windows that changed, or only of those with waiting requests. */
  takeExchanges(which: 'all' | 'asking'): Exchange[] {
    const windows = new Set(this.#asking);
    this.#asking.clear();
    if (which === 'all') for (const window of this.#changed ?? []) windows.add(window);
    const nowMs = this.#now();
    const exchanges: Exchange[] = [];
    for (const window of windows) {
      this.#changed?.delete(window);
      if (window.endsMs <= nowMs) {
        // The end of a window ends what it held.
        if (window.waiting.length === 0) {
          window.demand = 0;
          continue;
        }
        window.begin(nowMs + this.#windowMs);
      }
      const counts = window.toAddition(this.limit, this.#mostOwed);
      // The next window is whole if the engine knows this one and it has ended.
      const windowMs = counts.window === undefined ? window.endsMs - nowMs : this.#windowMs;
      const addition = { ...counts, windowMs };
      exchanges.push({ window, addition, waiting: window.waiting.splice(0) });
    }
    return exchanges;
  }

  /** Takes the engine's answer; without one (undefined) this node counts alone until the next. */
  learn({ window, addition, waiting }: Exchange, tally: Tally | undefined): void {
    const nowMs = this.#now();
    window.isAlone = tally === undefined;
    if (tally !== undefined) window.learn(addition.by, tally, nowMs);
    if (window.isHolding) this.#change(window);
    for (const { resolve, reject } of waiting) {
      if (window.grant(this.limit, this.#mostOwed)) resolve(this.#stateOf(window, nowMs));
      else reject(tooMany(secondsLeft(window, nowMs)));
    }
  }

  #change(window: RateWindow): void {
    this.#changed?.add(window);
    this.#sharing?.changed();
  }

  #ask(window: RateWindow): Promise<RateState> {
    return new Promise((resolve, reject) => {
      window.waiting.push({ resolve, reject });
      this.#asking.add(window);
      this.#sharing?.ask();
    });
  }

  #stateOf(window: RateWindow, nowMs: number): RateState {
    const remaining = Math.max(0, this.limit - window.used);
    return { limit: this.limit, remaining, resetS: secondsLeft(window, nowMs) };
  }
}

/** The exchange of one window with the engine. */
export interface Exchange {
  readonly window: RateWindow;
  readonly addition: Addition;
  /** The requests that the answer decides. */
  readonly waiting: readonly Waiting[];
}

/** The share of a limit to grant before other nodes know of it: two nodes stay within 1 %. */
const MAX_OWED = 1 / 200;

/** Most callers remembered, at about 200 bytes each; the least recently seen go first. */
const MAX_WINDOWS = 100_000;

/**
 * Returns the key to count an address by: an IPv4 address (also mapped into IPv6) itself, an IPv6
 * address its /64. A caller has all of a /64, and could otherwise fill memory with counters.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const network = (parsed as ipaddr.IPv6).parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

const PER_ADDRESS = 10;

/** Enough for an office's registrations, mistyped ones too; too few to fill a database. */
const REGISTRATIONS: RateLimit = { requests: 20, seconds: 3_600 };

/** A shop behind a balancer has one address for all visitors whose first message it gets. */
const VISITORS_OF_ADDRESS: RateLimit = { requests: 30, seconds: 60 };
/** The limit of a widget, whose visitors come from many addresses. */
const VISITORS: RateLimit = { requests: 100, seconds: 60 };

function secondsLeft({ endsMs }: RateWindow, nowMs: number): number {
  return Math.ceil((endsMs - nowMs) / 1_000);
}

function tooMany(retryAfterS: number): ApiError {
  return new ApiError('rate_limit_exceeded', `Too many requests; try again in ${retryAfterS} s.`, {
    retryAfterS,
  });
}
