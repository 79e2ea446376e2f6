import type { Logger } from '../log.ts';
import type { Database } from './database.ts';
import { removeDone } from './outbox.ts';

/** Milliseconds that a done row may stay: a sweep takes rows over after 2,000 (TAKEOVER_MS). */
const REMOVE_AFTER_MS = 100;
const MAX_ROWS = 500;

/**
 * Removes outbox rows that are done, many in one statement: nothing waits for the removal, and a statement for each
 * flush took Postgres 10 % of a send. A row that stays because this process died is handled again by a sweep.
 */
export class DoneRows {
  readonly #database: Database;
  readonly #log: Logger;
  #ids: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #removing: Promise<void> = Promise.resolve();

  constructor({ database, log }: { readonly database: Database; readonly log: Logger }) {
    this.#database = database;
    this.#log = log;
  }

  add(ids: readonly number[]): void {
    this.#ids.push(...ids);
    if (this.#ids.length >= MAX_ROWS) this.#remove();
    else this.#timer ??= setTimeout(() => this.#remove(), REMOVE_AFTER_MS);
  }

  /** Removes what is left. Never rejects. */
  async close(): Promise<void> {
    this.#remove();
    await this.#removing;
  }

  #remove(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#ids.length === 0) return;
    const ids = this.#ids;
    this.#ids = [];
    const removed = removeDone(this.#database.relaxed, ids).catch((error: unknown) => {
      this.#log.warn(
        { err: error, rows: ids.length },
        'could not remove done outbox rows, a sweep handles them again',
      );
    });
    this.#removing = Promise.all([this.#removing, removed]).then(() => undefined);
  }
}
