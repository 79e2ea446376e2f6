import type { Database } from '../../platform/db/connection/database.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { HAS_MARKED, MOST_CONVERSATIONS, type WrittenConversation, writeDue } from './write-store.ts';

export interface InboxWriterOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly metrics: Pick<Metrics, 'inboxWritten'>;
  readonly log: Logger;
  /** Called with what was written, once it is committed. */
  readonly onWritten?: (written: readonly WrittenConversation[]) => void;
}

/**
 * Writes the inbox rows of conversations that are marked (src/core/inbox/README.md). Every node has
 * one, and each takes whatever is marked, so that what a killed node left behind is written by
 * the next round of another.
 */
export class InboxWriter {
  readonly #options: InboxWriterOptions;
  readonly #loop: Loop;

  constructor(options: InboxWriterOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: (signal) => this.#round(signal),
      onError: (error) => options.log.warn({ err: error }, 'writing inbox rows failed'),
    });
    options.watch.add({ name: 'inbox', condition: HAS_MARKED, onDue: () => this.#loop.wake() });
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { database, metrics, onWritten } = this.#options;
    for (let isMore = true; isMore && !signal.aborted; ) {
      const written = (await writeDue(database)) ?? [];
      metrics.inboxWritten.inc(written.length);
      if (written.length > 0) onWritten?.(written);
      isMore = written.length === MOST_CONVERSATIONS;
    }
  }
}
