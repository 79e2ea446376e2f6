import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/** messages.event: which event a message of the service states. Null in older messages. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = ['ALTER TABLE messages ADD COLUMN event jsonb'];
