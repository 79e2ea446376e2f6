/** Loaded in front of a server (`--import`, with --expose-gc): says, when the runner asks, what it holds once nothing is garbage. */

import { setTimeout as delay } from 'node:timers/promises';

export interface SettledMemory {
  /** Resident bytes: what the system has given the process. */
  readonly rss: number;
  /** Of V8's heap. */
  readonly heapUsed: number;
}

process.on('message', async (message: { settle?: true }) => {
  if (message.settle !== true) return;
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    await delay(ROUND_MS);
  }
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({ rss, heapUsed } satisfies SettledMemory);
});

const ROUNDS = 3;
const ROUND_MS = 200;
