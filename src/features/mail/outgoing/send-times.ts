import type { Backoff } from '../../../platform/backoff.ts';

const MINUTE_MS = 60 * 1_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The schedule of tries. */
export interface SendTimes {
  readonly retries: Backoff;
  /** Milliseconds between two looks for due mails. */
  readonly lookEveryMs: number;
  /**
   * Milliseconds for which other nodes leave a mail to the node that took it and renews this lease.
   */
  readonly leaseMs: number;
}

export const SEND_TIMES: SendTimes = {
  // Five days in total.
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
