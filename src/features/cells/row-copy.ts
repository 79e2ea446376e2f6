import { rowsOf } from '../../core/resources/holdings.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../platform/db/connection/unavailable.ts';
import type { Cell, CellTx } from './cell.ts';
import type { MovedTable } from './moved-tables.ts';

/**
 * The rows of an account in one table, read at the source and written at the target. A row travels
 * as the text of its composite type. Columns of transaction ids (`changed_in`) get the id of the
 * target's own transaction, because cursors compare them with its snapshots. Neither these nor
 * generated columns are compared, nor what nodes of either cell fold at any time.
 */
export class RowCopy {
  /** Number of rows that `copy` has written at the target. */
  copied = 0;
  readonly #table: string;
  readonly #moved: MovedTable;
  readonly #columns: readonly Column[];
  /** Rows of older transactions of the source are at the target. Null at first. */
  #since: string | null = null;

  static async open(source: Cell, target: Cell, table: string, moved: MovedTable): Promise<RowCopy> {
    const columns = await source.query(READ_COLUMNS, table);
    if (JSON.stringify(columns) !== JSON.stringify(await target.query(READ_COLUMNS, table))) {
      throw new Error(`the table ${table} differs between the cells: both need the same version of Parley`);
    }
    return new RowCopy(table, moved, columns);
  }

  /** Use `RowCopy.open`. */
  private constructor(table: string, moved: MovedTable, columns: readonly Column[]) {
    this.#table = table;
    this.#moved = moved;
    this.#columns = columns;
  }

  /**
   * Copies rows in batches while the account is in use: all rows, or those written by transactions
   * since `since`. Rows that were deleted meanwhile, and rows that wait for the last moment, are
   * left to `finish`. Returns the number of rows.
   */
  async copy(source: CellTx, target: Cell, accountId: string): Promise<number> {
    const { last = 'false' } = this.#moved;
    // Read before the rows: invisible rows have this transaction id or a later one.
    const [next] = await source.query(READ_XMIN);
    const where = `${this.#rows} AND ${this.#isChanged} AND NOT coalesce(${last}, false)`;
    let copied = 0;
    for await (const rows of this.#read(source, where, accountId)) {
      await target.transaction(async (tx) => {
        const isThere = this.#isSame('t', 'r');
        await tx.query(writing(`DELETE FROM ${this.#table} t USING ${this.#given} WHERE ${isThere}`), rows);
        await this.#insert(tx, this.#table, rows);
      });
      copied += rows.length;
    }
    this.#since = next!.xmin;
    this.copied += copied;
    return copied;
  }

  /**
   * Gives Postgres statistics of the copied rows and marks them as committed. Otherwise their first
   * reader would do so in `finish`, while the account is refused.
   */
  async vacuum(target: Cell): Promise<void> {
    await target.run(`VACUUM (ANALYZE, INDEX_CLEANUP OFF, TRUNCATE OFF) ${this.#table}`);
  }

  /**
   * Makes the rows at the target equal to those of the fenced source, and compares them. Returns
   * the number of changed rows. Rejects with an Error of one line if the rows differ afterwards.
   */
  async finish(source: CellTx, target: CellTx, accountId: string): Promise<number> {
    let copied = await this.#copyChanged(source, target, accountId);
    let [there, here] = await this.#digests(source, target, accountId);
    if (there.rows !== here.rows) {
      await this.#removeDeleted(source, target, accountId);
      [there, here] = await this.#digests(source, target, accountId);
    }
    if (there.hash !== here.hash) {
      // The target's nodes may have written derived rows, because of marks left there when the
      // account was removed before.
      this.#since = null;
      copied += await this.#copyChanged(source, target, accountId);
      [there, here] = await this.#digests(source, target, accountId);
    }
    if (there.rows === here.rows && there.hash === here.hash) return copied;
    throw new Error(
      `the table ${this.#table} differs after the copy: ${there.rows} rows at the source, ${here.rows} here; the account stays at the source`,
    );
  }

