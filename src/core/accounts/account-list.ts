import { type KeysetList, type KeysetOptions, keysetList } from '../../platform/db/connection/keyset.ts';

/**
 * Defines the list of an account's resources of one kind, newest first, in pages. `name` is the
 * plural of the resource, for the names of the prepared statements. `from` has the table as `t`,
 * with its joins; `t` must have account_id, created_at and id, and `columns` the last two.
 */
export function defineAccountList<Row extends object>({
  name,
  ...options
}: Pick<KeysetOptions, 'name' | 'columns' | 'from' | 'search'>): KeysetList<[accountId: string], Row> {
  return keysetList({
    ...options,
    name: `list-${name}`,
    where: 't.account_id = $1',
    key: [
      ['t.created_at', 'timestamptz'],
      ['t.id', 'text'],
    ],
  });
}

/** Returns the sort key of these lists, which is the content of a cursor. */
export function keyOf(row: { readonly created_at: string; readonly id: string }): [string, string] {
  return [row.created_at, row.id];
}
