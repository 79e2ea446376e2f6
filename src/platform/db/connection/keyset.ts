import { fold } from '@parley/protocol/folding.ts';
import { MAX_PAGE_BYTES } from '@parley/protocol/lists.ts';
import { type Searched, searchedColumns, searchedWords, unfoldedRows } from './folded-table.ts';
import type { Querier } from './handle.ts';
import { type Statement, statement, type Value } from './statement.ts';

/** A selection of a list's rows, such as a PageRequest of api/pipeline/pagination.ts. */
export interface KeysetPage {
  /** `next`: in the order of the list; `previous`: in the opposite one. */
  readonly direction: 'next' | 'previous';
  /** The key before the first row, in the direction; null to begin at the end on that side. */
  readonly after: readonly (string | number)[] | null;
  /** Most rows to return. */
  readonly fetch: number;
  /** Text to find in the list's folded or search columns; null for no search. */
  readonly search: string | null;
}

export interface KeysetOptions {
  /** Names the prepared statements. */
  readonly name: string;
  readonly columns: string;
  readonly from: string;
  /** The conditions; their parameters are the values of `readPage`, from $1 on. */
  readonly where: string;
  /** The columns that order the list, with their types; together they are unique. */
  readonly key: readonly (readonly [column: string, type: 'timestamptz' | 'text' | 'integer'])[];
  /** Default: newest first, with the highest key. */
  readonly order?: 'newest_first' | 'oldest_first';
  /** Columns that a search looks into, ignoring case. */
  readonly search?: readonly string[];
  /**
   * A table of `from`, with its alias, in whose folded words a search looks. The first value of the
   * list is the account.
   */
  readonly folded?: Searched & { readonly alias: string };
  /** A column of large texts: the page ends behind the row that takes them over MAX_PAGE_BYTES. */
  readonly largeText?: string;
  /** An aggregate over a page in its order: the answer is one row, because each row costs time. */
  readonly gathered?: string;
}

export interface KeysetList<Values extends readonly Value[], Row extends object> {
  /** Returns the rows of one page, in its direction. */
  readPage(db: Querier, values: Values, page: KeysetPage): Promise<Row[]>;
  readonly statements: Readonly<Record<KeysetPage['direction'], KeysetStatements<Row>>>;
}

interface KeysetStatements<Row extends object> {
  /** Reads from the end of the list. */
  readonly whole: Statement<Value[], Row>;
  /** Reads from behind a key. */
  readonly behind: Statement<Value[], Row>;
}

/**
 * Defines the statements of a list that is read in pages: two for each direction, since the index
 * cannot serve a condition on a key that may be null. Their parameters: `values`, those of the
 * search if the list has one, the number of rows, the key.
 */
export function keysetList<Values extends readonly Value[], Row extends object>(
  options: KeysetOptions,
): KeysetList<Values, Row> {
  const { order = 'newest_first', search, folded } = options;
  const [forward, backward] =
    order === 'newest_first' ? (['newest', 'oldest'] as const) : (['oldest', 'newest'] as const);
  const statements = {
    next: statementsOf<Row>(options, forward),
    previous: statementsOf<Row>(options, backward),
  };
  const unfolded = folded && unfoldedRows(folded);
  /** Returns the parameters of the search. */
  const searched = async (db: Querier, accountId: Value | undefined, text: string | null) => {
    const pattern = text && containing(text);
    if (unfolded === undefined) return search === undefined ? [] : [pattern];
    if (text === null) return [null, null, []];
    return [pattern, containing(fold(text)), await unfolded.find(db, String(accountId), text)];
  };
  return {
    statements,
    async readPage(db, values, { direction, after, fetch, search: text }) {
      const found = await searched(db, values[0], text);
      const { whole, behind } = statements[direction];
      const rows =
        after === null
          ? await db.query(whole, ...values, ...found, fetch)
          : await db.query(behind, ...values, ...found, fetch, ...after);
      return options.largeText === undefined ? rows : rows.map(withoutBytes);
    },
  };
}

function withoutBytes<Row extends object>(row: Row): Row {
  const { bytes_before: _, ...rest } = row as Row & { readonly bytes_before?: number };
  return rest as Row;
}

/**
 * Yields the pages of all rows. `read` reads each page from behind the key of the previous page.
 */
export async function* pages<Row, Key>(
  size: number,
  first: Key,
  read: (after: Key, size: number) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
): AsyncIterable<Row[]> {
  for (let after = first; ; ) {
    const rows = await read(after, size);
    if (rows.length > 0) yield rows;
    if (rows.length < size) return;
    after = keyOf(rows.at(-1)!);
  }
}

/** Returns a LIKE pattern that matches the text literally. */
function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}

function statementsOf<Row extends object>(
  { name, columns, from, where, key, search = [], folded, largeText, gathered }: KeysetOptions,
  end: 'newest' | 'oldest',
): KeysetStatements<Row> {
  const given = Math.max(
    0,
    ...[...`${from} ${where}`.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)),
  );
  const pattern = `$${given + 1}`;
  const found = search.map((column) => `${column} ILIKE ${pattern}`);
  if (folded !== undefined) found.push(isFound(folded, pattern, `$${given + 2}`, `$${given + 3}`));
  const condition = found.length === 0 ? '' : `AND (${pattern}::text IS NULL OR ${found.join(' OR ')})`;
  const limit = given + 1 + (folded !== undefined ? 3 : Math.min(found.length, 1));
  const [comparison, order] = end === 'newest' ? ['<', ' DESC'] : ['>', ''];
  const parameters = key.map(([, type], i) => `$${limit + 1 + i}${type === 'text' ? '' : `::${type}`}`);
  const columnsOfKey = key.map(([column]) => column);
  const define = (place: string, position: string) => {
    const inOrder = columnsOfKey.map((column) => `${column}${order}`).join(', ');
    // The bytes of the rows before it: Postgres knows a length without reading the text.
    const before =
      largeText === undefined
        ? ''
        : `, sum(octet_length(${largeText})) OVER (ORDER BY ${inOrder} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before`;
    const whole = `
    SELECT ${columns}${before} FROM ${from}
    WHERE ${where} ${condition} ${position}
    ORDER BY ${inOrder} LIMIT $${limit}`;
    const page =
      largeText === undefined
        ? whole
        : `
    SELECT * FROM (${whole}) AS rows WHERE coalesce(bytes_before, 0) <= ${MAX_PAGE_BYTES}`;
    const text = gathered === undefined ? page : `SELECT ${gathered} FROM (${page}) AS page`;
    return statement<Value[], Row>(`${name}-${end}-${place}`)(text);
  };
  return {
    whole: define('whole', ''),
    behind: define('behind', `AND (${columnsOfKey.join(', ')}) ${comparison} (${parameters.join(', ')})`),
  };
}

/**
 * Returns SQL for whether a row has the words. A row that is not folded, and whose id is not among
 * `ids`, is compared as it is.
 */
function isFound(
  folded: NonNullable<KeysetOptions['folded']>,
  pattern: string,
  foldedPattern: string,
  ids: string,
): string {
  const { alias } = folded;
  const asItIs = searchedColumns(folded)
    .map((column) => `${alias}.${column} ILIKE ${pattern}`)
    .join(' OR ');
  return `CASE WHEN ${alias}.folded IS NULL THEN ${alias}.id = ANY(${ids}::text[]) OR ${asItIs}
        ELSE ${searchedWords(folded, alias)} LIKE ${foldedPattern}::text END`;
}
