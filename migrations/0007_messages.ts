import { type Kysely, sql } from 'kysely';

/** `withdrawn_at`: since when an upload cannot be attached any more, because a message that had it was deleted. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE uploads ADD COLUMN withdrawn_at timestamptz`.execute(db);
  await sql`
    CREATE INDEX uploads_withdrawn ON uploads (withdrawn_at)
    WHERE withdrawn_at IS NOT NULL AND attached_at IS NULL`.execute(db);
}
