import { type Kysely, sql } from 'kysely';

/** webhooks_replaying: whether a replay is under way is asked twice a second on every node. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE INDEX webhooks_replaying ON webhooks (id) WHERE replay_through IS NOT NULL`.execute(db);
}
