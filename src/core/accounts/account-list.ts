import type { Db } from '../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../platform/db/connection/keyset.ts';

/** A list of an account's resources of one kind, newest first, in pages. */
export interface AccountList<Row> {
  readPage(db: Db, accountId: string, page: KeysetPage): Promise<Row[]>;
}

export interface AccountListOptions {
  /** The plural of the resource, for the names of the prepared statements. */
  readonly name: string;
  /** Includes `t.created_at` and `t.id`. */
  readonly columns: string;
  /** The table as `t`, with its joins; `t` must have account_id, created_at and id. */
  readonly from: string;
  readonly search: readonly string[];
}

export function defineAccountList<Row extends object>({
  name,
  ...options
}: AccountListOptions): AccountList<Row> {
  const list = keysetList<[accountId: string], Row>({
    ...options,
    name: `list-${name}`,
    where: 't.account_id = $1',
    key: [
      ['t.created_at', 'timestamptz'],
      ['t.id', 'text'],
    ],
  });
  return { readPage: (db, accountId, page) => list.readPage(db, [accountId], page) };
}

/** Returns the sort key of these lists, which is the content of a cursor. */
export function keyOf(row: { readonly created_at: string; readonly id: string }): [string, string] {
  return [row.created_at, row.id];
}
