import { CompiledQuery, type Kysely, sql, type Transaction } from 'kysely';
import { openTransaction } from '../../platform/db/connection/database.ts';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { bindable, type Statement, type Value } from '../../platform/db/connection/statement.ts';
import { isUnavailable } from '../../platform/db/connection/unavailable.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { Hooks } from '../../platform/hooks.ts';
import { type MovedTable, movedTables } from './moved-tables.ts';

/** One connection to the database of a cell, without a time limit for statements. */
export class Cell implements Querier {
  /** The tables that move with an account. */
  readonly tables: readonly [table: string, MovedTable][];
  readonly #kysely: Kysely<Schema>;
  readonly #hooks: Hooks;

  constructor(kysely: Kysely<Schema>, hooks: Hooks) {
    this.#kysely = kysely;
    this.#hooks = hooks;
    this.tables = movedTables(hooks);
  }

  async query<Params extends readonly Value[], Row extends object>(
    { text }: Statement<Params, Row>,
    ...values: NoInfer<Params>
  ): Promise<Row[]> {
    const { rows } = await this.#kysely.executeQuery<Row>(CompiledQuery.raw(text, bindable(values)));
    return rows;
  }

  /** Runs a statement without parameters and rows, such as DDL. */
  async run(text: string): Promise<void> {
    await sql.raw(text).execute(this.#kysely);
  }

  /**
   * Commits when `work` resolves, rolls back when it rejects. No trigger of Postgres runs for its
   * writes, so rows arrive unchanged, and the fence of the account lets them pass.
   */
  transaction<T>(work: (tx: CellTx) => Promise<T>): Promise<T> {
    return this.#kysely.transaction().execute(async (kysely) => {
      const tx = new CellTx(kysely, this.#hooks);
      await tx.run(SETTINGS).catch((cause: unknown) => {
        if (isUnavailable(cause)) throw cause;
        throw new Error(
          'moving an account needs a role that may switch triggers off: GRANT SET ON PARAMETER session_replication_role TO the role of DATABASE_URL, in both cells',
          { cause },
        );
      });
      return work(tx);
    });
  }
}

/** An open transaction of a cell. */
export class CellTx extends Cell {
  /** The same transaction, as slices use it. */
  readonly tx: Tx;

  constructor(kysely: Transaction<Schema>, hooks: Hooks) {
    super(kysely, hooks);
    this.tx = openTransaction(kysely);
  }
}

// Rows travel as text, so both sides must print and read it in the same way. Whole accounts are
// read, which is slow with the plans for requests (platform/db/connection/connection-options.ts).
const SETTINGS = `SELECT set_config('session_replication_role', 'replica', true),
  set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO, MDY', true),
  set_config('bytea_output', 'hex', true), set_config('extra_float_digits', '1', true),
  set_config('IntervalStyle', 'postgres', true), set_config('enable_seqscan', 'on', true),
  set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true),
  set_config('plan_cache_mode', 'force_custom_plan', true)`;
