import type { Querier } from '../connection/handle.ts';
import { type Statement, statement, type Value } from '../connection/statement.ts';

/** A queue in a table, for whichever node comes first. In all SQL here the row is `q`. */
export interface LeasedRowsOptions {
  /** In kebab-case, for the names of statements. */
  readonly name: string;
  readonly table: string;
  /** The columns of the primary key, all of them text. */
  readonly key: readonly string[];
  /** The column with the time from which a node may take the row: its next try or a lease's end. */
  readonly due: string;
  /** The column that a take raises. Writes of a node with an earlier value have no effect. */
  readonly fence?: string;
  /**
   * The column that counts tries: a take raises it, a release lowers it again. A node with another
   * count neither renews nor releases the row, but its outcome counts.
   */
  readonly tries?: string;
  /** The column with the node that has the row, which `take.set` sets: others do not renew it. */
  readonly owner?: string;
  readonly take: {
    /**
     * SQL behind FROM that finds the rows, `q` among them; the values of `take` are $2 and on. With
     * `with`, the name of a query there that yields the keys.
     */
    readonly from: string;
    /** SQL: queries before it, which lock the rows that they yield. */
    readonly with?: string;
    /** SQL: further columns of `from`, for `returning`, where they are `due.<name>`. */
    readonly also?: string;
    /** SQL: what it sets beside the lease. */
    readonly set?: string;
    readonly returning: string;
  };
  readonly renew?: {
    /** The columns that it sets beside the lease, each with its SQL type. */
    readonly columns?: Readonly<Record<string, string>>;
    readonly set?: string;
    /**
     * Whether it leaves out rows that another transaction has locked, for which the statements
     * behind it on the same connection would wait. Requires a key of one column.
     */
    readonly passesLocked?: true;
  };
  /** SQL: what a release sets beside the time. */
  readonly release?: { readonly set: string };
  readonly settle?: {
    /** The columns of an outcome, each with its SQL type. */
    readonly columns?: Readonly<Record<string, string>>;
    /** SQL: what else is set; the outcome is `s`. */
    readonly set?: string;
    /** Whether a row without a next try is deleted. Otherwise its `due` becomes null. */
    readonly removes?: true;
    /** SQL: which rows take an outcome. Default: all. */
    readonly where?: string;
  };
  /** SQL: further columns of what `renew` and `settle` return. */
  readonly shown?: string;
  /** SQL: which rows a node has or may take. Default: those where `due` is not null. */
  readonly open?: string;
  /** SQL: since when a row waits. Default: `due`. */
  readonly since?: string;
  /** SQL of a statement that yields `waiting` and `oldest`, instead of the default one. */
  readonly measured?: string;
}

/** The waiting rows, including rows that a node has. */
export interface Waiting {
  readonly waiting: number;
  /** Seconds for which the oldest row has waited; 0 if none waits. */
  readonly oldestSeconds: number;
}

/** An outcome: milliseconds from now to the next try, or null if none follows. */
export interface Due {
  readonly due_in_ms: number | null;
}

/**
 * The leases of a queue in a table (../README.md#what-waits-in-a-table). A lease is a time in the
 * row by Postgres' clock, so no transaction stays open during the work. `Key` has the columns of
 * the key and the fence, if there is one; `Shown` those that `renew` and `settle` return in
 * addition.
 */
export class LeasedRows<
  Key extends object,
  Row extends object,
  By extends readonly Value[],
  Settled extends object = object,
  Shown extends object = object,
