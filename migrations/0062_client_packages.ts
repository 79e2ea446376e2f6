import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * The package of the SDK of each release that has served this database
 * (src/api/documents/registry/). A row is never changed: lock files have its digest.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(TABLE).execute(db);
}

const TABLE = `CREATE TABLE client_packages (
  version text COLLATE "C" PRIMARY KEY,
  manifest json NOT NULL,
  tarball bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`;
