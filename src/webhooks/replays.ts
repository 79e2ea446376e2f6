import type { Database } from '../db/database.ts';
import { Loop } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { advanceReplays } from './replay-store.ts';

export interface ReplaysOptions {
  readonly database: Database;
  /** Called when deliveries have become pending. */
  readonly onDue: () => void;
  readonly log: Logger;
}

/**
 * Makes deliveries pending again that a replay asks for, some a second, so that the events of today are not behind all of
 * them. How far a replay is stands in the row of its webhook: any node goes on with it.
 */
export class Replays {
  readonly #loop: Loop;

  constructor({ database, onDue, log }: ReplaysOptions) {
    this.#loop = new Loop({
      intervalMs: ADVANCE_EVERY_MS,
      run: async () => {
        if ((await advanceReplays(database, MAX_DELIVERIES)) > 0) onDue();
      },
      onError: (error) => log.warn({ err: error }, 'replaying webhook deliveries failed'),
    });
  }

  /** Looks for replays now. */
  wake(): void {
    this.#loop.wake();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }
}

const ADVANCE_EVERY_MS = 1_000;
/** Of one webhook in a round. */
const MAX_DELIVERIES = 1_000;
