import { UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Backoff } from '../../platform/outbound/backoff.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Before each try, counted from the end of the one before. */
const DELAYS_MS = [
  0,
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];

const JITTER = 0.1;

/** The longest wait that a receiver can ask for. */
const MOST_RETRY_AFTER_MS = 10 * HOUR_MS;

const LEAST_LOOK_MS = 20;

/**
 * The times of the retries and of what follows from failures, by a clock that runs `speed` times as
 * fast as usual.
 */
export class RetrySchedule {
  readonly #speed: number;
  readonly #backoff: Backoff;

  constructor({ speed = 1, ...options }: { speed?: number; random?: () => number } = {}) {
    this.#speed = speed;
    this.#backoff = new Backoff({ delaysMs: DELAYS_MS, jitter: JITTER, speed, ...options });
  }

  /**
   * Returns the milliseconds from the end of the last try to the next; null: there is none.
   * `attempts` is the number of tries so far. The receiver can ask for a longer wait, not for a
   * shorter one.
   */
  delayAfter(attempts: number, retryAfterMs = 0): number | null {
    return this.#backoff.delayAfter(attempts, Math.min(retryAfterMs, MOST_RETRY_AFTER_MS));
  }

  /** Milliseconds between two looks for what is due, where nothing wakes the sweep. */
  get lookEveryMs(): number {
    return Math.max(LEAST_LOOK_MS, UNWOKEN_EVERY_MS / this.#speed);
  }

  /** How long a webhook may fail without any success before it is disabled. */
  get failingMs(): number {
    return (5 * DAY_MS) / this.#speed;
  }

  /** How long a disabled webhook is kept. */
  get disabledMs(): number {
    return (30 * DAY_MS) / this.#speed;
  }
}
