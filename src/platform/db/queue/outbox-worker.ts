import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Database } from '../connection/database.ts';
import type { OutboxRow, Querier } from '../connection/handle.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from './due-watch.ts';
import type { InFlightRows } from './in-flight-rows.ts';
import { buryDead, findOverdue, HAS_OVERDUE, measureOutbox, takeOverdue } from './outbox.ts';
import { byTopic, type TopicHandler } from './topic.ts';

export interface OutboxWorkerOptions {
  readonly database: Database;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly inFlight: InFlightRows;
  readonly watch: Pick<DueWatch, 'add'>;
}

const MAX_ROWS = 100;

/** Milliseconds between two looks for rows that keep failing. */
const BURY_EVERY_MS = 10 * 60 * 1_000;

/** After this many failures a row, which is still retried, is logged as needing attention. */
const ALARMING_ATTEMPTS = 10;

/**
 * Handles the outbox rows of this node's transactions as soon as they have committed. Takes over
 * rows that their writer has not handled: it died between commit and publish, its publish failed,
 * or it is a command outside any node.
 */
export class OutboxWorker {
  readonly #options: OutboxWorkerOptions;
  #handlers: ReadonlyMap<string, TopicHandler['run']> = new Map();
  #loop: Loop | undefined;
  #burials: Loop | undefined;
  readonly #underWay = new Set<Promise<void>>();
  readonly #overdue: OverdueRows;

  constructor(options: OutboxWorkerOptions) {
    this.#options = options;
    this.#overdue = new OverdueRows(options.database, options.inFlight);
    options.watch.add({ name: 'outbox', condition: HAS_OVERDUE, onDue: () => this.#loop?.wake() });
  }

  /**
   * Registers one handler for each topic; a row whose handler rejects stays and is retried.
   * Separate from the constructor, because handlers need parts that write into the outbox and must
   * be closed before it. Rows committed earlier are left to the first sweep.
   */
  start(handlers: readonly TopicHandler[]): void {
    const { database, log } = this.#options;
    this.#handlers = byTopic(handlers);
    database.onCommitted((rows) => this.#committed(rows));
    const loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: (signal) => this.#sweep(signal),
      onError: (error) => log.warn({ err: error }, 'outbox sweep failed'),
    });
    this.#loop = loop;
    this.#burials = new Loop({
      intervalMs: BURY_EVERY_MS,
      run: () => this.bury(),
      onError: (error) => log.warn({ err: error }, 'looking for dead outbox rows failed'),
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#loop?.close(), this.#burials?.close()]);
    await Promise.all(this.#underWay);
  }

  /** Gives up rows that have failed for a week. */
  async bury(): Promise<void> {
    const { database, metrics, log } = this.#options;
    const { given, left } = await buryDead(database);
    metrics.outboxDead.set(left);
    for (const { id, topic, attempts } of given) {
      log.error({ outbox_id: id, topic, attempts }, 'outbox row is not tried any more');
    }
  }

  /** Begins every handler before it returns: callers rely on their synchronous part. */
  #committed(rows: readonly OutboxRow[]): void {
    for (const row of rows) {
      this.#options.inFlight.begin(row.id);
      const handled = this.#handle(row).finally(() => this.#underWay.delete(handled));
      this.#underWay.add(handled);
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { database, inFlight, metrics } = this.#options;
    const { lagSeconds } = await measureOutbox(database);
    metrics.outboxLagSeconds.set(lagSeconds);
    for (let more = true; more && !signal.aborted; ) {
      const rows = await this.#overdue.take(MAX_ROWS);
      // Rows behind the first ones may wait for longer than their leases.
      for (const { id } of rows) inFlight.begin(id);
      for (const row of rows) await this.#handle(row);
      more = rows.length === MAX_ROWS;
    }
  }

  /** Handles a row. A failed row is retried when its lease or a lost link ends. */
  async #handle(row: OutboxRow): Promise<void> {
    const { inFlight, log } = this.#options;
    const { revision } = inFlight;
    try {
      const run = this.#handlers.get(row.topic);
      if (run === undefined) throw new Error(`no handler for the outbox topic ${row.topic}`);
      await run(row.payload, row.attempts > 0);
      inFlight.done([row.id], revision);
    } catch (error) {
      inFlight.release([row.id]);
      const level = row.attempts >= ALARMING_ATTEMPTS ? 'error' : 'warn';
      log[level](
        { err: error, outbox_id: row.id, topic: row.topic, attempts: row.attempts },
        'outbox handler failed',
      );
    }
  }
}

/** Milliseconds for which a sweep must see a row overdue before it takes it. */
const SEEN_MS = 1_500;

const MAX_SEEN = 1_000;

/**
 * The overdue outbox rows that this node's sweeps have seen. The age of a row does not show that
 * its node is gone: after a pause of the whole machine, or a commit held up by a disk, every row in
 * flight is old at once. The nodes that go on to handle them would meet sweeps that handle them
 * too. A row that stays overdue while a sweep looks on has no node.
 */
export class OverdueRows {
  readonly #db: Querier;
  readonly #inFlight: Pick<InFlightRows, 'has'>;
  /** The time at which each row was seen first. */
  #seenMs: ReadonlyMap<number, number> = new Map();

  constructor(db: Querier, inFlight: Pick<InFlightRows, 'has'>) {
    this.#db = db;
    this.#inFlight = inFlight;
  }

  /** Takes up to `limit` rows that have been seen overdue for long enough. */
  async take(limit: number): Promise<OutboxRow[]> {
    const overdue = await findOverdue(this.#db, MAX_SEEN);
    const nowMs = performance.now();
    const seenMs = new Map<number, number>();
    const ids: number[] = [];
    for (const { id, isAtOnce } of overdue) {
      if (this.#inFlight.has(id)) continue;
      const sinceMs = this.#seenMs.get(id) ?? nowMs;
      seenMs.set(id, sinceMs);
      if (ids.length < limit && (isAtOnce || nowMs - sinceMs >= SEEN_MS)) ids.push(id);
    }
    this.#seenMs = seenMs;
    return ids.length === 0 ? [] : takeOverdue(this.#db, ids);
  }
}
