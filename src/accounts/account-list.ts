import type { Db } from '../db/handle.ts';
import type { Statement } from '../db/statement.ts';
import type { SearchStretch } from '../db/stretch.ts';

/** A list of an account's resources of one kind, newest first, in pages. */
export interface AccountList<Row> {
  /** Reads the rows of one page, in the order of the requested range. */
  readPage(db: Db, accountId: string, stretch: SearchStretch): Promise<Row[]>;
}

export interface AccountListOptions {
  /** The plural of the resource, which names the prepared statements. */
  readonly name: string;
  /** Includes `t.created_at` and `t.id`. */
  readonly columns: string;
  /** The table as `t`, with its joins; `t` has account_id, created_at and id. */
  readonly from: string;
  readonly search: readonly string[];
}

export function defineAccountList<Row extends object>(options: AccountListOptions): AccountList<Row> {
  const statements = {
    next: statementsOf<Row>(options, 'next', '<', 't.created_at DESC, t.id DESC'),
    previous: statementsOf<Row>(options, 'previous', '>', 't.created_at, t.id'),
  } as const;
  return {
    readPage: (database, accountId, { direction, after, fetch, search }) =>
      database.query(
        statements[direction][after === null ? 'edge' : 'behind'],
        accountId,
        search === null ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`,
        fetch,
        ...(after ?? []),
      ),
  };
}

/** The key that these lists are ordered by, and the content of a cursor. */
export function keyOf(row: { readonly created_at: string; readonly id: string }): [string, string] {
  return [row.created_at, row.id];
}

type ListParams = [accountId: string, pattern: string | null, fetch: number, ...after: (string | number)[]];

function statementsOf<Row extends object>(
  { name, columns, from, search }: AccountListOptions,
  direction: SearchStretch['direction'],
  comparison: '<' | '>',
  order: string,
): Readonly<Record<'edge' | 'behind', Statement<ListParams, Row>>> {
  const found = search.map((column) => `${column} ILIKE $2`).join(' OR ');
  const statement = (place: string, condition: string): Statement<ListParams, Row> => ({
    name: `list-${name}-${direction}-${place}`,
    text: `
    SELECT ${columns} FROM ${from}
    WHERE t.account_id = $1 AND ($2::text IS NULL OR ${found}) ${condition}
    ORDER BY ${order} LIMIT $3`,
  });
  return {
    edge: statement('edge', ''),
    behind: statement('behind', `AND (t.created_at, t.id) ${comparison} ($4::timestamptz, $5)`),
  };
}
