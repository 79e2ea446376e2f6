import { setTimeout as delay } from 'node:timers/promises';

/** Looks repeatedly until the condition holds; rejects after a minute. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`waited ${PATIENCE_MS} ms for ${what}`);
    await delay(PAUSE_MS);
  }
}

const PATIENCE_MS = 60_000;
const PAUSE_MS = 10;
