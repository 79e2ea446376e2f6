import type { Model, ModelError } from './model.ts';

/** Pause for a rate-limited model whose error contains none, in milliseconds. */
const DEFAULT_PAUSE_MS = 5_000;

/**
 * The models of this node that are rate-limited, each with the time at which it may be asked again.
 * Shared by all chains that contain the model.
 */
export class Cooldowns {
  readonly #untilMs = new Map<Model, number>();
  readonly #now: () => number;

  /** `now` returns milliseconds. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Records a failure. Returns whether it asks for a pause. */
  recordFailure(model: Model, { reason, retryAfterMs }: ModelError): boolean {
    const isLimited = reason === 'rate_limited';
    const pauseMs = retryAfterMs ?? (isLimited ? DEFAULT_PAUSE_MS : 0);
    if (pauseMs > 0) this.#untilMs.set(model, this.#now() + pauseMs);
    return isLimited || pauseMs > 0;
  }

  /** Returns the remaining pause of the model, in milliseconds. */
  left(model: Model): number {
    const leftMs = (this.#untilMs.get(model) ?? 0) - this.#now();
    if (leftMs <= 0) this.#untilMs.delete(model);
    return Math.max(leftMs, 0);
  }
}
