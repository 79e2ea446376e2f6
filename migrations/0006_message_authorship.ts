import { type Kysely, sql } from 'kysely';

/** Who edited a message last. Without a default, so no row is rewritten. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE messages ADD COLUMN IF NOT EXISTS edited_by text`.execute(db);
}
