import { setTimeout as delay } from 'node:timers/promises';

export interface UntilOptions {
  /** The condition in words, for the message of the rejection. A function is called when needed. */
  readonly what: string | (() => string);
  /** Set for conditions that take longer than a minute even on an idle machine. */
  readonly timeoutMs?: number;
}

/**
 * Polls until the result is truthy, and resolves with it. The pauses grow, because the awaited work
 * needs the processor too. Gives up after a minute, however soon the result is expected: a test
 * that fails because a machine is busy shows nothing about the code. Speed is measured in bench/.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { what, timeoutMs = PATIENCE_MS }: UntilOptions,
): Promise<NonNullable<T>> {
  if (timeoutMs < PATIENCE_MS) throw new RangeError(`a busy machine needs more than ${timeoutMs} ms`);
  const startedAt = performance.now();
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > timeoutMs) {
      throw new Error(`waited ${timeoutMs} ms in vain: ${typeof what === 'string' ? what : what()}`);
    }
    await delay(Math.min(MIN_PAUSE_MS + waitedMs / 20, MAX_PAUSE_MS));
  }
}

/** Milliseconds for which a test waits for any condition. */
export const PATIENCE_MS = 60_000;
const MIN_PAUSE_MS = 5;
const MAX_PAUSE_MS = 50;
