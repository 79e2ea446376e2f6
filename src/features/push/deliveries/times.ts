import type { Backoff } from '../../../platform/backoff.ts';

const MINUTE_MS = 60 * 1_000;

export const RETRIES: Backoff = {
  delaysMs: [0, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS],
  mostAskedMs: 60 * MINUTE_MS,
};

/** Age up to which notifications are pushed, and push services keep them. */
export const PUSHED_FOR_MS = 24 * 60 * MINUTE_MS;

/**
 * A subscription ends after this many consecutive failures over at least this time. So a push
 * service that is down for an hour ends none, and an endpoint that always answers 400 ends.
 */
export const GIVEN_UP = { failures: 10, seconds: 24 * 60 * 60 } as const;
