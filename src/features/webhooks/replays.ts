import type { Database } from '../../platform/db/connection/database.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import { advanceReplays, HAS_REPLAYS } from './replay-store.ts';

export interface ReplaysOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  /** Called when deliveries have become pending. */
  readonly onDue: () => void;
  readonly log: Logger;
}

/**
 * Makes deliveries of replays pending again, a limited number each second, so that new events do
 * not wait behind all of them. The progress is in the webhook's row: any node continues it.
 */
export class Replays {
  readonly #loop: Loop;

  constructor({ database, watch, onDue, log }: ReplaysOptions) {
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: async () => {
        if ((await advanceReplays(database, MAX_DELIVERIES)) > 0) onDue();
      },
      onError: (error) => log.warn({ err: error }, 'replaying webhook deliveries failed'),
    });
    watch.add({
      name: 'webhook_replays',
      condition: HAS_REPLAYS,
      everyMs: ADVANCE_EVERY_MS,
      onDue: () => this.wake(),
    });
  }

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
