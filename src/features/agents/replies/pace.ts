/** The clock that texts are paced by. */
export interface Clock {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Calls `call` once, after `ms`. Returns a function that cancels it. */
  after(ms: number, call: () => void): () => void;
}

const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** Milliseconds for which text gathers before publication (docs/realtime.md#streamed-replies). */
const GATHER_MS = 40;

/**
 * Interval of the check for texts that are due. Texts that are due together leave in one turn of
 * the loop: one write to the broker, one to each socket.
 */
const LOOK_EVERY_MS = 8;

/** One timer for all texts of a node with something to publish. It runs only while any wait. */
export class Pace {
  readonly gatherMs: number;
  readonly clock: Clock;
  /** In the order in which they are due: all texts wait equally long. */
  readonly #waiting = new Map<() => void, number>();
  #forget: (() => void) | undefined;

  constructor(gatherMs = GATHER_MS, clock = REAL_CLOCK) {
    this.gatherMs = gatherMs;
    this.clock = clock;
  }

  /** Schedules a call, `gatherMs` from now or a little later; a no-op while the call waits. */
  wake(call: () => void): void {
    if (this.#waiting.has(call)) return;
    this.#waiting.set(call, this.clock.now() + this.gatherMs);
    this.#forget ??= this.clock.after(LOOK_EVERY_MS, this.#look);
  }

  isWaiting(call: () => void): boolean {
    return this.#waiting.has(call);
  }

  forget(call: () => void): void {
    this.#waiting.delete(call);
  }

  readonly #look = (): void => {
    this.#forget = undefined;
    const now = this.clock.now();
    for (const [call, dueAt] of this.#waiting) {
      if (dueAt > now) break;
      this.#waiting.delete(call);
      call();
    }
    if (this.#waiting.size > 0) this.#forget ??= this.clock.after(LOOK_EVERY_MS, this.#look);
  };

  close(): void {
    this.#forget?.();
    this.#forget = undefined;
    this.#waiting.clear();
  }
}
