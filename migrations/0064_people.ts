import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/** The users that a user of the account knows: everyone, unless the account says otherwise. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE accounts ADD COLUMN people text NOT NULL DEFAULT 'everyone'`.execute(db);
}
