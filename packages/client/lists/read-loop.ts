import { lost, type ParleyError } from '../errors/parley-error.ts';
import type { Timing } from '../timing/timing.ts';

export interface ReadLoopOptions {
  readonly timing: Pick<Timing, 'after'>;
  /** Reads; resolves with whether more is wanted. Rejects with ParleyError. */
  readonly read: () => Promise<boolean>;
  /** Called after a failed read, which is repeated if `error.isTransient`. */
  readonly failed: (error: ParleyError) => void;
  /** The shortest time between two reads that are not urgent, in milliseconds; 30 by default. */
  readonly restMs?: number;
}

/**
 * The reads of one object, one after another, so that a later answer is a later state. During a
 * rest between two reads, changes gather for the next read.
 */
export class ReadLoop {
  readonly #options: ReadLoopOptions;
  #isWanted = false;
  #isUrgent = false;
  #isReading = false;
  #isOver = false;
  /** Ends the rest, or the moment before a first read. */
  #stopResting: (() => void) | undefined;

  constructor(options: ReadLoopOptions) {
    this.#options = options;
  }

  /** Reads soon, or at once if it is urgent. */
  wake(isUrgent = false): void {
    this.#isWanted = true;
    this.#isUrgent ||= isUrgent;
    if (this.#isReading || this.#isOver) return;
    if (this.#isUrgent) this.#run();
    else if (this.#stopResting === undefined) this.#rest(GATHER_MS);
  }

  close(): void {
    this.#isOver = true;
    this.#stopResting?.();
  }

  #run(): void {
    this.#stopResting?.();
    this.#stopResting = undefined;
    this.#isWanted = false;
    this.#isUrgent = false;
    this.#isReading = true;
    const over = (isMore: boolean, restMs: number) => {
      this.#isReading = false;
      this.#isWanted ||= isMore;
      if (this.#isOver) return;
      if (this.#isUrgent) this.#run();
      else this.#rest(restMs);
    };
    this.#options.read().then(
      (isMore) => over(isMore, this.#options.restMs ?? GATHER_MS),
      (cause: unknown) => {
        const error = lost(cause);
        if (!this.#isOver) this.#options.failed(error);
        over(error.isTransient, AGAIN_MS);
      },
    );
  }

  #rest(ms: number): void {
    this.#stopResting = this.#options.timing.after(ms, () => {
      this.#stopResting = undefined;
      if (this.#isWanted) this.#run();
    });
  }
}

/** For the rest of a burst of events. */
const GATHER_MS = 30;
/** After five tries of Client.fetch. */
const AGAIN_MS = 5_000;
