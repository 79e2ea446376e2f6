import type { Timing } from '../timing/timing.ts';
import { abortable } from './abortable.ts';

/** The waits between two tries, which end early when the network is back. */
export class Pauses {
  readonly #timing: Pick<Timing, 'after'>;
  readonly #waiting = new Set<() => void>();

  constructor(timing: Pick<Timing, 'after'>) {
    this.#timing = timing;
  }

  /** Waits for the server's `leastMs`, then up to `ms`. Rejects with the signal's reason. */
  async wait({ leastMs, ms }: { leastMs: number; ms: number }, signal: AbortSignal): Promise<void> {
    if (leastMs > 0) await this.#pause(leastMs, signal, false);
    await this.#pause(ms, signal, true);
  }

  wake(): void {
    for (const end of this.#waiting) end();
  }

  #pause(ms: number, signal: AbortSignal, mayWake: boolean): Promise<void> {
    return abortable(signal, (resolve) => {
      const cancel = this.#timing.after(ms, resolve);
      if (mayWake) this.#waiting.add(resolve);
      return () => {
        cancel();
        this.#waiting.delete(resolve);
      };
    });
  }
}

/** The wait before a try: random below a doubling bound, as a lost node had many clients. */
export class Backoff {
  readonly #timing: Pick<Timing, 'random'>;
  readonly #mostMs: () => number;
  readonly #firstMs: number;
  #tries = 0;

  /** The bound is `firstMs` at first and `mostMs()` at last, in milliseconds. */
  constructor(timing: Pick<Timing, 'random'>, mostMs: () => number, firstMs = 250) {
    this.#timing = timing;
    this.#mostMs = mostMs;
    this.#firstMs = firstMs;
  }

  /** Returns the next wait in ms. */
  next(): number {
    const boundMs = Math.min(this.#mostMs(), this.#firstMs * 2 ** this.#tries);
    this.#tries += 1;
    return this.#timing.random() * boundMs;
  }

  reset(): void {
    this.#tries = 0;
  }
}
