type Release = () => void | Promise<void>;

/**
 * Releases resources in the reverse order of their acquisition, one at a time; a release that fails
 * does not stop the others. Closing twice has the effect of closing once.
 */
export class Disposer {
  readonly #releases: { name: string; release: Release }[] = [];
  #closing: Promise<void> | undefined;

  /** Returns `resource`, so that acquiring and registering it read as one line. */
  add<T>(name: string, resource: T, release: (resource: T) => void | Promise<void>): T {
    this.#releases.push({ name, release: () => release(resource) });
    return resource;
  }

  /** Rejects with an AggregateError of every release that failed, after all releases have run. */
  close(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    const failures: Error[] = [];
    for (const { name, release } of this.#releases.reverse()) {
      try {
        await release();
      } catch (cause) {
        failures.push(new Error(`could not stop ${name}`, { cause }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some parts did not stop cleanly');
  }
}

export interface LoopOptions {
  /** Milliseconds from one run's beginning to the next; at least half of it is a pause. */
  readonly intervalMs: number;
  /** One round of work; the signal aborts when the loop is closed. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /**
   * An error never ends the loop: it is reported here and the next round follows after the pause.
   */
  readonly onError: (error: unknown) => void;
  /**
   * Whether no round has anything to do until `stir` is called. Asked after each round; a loop that
   * rests has no timer.
   */
  readonly rests?: () => boolean;
}

/**
 * Periodic work, one round at a time. A wake-up during a round starts another round right after it
 * (none is lost). Closing aborts the pause and waits for the current round.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;
  #woken = false;
  #endPause: (() => void) | undefined;
  #endRest: (() => void) | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#done = this.#rounds();
  }

  /** Ends the pause now, or starts another round right after the current one. */
  wake(): void {
    this.#woken = true;
    this.#endPause?.();
  }

  /** Makes a loop that rests run a round after its usual pause. */
  stir(): void {
    this.#endRest?.();
  }

  close(): Promise<void> {
    this.#abort.abort();
    this.#endPause?.();
    return this.#done;
  }

  async #rounds(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      await this.#pause();
      if (signal.aborted) return;
      this.#woken = false;
      try {
        await this.#options.run(signal);
      } catch (error) {
        if (!signal.aborted) this.#options.onError(error);
      }
    }
  }

  #pause(): Promise<void> {
    if (this.#woken) return Promise.resolve();
    return new Promise<void>((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const begin = () => {
        timer ??= setTimeout(resolve, pauseMs(this.#options.intervalMs));
      };
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#options.rests?.() === true) this.#endRest = begin;
      else begin();
    }).then(() => {
      this.#endPause = undefined;
      this.#endRest = undefined;
    });
  }
}

/**
 * Returns the milliseconds until work with this interval is due. The loops of a process begin their
 * runs at the same moments, multiples of their intervals, because a wake-up of the process and of
 * Postgres costs more than most runs do. The moments of two processes differ.
 */
export function pauseMs(intervalMs: number): number {
  const untilNext = intervalMs - (performance.now() % intervalMs);
  return untilNext < intervalMs / 2 ? untilNext + intervalMs : untilNext;
}

/**
 * Settles as `work` does, or rejects with the reason of `signal` as soon as it aborts. `work`
 * itself goes on, and its result is dropped.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abandon = () => reject(signal.reason);
    if (signal.aborted) abandon();
    else signal.addEventListener('abort', abandon, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abandon));
  });
}

/**
 * Runs at most `most` works of one key at once; others wait in the order of the calls. A work that
 * need not wait begins at once.
 */
export class KeyedQueue {
  readonly #most: number;
  readonly #lines = new Map<string | object, { running: number; readonly waiting: (() => void)[] }>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Settles as `work` does. */
  async run<T>(key: string | object, work: () => Promise<T>): Promise<T> {
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { running: 0, waiting: [] };
      this.#lines.set(key, line);
    }
    const { waiting } = line;
    // A work that ends passes its turn on, so the next one is counted already.
    if (line.running < this.#most) line.running += 1;
    else await new Promise<void>((begin) => waiting.push(begin));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next !== undefined) next();
      else if (--line.running === 0) this.#lines.delete(key);
    }
  }
}

/**
 * Limits work that waits for something scarce, such as a row's lock. It would hold a connection or
 * a thread meanwhile, and ten callers of one row could keep all others from Postgres. Here it waits
 * without either: one at a time for each key, in the order of the calls, and `most` in total.
 */
export class KeyedLimiter {
  readonly #ofKeys = new KeyedQueue(1);
  readonly #ofAll: KeyedQueue;

  constructor(most: number) {
    this.#ofAll = new KeyedQueue(most);
  }

  /** Settles as `work` does. */
  run<T>(key: string | object, work: () => Promise<T>): Promise<T> {
    return this.#ofKeys.run(key, () => this.#ofAll.run('', work));
  }
}
