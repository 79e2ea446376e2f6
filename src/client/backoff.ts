import type { Timing } from './timing.ts';

const FIRST_MS = 250;

/**
 * How long to wait before the next try: any time up to a bound that doubles ("full jitter"), so that those
 * whom one node lost do not come back together.
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