  /** Copies the rows that are new, changed, or wait for the last moment. Returns their number. */
  async #copyChanged(source: CellTx, target: CellTx, accountId: string): Promise<number> {
    const table = this.#table;
    const { last = 'false' } = this.#moved;
    let copied = 0;
    const where = `${this.#rows} AND (${this.#isChanged} OR ${last})`;
    for await (const rows of this.#read(source, where, accountId)) {
      // Making and dropping it for every table, most of them unchanged, took half a second.
      if (copied === 0) await target.run(`CREATE TEMP TABLE ${STAGED} (LIKE ${table}) ON COMMIT DROP`);
      await this.#insert(target, STAGED, rows);
      copied += rows.length;
    }
    if (copied === 0) return 0;
    // All are deleted before any is written, because a unique value may have moved between rows.
    await target.run(`DELETE FROM ${table} t USING ${STAGED} r WHERE ${this.#isSame('t', 'r')}`);
    const insert = `INSERT INTO ${table} (${this.#written}) SELECT ${this.#written} FROM ${STAGED}`;
    await target.run(`SAVEPOINT before; ${insert}`).catch(async (error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      // The value belonged to a row that the source no longer has.
      await target.run('ROLLBACK TO before');
      await this.#removeDeleted(source, target, accountId);
      await target.run(insert);
    });
    await target.run(`DROP TABLE ${STAGED}`);
    return copied;
  }

  async *#read(source: CellTx, where: string, accountId: string): AsyncGenerator<string[]> {
    const all = this.#columns.map(({ name }) => `t.${name}`).join(', ');
    yield* this.#fetch(source, `ROW(${all})::text`, where, accountId);
  }

  /** Yields the values of an expression in batches. */
  async *#fetch(source: CellTx, value: string, where: string, accountId: string): AsyncGenerator<string[]> {
    const selected = `SELECT ${value} AS value FROM ${this.#table} t ${where}`;
    await source.query(finding(`DECLARE moved NO SCROLL CURSOR FOR ${selected}`), accountId);
    for (let isMore = true; isMore; ) {
      const rows = await source.query(FETCH);
      if (rows.length > 0) yield rows.map((row) => row.value);
      isMore = rows.length === ROWS_AT_ONCE;
    }
    await source.run('CLOSE moved');
  }

  async #insert(target: CellTx, into: string, rows: readonly string[]): Promise<void> {
    const values = this.#columns.flatMap(({ name, type, generated }) => {
      if (generated) return [];
      return type === 'xid8' ? `CASE WHEN r.${name} IS NOT NULL THEN pg_current_xact_id() END` : `r.${name}`;
    });
    const selected = `SELECT ${values.join(', ')} FROM ${this.#given}`;
    await target.query(writing(`INSERT INTO ${into} (${this.#written}) ${selected}`), rows);
  }

  /** Removes rows that the source no longer has. */
  async #removeDeleted(source: CellTx, target: CellTx, accountId: string): Promise<void> {
    const columns = this.#columns.filter(({ isKey }) => isKey).map(({ name }) => `t.${name}`);
    const key = `ROW(${columns.join(', ')})::text`;
    await target.run(`CREATE TEMP TABLE ${KEPT} (key text PRIMARY KEY) ON COMMIT DROP`);
    for await (const keys of this.#fetch(source, key, this.#rows, accountId)) {
      await target.query(writing(`INSERT INTO ${KEPT} SELECT unnest($1::text[])`), keys);
    }
    const isKept = `EXISTS (SELECT FROM ${KEPT} k WHERE k.key = ${key})`;
    await removeRows(target, [this.#table, this.#moved], accountId, `NOT ${isKept}`);
    await target.run(`DROP TABLE ${KEPT}`);
  }

  /** Returns digests that are equal for cells with the same rows. */
  #digests(source: Cell, target: Cell, accountId: string): Promise<[Digest, Digest]> {
    const compared = this.#columns.flatMap(({ name, type, generated }) => {
      if (generated || FOLDED.has(name)) return [];
      if (type === 'xid8') return `t.${name} IS NOT NULL`;
      return HASHED_AS_TEXT.has(type) ? `t.${name}::text` : `t.${name}`;
    });
    const hash = `bit_xor(hash_record_extended(ROW(${compared.join(', ')}), 0))`;
    const counted = finding<Digest>(
      `SELECT count(*)::int AS rows, coalesce(${hash}, 0)::text AS hash FROM ${this.#table} t ${this.#rows}`,
    );
    const digest = async (cell: Cell) => (await cell.query(counted, accountId))[0]!;
    return Promise.all([digest(source), digest(target)]);
  }

  /** Returns SQL. age() compares 32-bit ids as Postgres does. */
  get #isChanged(): string {
    return this.#since === null ? 'true' : `age(t.xmin) <= age('${this.#since}'::xid8::xid)`;
  }

  get #given(): string {
    return `unnest($1::${this.#table}[]) r`;
  }

  get #rows(): string {
    return rowsOf(this.#moved);
  }

  get #written(): string {
    return this.#columns
      .filter(({ generated }) => !generated)
      .map(({ name }) => name)
      .join(', ');
  }

  #isSame(one: string, other: string): string {
    const key = this.#columns.filter(({ isKey }) => isKey);
    return key.map(({ name }) => `${one}.${name} = ${other}.${name}`).join(' AND ');
  }
}

/**
 * Removes all rows of an account from a table, or only those for which `where` (SQL over `t`) is
 * true.
 */
export async function removeRows(
  cell: CellTx,
  [table, moved]: readonly [table: string, MovedTable],
  accountId: string,
  where = 'true',
): Promise<void> {
  const rows = `SELECT t.ctid FROM ${table} t ${rowsOf(moved)} AND (${where})`;
  await cell.query(finding(`DELETE FROM ${table} WHERE ctid = ANY(ARRAY(${rows}))`), accountId);
}

interface Digest {
  readonly rows: number;
  readonly hash: string;
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly generated: boolean;
  readonly isKey: boolean;
}

/** Columns that say how far rows are folded. */
const FOLDED: ReadonlySet<string> = new Set(['folded', 'folding']);
/** Types without a hash in Postgres. */
const HASHED_AS_TEXT: ReadonlySet<string> = new Set(['json', 'tsvector']);
const ROWS_AT_ONCE = 1_000;
const STAGED = 'moved_rows';
const KEPT = 'moved_keys';

/** Cells run the text alone: statements composed for each table need no name of their own. */
const finding = <Row extends object>(text: string) => statement<[accountId: string], Row>('move-rows')(text);
const writing = statement<[rows: readonly string[]]>('move-given-rows');

const FETCH = statement<[], { value: string }>('fetch-moved-rows')`
  FETCH ${ROWS_AT_ONCE} FROM moved`;

const READ_XMIN = statement<[], { xmin: string }>('read-oldest-transaction')`
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin`;

const READ_COLUMNS = statement<[table: string], Column>('read-columns-of-table')`
  SELECT a.attname AS name, a.atttypid::regtype::text AS type,
    a.attgenerated <> '' AS generated, coalesce(a.attnum = ANY(i.indkey), false) AS "isKey"
  FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
  WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;
