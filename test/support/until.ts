import { setTimeout as delay } from 'node:timers/promises';

export interface UntilOptions {
  /** Default 5,000. */
  readonly timeoutMs?: number;
  /** What is waited for: the message of the rejection. */
  readonly what: string;
}

/** Asks every few milliseconds until the answer is truthy, and resolves with it. */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 5_000, what }: UntilOptions,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await delay(5);
  }
}
