import { CompiledQuery, type Transaction } from 'kysely';
import type { OutboxRecord } from '../tables/outbox-row.ts';
import type { Schema } from '../tables/schema.ts';
import type { Tx } from './handle.ts';
import { bindable, type Statement, type Value } from './statement.ts';

/** A transaction of Database, as long as its work runs. */
export class OpenTransaction implements Tx {
  readonly kysely: Transaction<Schema>;
  readonly outbox: OutboxRecord;

  constructor(kysely: Transaction<Schema>, outbox: OutboxRecord) {
    this.kysely = kysely;
    this.outbox = outbox;
  }

  /** Kysely has no prepared statements: Postgres parses the text each time. */
  async query<Params extends readonly Value[], Row extends object>(
    { text }: Statement<Params, Row>,
    ...values: NoInfer<Params>
  ): Promise<Row[]> {
    const { rows } = await this.kysely.executeQuery<Row>(CompiledQuery.raw(text, bindable(values)));
    return rows;
  }
}
