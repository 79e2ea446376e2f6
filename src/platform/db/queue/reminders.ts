import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../connection/database.ts';
import type { Tx } from '../connection/handle.ts';
import { statement } from '../connection/statement.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from './due-watch.ts';
import { hasLiveJob } from './queue.ts';

/** Rows whose job of the queue (queue.ts), keyed by the row's id, may be lost, late or repeated. */
export interface RemindedRows<Row extends object> {
  /** In snake_case. */
  readonly name: string;
  /** SQL behind FROM that finds the rows `q` that should have been begun by now. */
  readonly overdue: string;
  /** SQL: whether there may be such a row, for the watch. Default: whether there is one. */
  readonly hasOverdue?: string;
  /** SQL: the order, longest waiting first. */
  readonly order: string;
  readonly returning: string;
  /** Adds the job of a locked row again. */
  readonly remind: (tx: Tx, row: Row) => Promise<void>;
}

/** Least milliseconds between two rounds: a row may be overdue and have its job. */
const LOOK_EVERY_MS = 1_000;
const MAX_AT_ONCE = 100;

/** Adds lost jobs again, for example those of a killed node. Every node looks. */
export class Reminders<Row extends object> {
  readonly #database: Database;
  readonly #rows: RemindedRows<Row>;
  readonly #loop: Loop;

  constructor(
    rows: RemindedRows<Row>,
    options: { readonly database: Database; readonly watch: Pick<DueWatch, 'add'>; readonly log: Logger },
  ) {
    const { name, hasOverdue = `EXISTS (SELECT FROM ${rows.overdue})` } = rows;
    this.#database = options.database;
    this.#rows = rows;
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: async () => void (await this.look()),
      onError: (error) => options.log.warn({ err: error }, `recovering lost jobs of ${name} failed`),
    });
    const onDue = () => this.wake();
    options.watch.add({ name, condition: hasOverdue, everyMs: LOOK_EVERY_MS, onDue });
  }

  wake(): void {
    this.#loop.wake();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  /** Adds the jobs of some rows. Returns the number found. */
  async look(): Promise<number> {
    const { name, overdue, order, returning, remind } = this.#rows;
    const lost = `FROM ${overdue} AND NOT ${hasLiveJob('q.id')}`;
    // One statement instead of a transaction each time that a node looks.
    const find = statement<[], object>(`find-lost-${name}`)`SELECT 1 ${lost} LIMIT 1`;
    if ((await this.#database.query(find)).length === 0) return 0;
    const lock = statement<[], Row>(`lock-lost-${name}`)`
    SELECT ${returning} ${lost} ORDER BY ${order} LIMIT ${MAX_AT_ONCE} FOR UPDATE OF q SKIP LOCKED`;
    return this.#database.transaction(async (tx) => {
      const rows = await tx.query(lock);
      for (const row of rows) await remind(tx, row);
      return rows.length;
    });
  }
}
