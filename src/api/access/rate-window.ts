import type { Addition, Tally } from '../../platform/engine/engine.ts';

/**
 * The window of one key, as this node knows it. A single node grants up to the limit. One of
 * several nodes grants what it holds: a part of the rest of the limit, taken in the engine, where
 * it counts as used until it is given back. A few requests are granted before they are counted
 * there (`mostOwed`), so a caller far from its limit never waits.
 */
export class RateWindow {
  readonly key: string;
  endsMs = 0;
  /** Requests since the last exchange with the engine, granted or not. */
  demand = 0;
  /** Requests that cannot be decided before the next exchange. */
  readonly waiting: Waiting[] = [];
  /** Whether the engine did not answer the last exchange, so that this node counts it alone. */
  isAlone = false;
  /** The number of the window in the engine; undefined until the first exchange. */
  #number: number | undefined;
  /** Used or held by all nodes, as of the last exchange. */
  #total = 0;
  /** The part of `#total` still to grant here; negative if the engine has more to count. */
  #held = 0;

  constructor(key: string) {
    this.key = key;
  }

  get used(): number {
    return this.#total - this.#held;
  }

  get isHolding(): boolean {
    return this.#held > 0;
  }

  begin(endsMs: number): void {
    this.endsMs = endsMs;
    this.#number = undefined;
    this.#total = 0;
    this.#held = 0;
  }

  /** Counts one request if it can be granted now, else returns false. */
  grant(limit: number, mostOwed: number): boolean {
    const isOwed = !this.isAlone && this.#held <= -mostOwed;
    if (this.#held <= 0 && (isOwed || this.used >= limit)) return false;
    this.#held -= 1;
    return true;
  }

  /**
   * Returns the addition for the engine: what was granted in advance, what the waiting requests
   * need, and as much as this node will probably grant until the next exchange. The surplus goes
   * back.
   */
  toAddition(limit: number, mostOwed: number): Omit<Addition, 'windowMs'> {
    const wanted = this.waiting.length + this.#advance(limit, mostOwed);
    this.demand = 0;
    const surplus = Math.max(0, this.#held - wanted);
    const owed = Math.max(0, -this.#held);
    const most = Math.max(0, wanted - Math.max(0, this.#held));
    // The surplus cannot be granted from now on, whereas a debt remains until it is counted.
    this.#held -= surplus;
    return {
      key: this.key,
      by: owed - surplus,
      ...(this.#number === undefined ? {} : { window: this.#number }),
      take: { most, limit },
    };
  }

  /** Takes the answer to an addition of `by`. */
  learn(by: number, { total, taken, window, leftMs }: Tally, nowMs: number): void {
    if (this.#number !== undefined && this.#number !== window) this.#held = 0;
    else if (by > 0) this.#held = Math.min(0, this.#held + by);
    this.#number = window;
    this.#total = total;
    this.#held += taken;
    this.endsMs = nowMs + leftMs;
  }

  /** Returns twice the demand, as it may grow, but not so much that other nodes have to refuse. */
  #advance(limit: number, mostOwed: number): number {
    if (this.isAlone || this.demand <= mostOwed) return 0;
    const affordable = Math.max(0, Math.floor((limit - this.#total) * MAX_ADVANCED));
    return Math.min(2 * this.demand - this.waiting.length, affordable);
  }
}

/** The values of the RateLimit-* headers. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until all of `limit` is available again, rounded up. */
  readonly resetS: number;
}

/** A request that the next exchange decides. */
export type Waiting = Pick<PromiseWithResolvers<RateState>, 'resolve' | 'reject'>;

/** The largest share of the remaining limit that is taken in advance. */
const MAX_ADVANCED = 1 / 4;
