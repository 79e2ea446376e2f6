import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * The users that a user of the account knows: everyone, unless the account says otherwise. The
 * names by which texts mention users.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `ALTER TABLE accounts ADD COLUMN people text NOT NULL DEFAULT 'everyone'`,
  `ALTER TABLE actors ADD COLUMN username text COLLATE "C"`,
  `CREATE UNIQUE INDEX actors_username ON actors (account_id, username) WHERE username IS NOT NULL`,
];
