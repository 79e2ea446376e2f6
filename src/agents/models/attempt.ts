import { ModelError, type ModelPart } from './model.ts';

/** How long a model is waited for, in milliseconds. */
export interface Patience {
  /** Until its first part. */
  readonly firstPartMs: number;
  /** Between parts. */
  readonly stallMs: number;
  /** The same after a sign that it thinks: vendors show little of it, and it takes them minutes of silence. */
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
 * One model being asked: `signal` ends with the caller's, or with a ModelError `stalled` once the model was waited
 * for long enough. `end` releases it.
 */
export class ModelAttempt {
  readonly #patience: Patience;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #onCallerAbort = () => this.#controller.abort(this.#caller.reason);
  readonly #whole: NodeJS.Timeout;
  #silence: NodeJS.Timeout;
  #silenceMs: number;

  constructor(caller: AbortSignal, patience: Patience) {
    this.#patience = patience;
    this.#caller = caller;
    caller.addEventListener('abort', this.#onCallerAbort, { once: true });
    if (caller.aborted) this.#onCallerAbort();
    this.#whole = setTimeout(() => this.#giveUp('The model took too long.'), patience.turnMs);
    this.#silenceMs = patience.firstPartMs;
    this.#silence = this.#watchSilence();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The model gave a sign of life. Called per token: a timer is moved, none is made. */
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
    this.#caller.removeEventListener('abort', this.#onCallerAbort);
  }

  #watchSilence(): NodeJS.Timeout {
    return setTimeout(() => this.#giveUp('The model stopped answering.'), this.#silenceMs);
  }

  #giveUp(message: string): void {
    this.#controller.abort(new ModelError('stalled', message));
  }
}
