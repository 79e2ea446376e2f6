import type { Logger } from '../log.ts';
import type { Database } from './database.ts';
import type { ListenersRevision } from './listeners-revision.ts';
import { removeDone } from './outbox.ts';

/** Milliseconds that a done row may stay: a sweep takes rows over after 2,000 (TAKEOVER_MS). */
const REMOVE_AFTER_MS = 100;
const MAX_ROWS = 500;

export interface DoneRowsOptions {
  readonly database: Database;
  /** What this node knows of the listeners of events (accounts/listeners.ts). */
  readonly listeners: { readonly revision: ListenersRevision; renew(): Promise<void> };
  readonly log: Logger;
}

/**
 * Removes outbox rows that are done, many in one statement: nothing waits for the removal, and a statement for each
 * flush took Postgres 10 % of a send. A row that stays because this process died, or because a listener came that the
 * node did not know, is handled again by a sweep.
 */
export class DoneRows {
  readonly #database: Database;
  readonly #listeners: DoneRowsOptions['listeners'];
  readonly #log: Logger;
  #ids: number[] = [];
  /** The revision at which `#ids` were handled. */
  #handledAt: ListenersRevision = '';
  #timer: NodeJS.Timeout | undefined;
  #removing: Promise<void> = Promise.resolve();

  constructor({ database, listeners, log }: DoneRowsOptions) {
    this.#database = database;
    this.#listeners = listeners;
    this.#log = log;
  }

  /** The revision for `add`. Take it before the handling of a row begins. */
  get revision(): ListenersRevision {
    return this.#listeners.revision;
  }

  /** Removes rows that were handled with the listeners of this revision, or newer ones. */
  add(ids: readonly number[], handledAt: ListenersRevision): void {
    if (handledAt !== this.#handledAt) {
      this.#remove();
      this.#handledAt = handledAt;
    }
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
    const removed = this.#removeRows(ids, this.#handledAt).catch((error: unknown) => {
      this.#log.warn(
        { err: error, rows: ids.length },
        'could not remove done outbox rows, a sweep handles them again',
      );
    });
    this.#removing = Promise.all([this.#removing, removed]).then(() => undefined);
  }

  async #removeRows(ids: readonly number[], handledAt: ListenersRevision): Promise<void> {
    const revision = await removeDone(this.#database.relaxed, ids, handledAt);
    if (revision !== handledAt) await this.#listeners.renew();
  }
}
