import { Backoff } from '../../../platform/outbound/backoff.ts';

const MINUTE_MS = 60 * 1_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Before each try, counted from the end of the one before: five days in all. */
const DELAYS_MS = [
  0,
  ...[1, 5, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 4].map((hours) => hours * HOUR_MS),
  ...Array<number>(19).fill(6 * HOUR_MS),
];

const JITTER = 0.05;
const LOOK_MS = 2_000;
const LEAST_LOOK_MS = 100;
const LEASE_MS = 60_000;
const LEAST_LEASE_MS = 2_000;

export interface SendScheduleOptions {
  /** The clock runs this many times as fast as usual. Default 1. */
  readonly speed?: number;
  /** Milliseconds between two looks for what is due. Default 2,000, by that clock. */
  readonly lookEveryMs?: number;
}

/** When mail is tried again. */
export class SendSchedule {
  /** Milliseconds between two looks for what is due. */
  readonly lookEveryMs: number;
  readonly #speed: number;
  readonly #backoff: Backoff;

  constructor({
    speed = 1,
    lookEveryMs = Math.max(LEAST_LOOK_MS, LOOK_MS / speed),
  }: SendScheduleOptions = {}) {
    this.lookEveryMs = lookEveryMs;
    this.#speed = speed;
    this.#backoff = new Backoff({ delaysMs: DELAYS_MS, jitter: JITTER, speed });
  }

  /**
   * Returns the milliseconds until the next try after `attempts` of them; null: the mail has
   * failed.
   */
  delayAfter(attempts: number): number | null {
    return this.#backoff.delayAfter(attempts);
  }

  /**
   * For how long other nodes leave a mail to the node that has taken it. The node renews this while
   * it is at it.
   */
  get leaseMs(): number {
    return Math.max(LEAST_LEASE_MS, LEASE_MS / this.#speed);
  }
}
