import { readFile } from 'node:fs/promises';
import { type Kysely, sql } from 'kysely';

/**
 * Makes the schema of a new database, as the migrations 0001 to 0048 made it, in the order in which
 * the areas refer to one another.
 *
 * Ids are text under the "C" collation: they sort by their bytes, which grow with time.
 * Enumerations are text, whose values are in packages/protocol/. A row that clients are streamed
 * has `changed_in`, the transaction that last wrote it, which a resume cursor is compared with.
 * `metadata` is what an application keeps with a row: an object of texts, or null. The defaults of
 * `created_at` and `updated_at` are one time in a row that shows both, so that nothing new looks
 * changed. Indexes that came later to tables that may be large are in src/core/tables/indexes.ts.
 */
export async function makeBaseline(db: Kysely<unknown>): Promise<void> {
  for (const area of AREAS) {
    const statements = await readFile(new URL(`${area}.sql`, import.meta.url), 'utf8');
    await sql.raw(statements).execute(db);
  }
}

const AREAS = [
  ...['accounts', 'sign-in', 'files', 'conversations', 'messages', 'notifications', 'commits'],
  ...['agents', 'compliance', 'webhooks', 'mail', 'widgets', 'imports', 'activity', 'search'],
];
