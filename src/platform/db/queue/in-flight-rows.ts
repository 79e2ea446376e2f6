import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../connection/database.ts';
import type { ListenersRevision } from '../connection/listeners-revision.ts';
import { removeDone, renew } from './outbox.ts';

/** Milliseconds for which a done row may stay; it is renewed meanwhile. */
const REMOVE_AFTER_MS = 100;
const MAX_REMOVED = 500;

/**
 * Milliseconds; a row is renewed within twice this time. Sweeps watch an overdue row for 1.5 s
 * before they take it (outbox-worker.ts); a row whose commit was delayed begins overdue.
 */
const RENEW_EVERY_MS = 250;

/** A row that has been in flight for longer is left to the sweeps: its handler may never return. */
const MAX_IN_FLIGHT_MS = 60_000;

export interface InFlightRowsOptions {
  readonly database: Database;
  /** This node's knowledge of the listeners of events (core/accounts/account/listeners.ts). */
  readonly listeners: { readonly revision: ListenersRevision; renew(): Promise<void> };
  readonly log: Logger;
}

/**
 * The outbox rows that this node is handling. A row that takes long is renewed four times a second,
 * so that no sweep takes it over, publishes its events again and gives a busy node its work again.
 *
 * Done rows are removed in bulk: nothing waits for it, and a statement per flush took Postgres 10 %
 * of a send. A row that stays, because this process died or did not know a new listener, is handled
 * again by a sweep.
 */
export class InFlightRows {
  readonly #options: InFlightRowsOptions;
  /** The time at which each row began, oldest first. */
  readonly #begunMs = new Map<number, number>();
  readonly #renewals: Loop;
  #done: number[] = [];
  /** The revision at which `#done` were handled. */
  #handledAt: ListenersRevision = '';
  #timer: NodeJS.Timeout | undefined;
  #removing: Promise<void> = Promise.resolve();

  constructor(options: InFlightRowsOptions) {
    this.#options = options;
    this.#renewals = new Loop({
      intervalMs: RENEW_EVERY_MS,
      run: () => this.#renew(),
      rests: () => this.#begunMs.size === 0,
      onError: (error) => options.log.warn({ err: error }, 'could not renew outbox rows in flight'),
    });
  }

  /** The revision for `done`. Take it before the handling of a row begins. */
  get revision(): ListenersRevision {
    return this.#options.listeners.revision;
  }

  begin(id: number): void {
    this.#begunMs.delete(id);
    this.#begunMs.set(id, performance.now());
    this.#renewals.stir();
  }

  /** Returns whether this node is still handling the row. */
  has(id: number): boolean {
    return performance.now() - (this.#begunMs.get(id) ?? Number.NEGATIVE_INFINITY) < MAX_IN_FLIGHT_MS;
  }

  /** Leaves rows to the sweeps, which find the rows that are still there. */
  release(ids: readonly number[]): void {
    for (const id of ids) this.#begunMs.delete(id);
  }

  /** Removes rows that were handled with the listeners of this revision, or newer ones. */
  done(ids: readonly number[], handledAt: ListenersRevision): void {
    if (handledAt !== this.#handledAt) {
      this.#remove();
      this.#handledAt = handledAt;
    }
    this.#done.push(...ids);
    if (this.#done.length >= MAX_REMOVED) this.#remove();
    else this.#timer ??= setTimeout(() => this.#remove(), REMOVE_AFTER_MS);
  }

  /** Removes the rows that are done and stops renewing. Never rejects. */
  async close(): Promise<void> {
    this.#remove();
    await Promise.all([this.#removing, this.#renewals.close()]);
  }

  async #renew(): Promise<void> {
    const nowMs = performance.now();
    const ids: number[] = [];
    for (const [id, begunMs] of this.#begunMs) {
      const ageMs = nowMs - begunMs;
      if (ageMs < RENEW_EVERY_MS) break;
      if (ageMs < MAX_IN_FLIGHT_MS) ids.push(id);
      else this.#begunMs.delete(id);
    }
    if (ids.length > 0) await renew(this.#options.database.relaxed, ids);
  }

  #remove(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#done.length === 0) return;
    const ids = this.#done;
    this.#done = [];
    const removed = this.#removeRows(ids, this.#handledAt)
      .catch((error: unknown) => {
        this.#options.log.warn(
          { err: error, rows: ids.length },
          'could not remove done outbox rows, a sweep handles them again',
        );
      })
      .finally(() => this.release(ids));
    this.#removing = Promise.all([this.#removing, removed]).then(() => undefined);
  }

  async #removeRows(ids: readonly number[], handledAt: ListenersRevision): Promise<void> {
    const revision = await removeDone(this.#options.database.relaxed, ids, handledAt);
    if (revision !== handledAt) await this.#options.listeners.renew();
  }
}
