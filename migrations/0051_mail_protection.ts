import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * mails.protection: `signed` or `encrypted` for mail that came in by S/MIME or PGP. A row that a
 * node of the version before writes has none, as older ones.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE mails ADD COLUMN protection text`.execute(db);
}
