import type { Backoff } from '../../../platform/backoff.ts';

const MINUTE_MS = 60 * 1_000;
const HOUR_MS = 60 * MINUTE_MS;

/** When mail is tried. */
export interface SendTimes {
  readonly retries: Backoff;
  /** Milliseconds between two looks for what is due. */
  readonly lookEveryMs: number;
  /**
   * For how long other nodes leave a mail to the node that has taken it. The node renews this while
   * it is at it.
   */
  readonly leaseMs: number;
}

export const SEND_TIMES: SendTimes = {
  // Five days in all.
  retries: {
    delaysMs: [
      0,
      ...[1, 5, 15, 30].map((minutes) => minutes * MINUTE_MS),
      ...[1, 2, 4].map((hours) => hours * HOUR_MS),
      ...Array<number>(19).fill(6 * HOUR_MS),
    ],
    jitter: 0.05,
  },
  lookEveryMs: 2_000,
  leaseMs: 60_000,
};
