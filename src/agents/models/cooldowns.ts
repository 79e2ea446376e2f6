import type { Model, ModelError } from './model.ts';

/** For a model that is rate-limited and does not say until when, in milliseconds. */
const UNTOLD_MS = 5_000;

/** Which models want to be left alone until when: of one node, for all chains that a model is in. */
export class Cooldowns {
  readonly #untilMs = new Map<Model, number>();
  readonly #now: () => number;

  /** `now` in milliseconds. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Takes note of a failure that asks for a pause. Answers whether it does. */
  recordFailure(model: Model, { reason, retryAfterMs }: ModelError): boolean {
    const isLimited = reason === 'rate_limited';
    const pauseMs = retryAfterMs ?? (isLimited ? UNTOLD_MS : 0);
    if (pauseMs > 0) this.#untilMs.set(model, this.#now() + pauseMs);
    return isLimited || pauseMs > 0;
  }

  /** How long the model is to be left alone from now, in milliseconds. */
  left(model: Model): number {
    const leftMs = (this.#untilMs.get(model) ?? 0) - this.#now();
    if (leftMs <= 0) this.#untilMs.delete(model);
    return Math.max(leftMs, 0);
  }
}
