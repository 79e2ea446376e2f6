import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/** Who sees the addresses of people: everyone, unless the account says otherwise. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`ALTER TABLE accounts ADD COLUMN handles text NOT NULL DEFAULT 'everyone'`).execute(db);
}
