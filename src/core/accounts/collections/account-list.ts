import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { NamedKind } from '@parley/protocol/schema/external-ids.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import {
  type KeysetList,
  type KeysetOptions,
  type KeysetPage,
  keysetList,
} from '../../../platform/db/connection/keyset.ts';
import { externalActor } from '../../resources/external-ids.ts';
import { readIdsWithMetadata } from '../../resources/metadata-filter.ts';

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

type AccountListOptions = Pick<KeysetOptions, 'name' | 'columns' | 'from' | 'search' | 'folded'>;
type ActorKind = Exclude<NamedKind, 'conversation'>;
type NamedListOptions = AccountListOptions & { readonly where?: string };

const KEY = [
  ['t.created_at', 'timestamptz'],
  ['t.id', 'text'],
] as const satisfies KeysetOptions['key'];

/**
 * Defines a list of resources that are actors, with a filter by external id, which is null for all.
 * `actorId` is the column with the id of the actor.
 */
export function defineNamedList<Row extends object>(
  kind: ActorKind,
  actorId: string,
  { where, ...options }: NamedListOptions,
): KeysetList<[accountId: string, externalId: string | null], Row> {
  return keysetList({
    ...options,
    name: `list-${options.name}`,
    where: `t.account_id = $1${where === undefined ? '' : ` AND ${where}`}
      AND ($2::text IS NULL OR ${actorId} = ${externalActor(kind, '$1', '$2')})`,
    key: KEY,
  });
}

/** A list of the people of an account, with filters by external id and by metadata. */
export interface PeopleList<Row extends object> {
  readPage(
    db: Querier,
    values: readonly [accountId: string, externalId: string | null],
    page: KeysetPage,
    metadata?: Metadata | undefined,
  ): Promise<Row[]>;
}

/**
 * Defines such a list for a table `t` whose ids are those of actors. Few people with the metadata
 * are looked up by id; many are found by a walk in the order of the list.
 */
export function definePeopleList<Row extends object>(
  kind: ActorKind,
  { where, ...options }: NamedListOptions,
): PeopleList<Row> {
  const all = defineNamedList<Row>(kind, 't.id', { where: where ?? 'true', ...options });
  const filtered = <Filter extends string | readonly string[]>(name: string, condition: string) =>
    keysetList<[accountId: string, externalId: string | null, filter: Filter], Row>({
      ...options,
      name: `list-${options.name}-${name}`,
      where: `t.account_id = $1 AND ${where ?? 'true'} AND ${condition}
      AND ($2::text IS NULL OR t.id = ${externalActor(kind, '$1', '$2')})`,
      key: KEY,
    });
  const named = filtered<readonly string[]>('by-id', 't.id = ANY($3)');
  const fitting = filtered<string>(
    'by-metadata',
    '(SELECT f.metadata FROM actors f WHERE f.id = t.id) @> $3::jsonb',
  );
  return {
    async readPage(db, [accountId, externalId], page, metadata) {
      if (metadata === undefined) return all.readPage(db, [accountId, externalId], page);
      const ids = await readIdsWithMetadata(db, 'actors', accountId, metadata, MOST_LOOKED_UP);
      if (ids !== undefined) return named.readPage(db, [accountId, externalId, ids], page);
      return fitting.readPage(db, [accountId, externalId, JSON.stringify(metadata)], page);
    },
  };
}

/** Sorting so many takes a few milliseconds. */
const MOST_LOOKED_UP = 1_000;

/** Returns the sort key of these lists, which is the content of a cursor. */
export function keyOf(row: { readonly created_at: string; readonly id: string }): [string, string] {
  return [row.created_at, row.id];
}
