import type { Backoff } from '../../../platform/backoff.ts';

const MINUTE_MS = 60 * 1_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Five days in total. */
const RETRIES: Backoff = {
  delaysMs: [
    0,
    ...[1, 5, 15, 30].map((minutes) => minutes * MINUTE_MS),
    ...[1, 2, 4].map((hours) => hours * HOUR_MS),
    ...Array<number>(19).fill(6 * HOUR_MS),
  ],
  jitter: 0.05,
};

export const SEND_TIMES = {
  retries: RETRIES,
  /** Milliseconds between two looks for due mails. */
  lookEveryMs: 2_000,
  /** Milliseconds for which a mail belongs to the node that took it, unless it renews the lease. */
  leaseMs: 60_000,
};
