import type { Timing } from '../timing/timing.ts';

/** The limits of a call. */
export interface CallOptions {
  /** Rejects the call with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Rejects the call with a DOMException `TimeoutError` after this many milliseconds. */
  readonly timeoutMs?: number;
}

/** Aborts on the caller's signal, after its time, or with the client. Call `end` afterwards. */
export class CallScope {
  readonly #controller = new AbortController();
  readonly #releases: (() => void)[] = [];

  constructor(timing: Pick<Timing, 'after'>, { signal, timeoutMs }: CallOptions, parent?: AbortSignal) {
    for (const source of [signal, parent]) if (source !== undefined) this.#follow(source);
    if (timeoutMs === undefined || this.signal.aborted) return;
    const overdue = () => {
      this.#controller.abort(new DOMException(`No answer within ${timeoutMs} ms.`, 'TimeoutError'));
    };
    this.#releases.push(timing.after(timeoutMs, overdue));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  #follow(source: AbortSignal): void {
    const abort = () => this.#controller.abort(source.reason);
    if (source.aborted) {
      abort();
      return;
    }
    source.addEventListener('abort', abort);
    this.#releases.push(() => source.removeEventListener('abort', abort));
  }
}
