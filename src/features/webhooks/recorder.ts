import type { Database } from '../../platform/db/connection/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { Delivery } from './delivery.ts';
import { type DeliveryState, insertDeliveries, updateDeliveries } from './delivery-store.ts';

export interface Recorded {
  readonly delivery: Delivery;
  readonly state: DeliveryState;
}

export interface RecorderOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Called behind each write with what it wrote. */
  readonly onWritten: (written: readonly Recorded[]) => void;
}

/**
 * Writes deliveries and outcomes, those of 50 ms in one statement each. Writes follow each other,
 * so an outcome never comes before the row that it is of.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  #inserts: Recorded[] = [];
  #updates: Recorded[] = [];
  #next = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Writes a delivery that has no row yet. Rejects if Postgres is away. */
  insert(row: Recorded): Promise<void> {
    this.#inserts.push(row);
    this.#schedule();
    return this.#next.promise;
  }

  /**
   * Writes the state of a delivery that has a row. If Postgres is away, it is tried again when its
   * lease has ended.
   */
  update(row: Recorded): void {
    this.#updates.push(row);
    this.#schedule();
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    while (this.#writing !== undefined || this.#isWaiting) {
      this.#write();
      await this.#writing;
    }
  }

  get #isWaiting(): boolean {
    return this.#inserts.length > 0 || this.#updates.length > 0;
  }

  #schedule(): void {
    if (this.#inserts.length + this.#updates.length >= MAX_ROWS) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), WRITE_AFTER_MS);
  }

  /** Does nothing while a write is under way: the next one follows it. */

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writing !== undefined || !this.#isWaiting) return;
    const [inserts, updates, { resolve, reject }] = [this.#inserts, this.#updates, this.#next];
    this.#inserts = [];
    this.#updates = [];
    this.#next = Promise.withResolvers();
    this.#writing = this.#writeAll(inserts, updates)
      .then(resolve, reject)
      .finally(() => {
        this.#writing = undefined;
        if (this.#isWaiting) this.#schedule();
      });
  }

  /** Rejects if the inserts failed. */
  async #writeAll(inserts: readonly Recorded[], updates: readonly Recorded[]): Promise<void> {
    const { database, onWritten, log } = this.#options;
    // Not durable when they return. They are before the removal of the outbox row in the log of
    // Postgres: after a crash that loses them the event is there, and is handled again.
    const [inserted, updated] = await Promise.allSettled([
      inserts.length === 0 ? undefined : insertDeliveries(database.relaxed, inserts),
      updates.length === 0 ? undefined : updateDeliveries(database.relaxed, updates),
    ]);
    if (inserted.status === 'fulfilled') onWritten(inserts);
    if (updated.status === 'fulfilled') onWritten(updates);
    else
      log.warn(
        { err: updated.reason, rows: updates.length },
        'could not write outcomes of webhook deliveries',
      );
    if (inserted.status === 'rejected') throw inserted.reason;
  }
}

const WRITE_AFTER_MS = 50;
const MAX_ROWS = 500;
