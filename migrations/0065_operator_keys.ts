import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/** The credentials of programs that operate the installation. They belong to no account. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(TABLE).execute(db);
}

const TABLE = `CREATE TABLE operator_keys (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  redacted text NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`;
