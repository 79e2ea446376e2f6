import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { ColumnType } from 'kysely';

/** What an application keeps with a row, written as JSON; null for nothing. */
export type MetadataColumn = ColumnType<Metadata | null, string | null | undefined, string | null>;

/** SQL behind the name of a table: an index for `hasMetadata`. */
export function metadataIndex(): string {
  return `USING gin (${ofAccount('')} jsonb_path_ops) WHERE metadata IS NOT NULL`;
}

/**
 * SQL: whether the row of an alias, which has `account_id`, has all keys of an object with these
 * values. `account` and `filter` are parameters. The index is of the key, the value and the account
 * together, so that the rows of other accounts with the same value cost nothing.
 */
export function hasMetadata(alias: string, account: `$${number}`, filter: `$${number}`): string {
  return `${alias}.metadata IS NOT NULL AND ${ofAccount(`${alias}.`)}
        @> jsonb_set('{}', ARRAY[${account}::text], ${filter}::jsonb)`;
}

function ofAccount(prefix: string): string {
  return `jsonb_set('{}', ARRAY[${prefix}account_id], ${prefix}metadata)`;
}
