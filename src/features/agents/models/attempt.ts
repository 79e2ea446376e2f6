import { ModelError, type ModelPart } from './model.ts';

/** Time limits for a model, in milliseconds. */
export interface Patience {
  /** Until the first part. */
  readonly firstPartMs: number;
  /** Between parts. */
  readonly stallMs: number;
  /** Between parts while the model thinks: vendors can be silent for minutes. */
  readonly thinkingMs: number;
  /** From the request to the last part. */
  readonly turnMs: number;
}

export const PATIENCE: Patience = {
  firstPartMs: 30_000,
  stallMs: 15_000,
  thinkingMs: 90_000,
  turnMs: 5 * 60_000,
};

/**
 * One request to one model. `signal` aborts with the caller's signal, or with a ModelError
 * `stalled` when a limit of Patience has passed. `end` releases the timers.
 */
export class ModelAttempt {
  readonly #patience: Patience;
  readonly #controller = new AbortController();
  readonly signal: AbortSignal;
  readonly #whole: NodeJS.Timeout;
  #silence: NodeJS.Timeout;
  #silenceMs: number;

  constructor(caller: AbortSignal, patience: Patience) {
    this.#patience = patience;
    this.signal = AbortSignal.any([caller, this.#controller.signal]);
    this.#whole = setTimeout(() => this.#giveUp('The model took too long.'), patience.turnMs);
    this.#silenceMs = patience.firstPartMs;
    this.#silence = this.#watchSilence();
  }

  /** Handles a part. Called once a token, so it moves a timer instead of making one. */
  onPart({ type }: ModelPart): void {
    const ms = type === 'thinking' ? this.#patience.thinkingMs : this.#patience.stallMs;
    if (ms === this.#silenceMs) {
      this.#silence.refresh();
      return;
    }
    clearTimeout(this.#silence);
    this.#silenceMs = ms;
    this.#silence = this.#watchSilence();
  }

  end(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#whole);
  }

  #watchSilence(): NodeJS.Timeout {
    return setTimeout(() => this.#giveUp('The model stopped answering.'), this.#silenceMs);
  }

  #giveUp(message: string): void {
    this.#controller.abort(new ModelError('stalled', message));
  }
}
