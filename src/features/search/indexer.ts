import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../platform/db/connection/database.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { HAS_WAITING, MAX_MESSAGES, readWaiting } from './changes.ts';
import { indexSome } from './index-round.ts';

export interface IndexerOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly metrics: Pick<Metrics, 'searchIndexed' | 'searchLagSeconds' | 'searchRoundSeconds'>;
  readonly log: Logger;
}

/**
 * Keeps the blocks of a search up to date, behind the commits. Every node has one; the one that has
 * claimed the index for a round works. Changes leave the queue behind the blocks that have them, so
 * that a node that dies loses nothing; a lock on each transaction that writes blocks keeps two
 * nodes apart where a claim has run out.
 *
 * A round takes up to MAX_MESSAGES and works in parts of some 5 ms. The next part follows as soon
 * as that many messages may have been sent at the rate that search keeps up with, so 3,500 a second
 * are indexed within a second or two. Where more is sent the index rests nine times as long as it
 * works, a tenth of a core, and lags. What it has not reached is found without it (`readRecent`,
 * search-messages.ts).
 */
export class Indexer {
  readonly #options: IndexerOptions;
  readonly #loop: Loop;
  #next: NodeJS.Timeout | undefined;

  constructor(options: IndexerOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: (signal) => this.#rounds(signal),
      onError: (error) => options.log.warn({ err: error }, 'indexing for search failed'),
    });
    options.watch.add({ name: 'search', condition: HAS_WAITING, onDue: () => this.#loop.wake() });
  }

  async close(): Promise<void> {
    await this.#loop.close();
    clearTimeout(this.#next);
  }

  async #rounds(signal: AbortSignal): Promise<void> {
    const { database, metrics } = this.#options;
    const waiting = await readWaiting(database);
    metrics.searchLagSeconds.set(Math.max(0, waiting.lag ?? 0));
    if (signal.aborted || !waiting.is_due || (waiting.lag === null && waiting.is_filled)) return;
    const beganMs = performance.now();
    const done = await indexSome(database, async (restMs) => {
      await delay(restMs, undefined, { signal }).catch(() => undefined);
      return !signal.aborted;
    });
    if (done === undefined) return;
    clearTimeout(this.#next);
    // A smaller round has taken all that waited.
    if (done.messages < MAX_MESSAGES / 2) metrics.searchLagSeconds.set(0);
    else this.#next = setTimeout(() => this.#loop.wake(), done.restMs + 1);
    metrics.searchIndexed.inc(done.messages);
    metrics.searchRoundSeconds.observe((performance.now() - beganMs) / 1_000);
  }
}
