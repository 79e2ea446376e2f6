export interface BackoffOptions {
  /** Milliseconds before each try, counted from the end of the one before. */
  readonly delaysMs: readonly number[];
  /**
   * The part of a delay by which it may be longer: receivers that were away do not get everything
   * in one moment.
   */
  readonly jitter: number;
  /** The clock runs this many times as fast as usual. Default 1. */
  readonly speed?: number;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** The pauses between tries of something that fails, until it is given up. */
export class Backoff {
  readonly #delaysMs: readonly number[];
  readonly #jitter: number;
  readonly #speed: number;
  readonly #random: () => number;

  constructor({ delaysMs, jitter, speed = 1, random = Math.random }: BackoffOptions) {
    this.#delaysMs = delaysMs;
    this.#jitter = jitter;
    this.#speed = speed;
    this.#random = random;
  }

  /**
   * Returns the milliseconds until the next try, at least `leastMs`, after `attempts` of them;
   * null: there is none.
   */
  delayAfter(attempts: number, leastMs = 0): number | null {
    const usual = this.#delaysMs[attempts];
    if (usual === undefined) return null;
    return Math.max(usual * (1 + this.#jitter * this.#random()), leastMs) / this.#speed;
  }
}
