import { setTimeout as delay } from 'node:timers/promises';

export interface UntilOptions {
  /** Default 5,000. */
  readonly timeoutMs?: number;
  /** What is waited for: the message of the rejection. */
  readonly what: string;
}

/**
 * Asks until the answer is truthy, and resolves with it: every few milliseconds, and more rarely the longer it takes,
 * for whoever is waited for needs the processor too.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 5_000, what }: UntilOptions,
): Promise<NonNullable<T>> {
  const startedAt = performance.now();
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await delay(Math.min(LEAST_MS + waitedMs / 20, MOST_MS));
  }
}

const LEAST_MS = 5;
const MOST_MS = 50;
