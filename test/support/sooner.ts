import type { Backoff } from '../../src/platform/backoff.ts';

/** Returns the same tries with delays that are `factor` times as short, and no chance in them. */
export function sooner(backoff: Backoff, factor: number): Backoff {
  return { ...backoff, delaysMs: backoff.delaysMs.map((ms) => ms / factor), jitter: 0 };
}
