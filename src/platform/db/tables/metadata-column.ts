import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { ColumnType } from 'kysely';

/** Data that an application keeps with a row, written as JSON; null for none. */
export type MetadataColumn = ColumnType<Metadata | null, string | null | undefined, string | null>;

/** Returns the SQL of an index for `hasMetadata`, to follow the name of a table. */
export function metadataIndex(): string {
  return `USING gin (${ofAccount('')} jsonb_path_ops) WHERE metadata IS NOT NULL`;
}

/**
 * Returns SQL for whether an alias's row, which has `account_id`, has all keys of an object with
 * these values. `account` and `filter` are parameters. The index covers key, value and account
 * together, so that other accounts' rows with the same value cost nothing.
 */
export function hasMetadata(alias: string, account: `$${number}`, filter: `$${number}`): string {
  return `${alias}.metadata IS NOT NULL AND ${ofAccount(`${alias}.`)}
        @> jsonb_set('{}', ARRAY[${account}::text], ${filter}::jsonb)`;
}

function ofAccount(prefix: string): string {
  return `jsonb_set('{}', ARRAY[${prefix}account_id], ${prefix}metadata)`;
}
