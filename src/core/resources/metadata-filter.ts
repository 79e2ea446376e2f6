import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { hasMetadata } from '../../platform/db/tables/metadata-column.ts';

/**
 * Returns the rows of the account with all keys of an object and these values, in no order. Returns
 * undefined for more than `most` rows: a walk in the order of a list then soon finds a page.
 */
export async function readIdsWithMetadata(
  db: Querier,
  table: keyof typeof READ_IDS,
  accountId: string,
  metadata: Metadata,
  most: number,
): Promise<string[] | undefined> {
  const rows = await db.query(READ_IDS[table], accountId, JSON.stringify(metadata), most + 1);
  return rows.length > most ? undefined : rows.map(({ id }) => id);
}

const READ_IDS = { actors: readsOf('actors'), conversations: readsOf('conversations') };

function readsOf(table: 'actors' | 'conversations') {
  return statement<[accountId: string, metadata: string, limit: number], { id: string }>(
    `read-${table}-with-metadata`,
  )`
    SELECT t.id FROM ${table} t WHERE ${hasMetadata('t', '$1', '$2')} LIMIT $3`;
}