> {
  /** SQL: whether a row is due, for the watch (due-watch.ts). */
  readonly hasDue: string;
  readonly #key: readonly string[];
  /** The columns that a node must know of a row it has, the key among them. */
  readonly #held: readonly string[];
  readonly #renewed: readonly string[];
  readonly #settled: readonly string[];
  readonly #take: Statement<readonly Value[], Row>;
  readonly #renew: Statement<readonly Value[], Key & Shown>;
  readonly #release: Statement;
  readonly #settle: Statement<readonly Value[], Key & Shown>;
  readonly #measure: Statement<[], { waiting: number; oldest: number | null }>;

  constructor(options: LeasedRowsOptions) {
    const { name, table, key, due, fence, tries, owner, take, renew = {}, release, settle = {} } = options;
    const { open = `q.${due} IS NOT NULL`, since = `q.${due}` } = options;
    this.#key = [...key, ...present(fence)];
    this.#held = [...this.#key, ...present(tries), ...present(owner)];
    const typed = (columns: readonly string[]) =>
      columns.map(
        (column) => [column, key.includes(column) || column === owner ? 'text' : 'integer'] as const,
      );
    const isSame = (columns: readonly string[]) =>
      columns.map((column) => `q.${column} = s.${column}`).join(' AND ');
    this.hasDue = `(SELECT q.${due} FROM ${table} q WHERE ${open} ORDER BY q.${due} LIMIT 1) <= statement_timestamp()`;
    const shown = [...this.#key.map((column) => `q.${column}`), ...present(options.shown)].join(', ');
    const leased = `clock_timestamp() + $1::float8 * interval '1 ms'`;
    const keys = key.map((column) => `q.${column}`).join(', ');
    const found = `due AS MATERIALIZED (
      SELECT ${[keys, ...present(take.also)].join(', ')} FROM ${take.from} FOR NO KEY UPDATE OF q SKIP LOCKED
    )`;
    this.#take = statement<readonly Value[], Row>(`take-${name}`)`
    WITH ${take.with ?? found}
    UPDATE ${table} q SET ${[
      `${due} = ${leased}`,
      ...[...present(tries), ...present(fence)].map((column) => `${column} = q.${column} + 1`),
      ...present(take.set),
    ].join(', ')}
    FROM ${take.with === undefined ? 'due' : `${take.from} AS due`}
    WHERE ${key.map((column) => `q.${column} = due.${column}`).join(' AND ')}
    RETURNING ${take.returning}`;
    this.#renewed = Object.keys(renew.columns ?? {});
    const isFree = `q.${key[0]} IN (
      SELECT q.${key[0]} FROM ${table} q WHERE q.${key[0]} = ANY($2::text[]) FOR NO KEY UPDATE SKIP LOCKED)`;
    // A row that was settled has no time, or a later one.
    this.#renew = statement<readonly Value[], Key & Shown>(`renew-${name}`)`
    UPDATE ${table} q SET ${[
      `${due} = ${leased}`,
      ...this.#renewed.map((column) => `${column} = s.${column}`),
      ...present(renew.set),
    ].join(', ')}
    FROM ${rowsOf([...typed(this.#held), ...Object.entries(renew.columns ?? {})], 2)}
    WHERE ${isSame(this.#held)} AND ${open} AND q.${due} < ${leased}${renew.passesLocked ? ` AND ${isFree}` : ''}
    RETURNING ${shown}`;
    this.#release = statement<readonly Value[]>(`release-${name}`)`
    UPDATE ${table} q SET ${[
      `${due} = clock_timestamp()`,
      ...(tries === undefined ? [] : [`${tries} = greatest(q.${tries} - 1, 0)`]),
      ...present(release?.set),
    ].join(', ')}
    FROM ${rowsOf(typed(this.#held))} WHERE ${isSame(this.#held)} AND ${open}`;
    this.#settled = ['due_in_ms', ...Object.keys(settle.columns ?? {})];
    const outcomes = rowsOf([
      ...typed(this.#key),
      ['due_in_ms', 'float8'],
      ...Object.entries(settle.columns ?? {}),
    ]);
    const taken = [isSame(this.#key), ...present(settle.where)].join(' AND ');
    const removed = `WITH removed AS (
      DELETE FROM ${table} q USING ${outcomes} WHERE ${taken} AND s.due_in_ms IS NULL
    ) `;
    this.#settle = statement<readonly Value[], Key & Shown>(`settle-${name}`)`
    ${settle.removes ? removed : ''}UPDATE ${table} q SET ${[
      `${due} = clock_timestamp() + s.due_in_ms * interval '1 ms'`,
      ...Object.keys(settle.columns ?? {}).map((column) => `${column} = s.${column}`),
      ...present(settle.set),
    ].join(', ')}
    FROM ${outcomes} WHERE ${taken}${settle.removes ? ' AND s.due_in_ms IS NOT NULL' : ''}
    RETURNING ${shown}`;
    this.#measure = statement<[], { waiting: number; oldest: number | null }>(`measure-${name}`)(
      options.measured ??
        `
    SELECT count(*) AS waiting,
      greatest(extract(epoch FROM clock_timestamp() - min(${since})), 0)::float8 AS oldest
    FROM ${table} q WHERE ${open}`,
    );
  }

  /** Takes rows that are due for `leaseMs`, during which no other node takes them. */
  take(db: Querier, leaseMs: number, ...by: By): Promise<Row[]> {
    return db.query(this.#take, leaseMs, ...by);
  }

  /**
   * Extends the leases of this node's rows to `leaseMs` from now. Returns the rows that it still
   * has: others were settled or, with a fence, taken over.
   */
  async renew(db: Querier, rows: readonly Row[], leaseMs: number): Promise<(Key & Shown)[]> {
    if (rows.length === 0) return [];
    return db.query(this.#renew, leaseMs, ...valuesOf(rows, [...this.#held, ...this.#renewed]));
  }

  /** Gives rows back to all nodes at once, as if they had not been taken. */
  async release(db: Querier, rows: readonly Row[]): Promise<void> {
    if (rows.length > 0) await db.query(this.#release, ...valuesOf(rows, this.#held));
  }

  /** Writes the outcomes of rows. Returns the rows that took one, unless they were deleted. */
  async settle(db: Querier, rows: readonly (Key & Due & Settled)[]): Promise<(Key & Shown)[]> {
    if (rows.length === 0) return [];
    return db.query(this.#settle, ...valuesOf(rows, [...this.#key, ...this.#settled]));
  }

  async measure(db: Querier): Promise<Waiting> {
    const [row] = await db.query(this.#measure);
    return { waiting: row!.waiting, oldestSeconds: row!.oldest ?? 0 };
  }
}

function valuesOf(rows: readonly object[], columns: readonly string[]): Value[] {
  return columns.map((column) => rows.map((row) => (row as Readonly<Record<string, Value>>)[column] ?? null));
}

function present(sql: string | undefined): string[] {
  return sql === undefined ? [] : [sql];
}

/** Returns SQL for rows `s` of these columns, each of which is a parameter. */
function rowsOf(columns: readonly (readonly [name: string, type: string])[], from = 1): string {
  const parameters = columns.map(([, type], index) => `$${index + from}::${type}[]`);
  return `unnest(${parameters.join(', ')}) AS s(${columns.map(([name]) => name).join(', ')})`;
}
