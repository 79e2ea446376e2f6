/**
 * Loaded into a server (`--import`, with --expose-gc): on the runner's request, reports its memory
 * after garbage collection.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { onQuestion } from './questions.ts';

export interface SettledMemory {
  /** Resident bytes: what the system has given the process. */
  readonly rss: number;
  /** Bytes of V8's heap. */
  readonly heapUsed: number;
}

onQuestion('settle', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    await delay(ROUND_MS);
  }
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({ rss, heapUsed } satisfies SettledMemory);
});

const ROUNDS = 3;
const ROUND_MS = 200;
