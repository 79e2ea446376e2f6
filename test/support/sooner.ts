import type { Backoff } from '../../src/platform/backoff.ts';

/** Returns the same tries with delays `factor` times as short, and without chance. */
export function sooner(backoff: Backoff, factor: number): Backoff {
  return { ...backoff, delaysMs: backoff.delaysMs.map((ms) => ms / factor), jitter: 0 };
}
