import type { Timing } from './timing.ts';

const FIRST_MS = 250;

/**
 * The wait before the next try: a random time up to a bound that doubles ("full jitter"), so that
 * the clients of a lost node do not come back at the same moment.
 */
export class Backoff {
  readonly #timing: Pick<Timing, 'random'>;
  readonly #mostMs: number;
  #tries = 0;

  constructor(timing: Pick<Timing, 'random'>, mostMs: number) {
    this.#timing = timing;
    this.#mostMs = mostMs;
  }

  /** Milliseconds. */
  next(): number {
    const boundMs = Math.min(this.#mostMs, FIRST_MS * 2 ** this.#tries);
    this.#tries += 1;
    return this.#timing.random() * boundMs;
  }

  reset(): void {
    this.#tries = 0;
  }
}
