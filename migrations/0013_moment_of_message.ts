import { type Kysely, sql } from 'kysely';

/**
 * The moment of a message: when the cause of its notifications became true, with which their ids begin (migration 0010).
 * The planner replaces the call by its body, so that statements find notifications along their primary key as before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE FUNCTION moment_of(m messages) RETURNS timestamptz
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT coalesce(m.notified_at, m.created_at) $$`.execute(db);
}
