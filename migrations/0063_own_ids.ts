import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * The readers of the own ids of actors: API keys alone in accounts that exist, the team in new
 * ones.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `ALTER TABLE accounts ADD COLUMN own_ids text NOT NULL DEFAULT 'keys'`,
  `ALTER TABLE accounts ALTER COLUMN own_ids SET DEFAULT 'team'`,
];
