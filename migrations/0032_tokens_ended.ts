import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * actors.tokens_ended_at: when the actor was last deactivated. Access tokens that no session issued
 * and that are older stay refused when the actor is activated again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE actors ADD COLUMN tokens_ended_at timestamptz`.execute(db);
}
