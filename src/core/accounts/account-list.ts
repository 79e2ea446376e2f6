import type { Metadata } from '../../contract/protocol/resources/metadata.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import {
  type KeysetList,
  type KeysetOptions,
  type KeysetPage,
  keysetList,
} from '../../platform/db/connection/keyset.ts';
import { readIdsWithMetadata } from '../resources/metadata-filter.ts';

/**
 * Defines the list of an account's resources of one kind, newest first, in pages. `name` is the
 * plural of the resource, for the names of the prepared statements. `from` has the table as `t`,
 * with its joins; `t` must have account_id, created_at and id, and `columns` the last two.
 */
export function defineAccountList<Row extends object>({
  name,
  ...options
}: AccountListOptions): KeysetList<[accountId: string], Row> {
  return keysetList({ ...options, name: `list-${name}`, where: 't.account_id = $1', key: KEY });
}

/** A list of people of an account, or of those with this metadata. */
export interface PeopleList<Row extends object> {
  readPage(
    db: Querier,
    values: [accountId: string],
    page: KeysetPage,
    metadata?: Metadata | undefined,
  ): Promise<Row[]>;
}

/**
 * As defineAccountList, for a table `t` whose ids are those of actors. Few people with the metadata
 * are looked up; many are found by a walk in the order of the list.
 */
export function definePeopleList<Row extends object>(options: AccountListOptions): PeopleList<Row> {
  const all = defineAccountList<Row>(options);
  const filtered = <Filter extends string | readonly string[]>(name: string, condition: string) =>
    keysetList<[accountId: string, filter: Filter], Row>({
      ...options,
      name: `list-${options.name}-${name}`,
      where: `t.account_id = $1 AND ${condition}`,
      key: KEY,
    });
  const named = filtered<readonly string[]>('by-id', 't.id = ANY($2)');
  const fitting = filtered<string>(
    'by-metadata',
    '(SELECT f.metadata FROM actors f WHERE f.id = t.id) @> $2::jsonb',
  );
  return {
    async readPage(db, [accountId], page, metadata) {
      if (metadata === undefined) return all.readPage(db, [accountId], page);
      const ids = await readIdsWithMetadata(db, 'actors', accountId, metadata, MOST_LOOKED_UP);
      if (ids === undefined) return fitting.readPage(db, [accountId, JSON.stringify(metadata)], page);
      return named.readPage(db, [accountId, ids], page);
    },
  };
}

/** Sorting so many takes a few milliseconds. */
const MOST_LOOKED_UP = 1_000;

type AccountListOptions = Pick<KeysetOptions, 'name' | 'columns' | 'from' | 'search'>;

const KEY = [
  ['t.created_at', 'timestamptz'],
  ['t.id', 'text'],
] as const satisfies KeysetOptions['key'];

/** Returns the sort key of these lists, which is the content of a cursor. */
export function keyOf(row: { readonly created_at: string; readonly id: string }): [string, string] {
  return [row.created_at, row.id];
}
