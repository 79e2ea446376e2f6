import type { Db } from '../db/handle.ts';
import type { Statement } from '../db/statement.ts';
import type { SearchStretch } from '../db/stretch.ts';

/** What an account has of one kind, newest first, in pages. */
export interface AccountList<Row> {
  /** The rows of one page of an account's list, in the order that the stretch asks for. */
  readPage(db: Db, accountId: string, stretch: SearchStretch): Promise<Row[]>;
}

export interface AccountListOptions {
  /** The plural of what is listed: names the prepared statements. */
  readonly name: string;
  /** With `t.created_at` and `t.id` among them. */
  readonly columns: string;
  /** The table as `t`, with whatever is joined; `t` has account_id, created_at and id. */
  readonly from: string;
  readonly search: readonly string[];
}

export function defineAccountList<Row extends object>(options: AccountListOptions): AccountList<Row> {
  const statements = {
    next: statementsOf(options, 'next', '<', 't.created_at DESC, t.id DESC'),
    previous: statementsOf(options, 'previous', '>', 't.created_at, t.id'),
  } as const;
  return {
    readPage: (database, accountId, { direction, after, fetch, search }) =>
      database.query<Row>(statements[direction][after === null ? 'edge' : 'behind'], [
        accountId,
        search === null ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`,
        fetch,
        ...(after ?? []),
      ]),
  };
}

/** What these lists are ordered by: a cursor's content. */
export function keyOf(row: { readonly created_at: string; readonly id: string }): [string, string] {
  return [row.created_at, row.id];
}

function statementsOf(
  { name, columns, from, search }: AccountListOptions,
  direction: SearchStretch['direction'],
  comparison: '<' | '>',
  order: string,
): Readonly<Record<'edge' | 'behind', Statement>> {
  const found = search.map((column) => `${column} ILIKE $2`).join(' OR ');
  const statement = (place: string, condition: string): Statement => ({
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
