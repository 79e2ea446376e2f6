import type { Backoff } from '../../platform/backoff.ts';

/** When a push is tried again, and when a subscription is given up. */

const MINUTE_MS = 60 * 1_000;

export const RETRIES: Backoff = {
  delaysMs: [0, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS],
  mostAskedMs: 60 * MINUTE_MS,
};

/** Notifications that are older are not pushed, and push services keep none for longer. */
export const PUSHED_FOR_MS = 24 * 60 * MINUTE_MS;

/**
 * A subscription ends when it has failed this often in a row, over at least this time: a push
 * service that is away for an hour ends none, and one that answers 400 each time ends.
 */
export const GIVEN_UP = { failures: 10, seconds: 24 * 60 * 60 } as const;
