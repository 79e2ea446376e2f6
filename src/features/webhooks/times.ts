import type { Backoff } from '../../platform/backoff.ts';
import { UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The schedule of deliveries, and the consequences of failures. */
export interface WebhookTimes {
  readonly retries: Backoff;
  /** Milliseconds between two looks for due deliveries without a wake-up. */
  readonly lookEveryMs: number;
  /** How long a webhook may fail without any success before it is disabled. */
  readonly failingMs: number;
  /** How long a disabled webhook is kept. */
  readonly disabledMs: number;
}

export const WEBHOOK_TIMES: WebhookTimes = {
  retries: {
    delaysMs: [
      0,
      5 * SECOND_MS,
      5 * MINUTE_MS,
      30 * MINUTE_MS,
      2 * HOUR_MS,
      5 * HOUR_MS,
      10 * HOUR_MS,
      10 * HOUR_MS,
    ],
    jitter: 0.1,
    mostAskedMs: 10 * HOUR_MS,
  },
  lookEveryMs: UNWOKEN_EVERY_MS,
  failingMs: 5 * DAY_MS,
  disabledMs: 30 * DAY_MS,
};
