/** The pauses between tries of something that fails. */
export interface Backoff {
  /** Milliseconds before each try, from the end of the one before; after the last none follows. */
  readonly delaysMs: readonly number[];
  /**
   * The largest fraction added to a delay, so that receivers that were away do not get everything
   * at once. Default 0.
   */
  readonly jitter?: number;
  /** The longest pause, in milliseconds, that the other end can ask for. */
  readonly mostAskedMs?: number;
}

/**
 * Returns the milliseconds until the next try after `tries` tries, or null if none is left. The
 * other end can ask for a longer pause, but not for a shorter one. `random` is from 0 to 1.
 */
export function delayAfter(
  { delaysMs, jitter = 0, mostAskedMs = 0 }: Backoff,
  tries: number,
  askedMs = 0,
  random: () => number = Math.random,
): number | null {
  const usual = delaysMs[tries];
  if (usual === undefined) return null;
  return Math.max(usual * (1 + jitter * random()), Math.min(askedMs, mostAskedMs));
}
