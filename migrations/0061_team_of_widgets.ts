import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/** Widgets whose account wants it show members of their group. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE widgets ADD COLUMN show_team boolean NOT NULL DEFAULT false').execute(db);
}
