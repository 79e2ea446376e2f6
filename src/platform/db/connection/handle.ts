import type { Kysely, Transaction } from 'kysely';
import type { Hooks } from '../../hooks.ts';
import type { Schema } from '../tables/schema.ts';
import type { CopyField } from './copy-in.ts';
import type { Statement, Value } from './statement.ts';

/** Runs prepared statements: a Db, or one of the pipelined connections of Database. */
export interface Querier {
  /** Rejects with DatabaseUnavailableError or the statement's own error (pg.DatabaseError). */
  query<Params extends readonly Value[], Row extends object>(
    statement: Statement<Params, Row>,
    ...values: NoInfer<Params>
  ): Promise<Row[]>;
}

/** Reads and writes rows: the Database, with a transaction per statement, or a Tx. */
export interface Db extends Querier {
  readonly kysely: Kysely<Schema>;
  /** Hooks that this process adds for code that works with rows (../../hooks.ts). */
  readonly hooks: Hooks;
}

/** An open transaction, made only by Database.transaction. Its statements see its own writes. */
export interface Tx extends Db {
  readonly kysely: Transaction<Schema>;
  /** The rows enqueued so far (outbox.ts). */
  readonly outbox: OutboxRecord;
  /**
   * Appends rows to a table by COPY, the cheapest way for many rows. Rejects as a statement does; a
   * conflict of a unique key fails all rows.
   */
  copy(table: string, columns: readonly string[], rows: Iterable<readonly CopyField[]>): Promise<void>;
}

/** A committed event whose effects may not have happened yet. */
export interface OutboxRow {
  readonly id: number;
  readonly topic: string;
  readonly payload: unknown;
  readonly attempts: number;
}

/** Work that an open transaction leaves for after its commit. */
export interface OutboxRecord {
  readonly rows: OutboxRow[];
  /** Milliseconds until the first of its jobs (queue.ts) is due; undefined: it has added none. */
  jobInMs?: number;
  /** Whether this process handles the rows after the commit; else (in a command) a sweep does. */
  readonly isHandledHere: boolean;
}
