import type { Kysely, Transaction } from 'kysely';
import type { OutboxRecord } from './outbox-row.ts';
import type { Schema } from './schema.ts';
import type { Statement, Value } from './statement.ts';

/** Runs prepared statements: a Db, or one of the pipelined connections of Database. */
export interface Querier {
  /** Rejects with DatabaseUnavailableError, or with the statement's own error (pg.DatabaseError). */
  query<Row extends object>(statement: Statement, values?: readonly Value[]): Promise<Row[]>;
}

/** What reads and writes rows: the Database, where each statement is a transaction of its own, or a Tx. */
export interface Db extends Querier {
  readonly kysely: Kysely<Schema>;
}

/**
 * A transaction under way: its statements see what it has written. Database.transaction makes it, and nothing else
 * can be given to a function that needs one.
 */
export interface Tx extends Db {
  readonly kysely: Transaction<Schema>;
  /** What it has enqueued so far (outbox.ts). */
  readonly outbox: OutboxRecord;
}
