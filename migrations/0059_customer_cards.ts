import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * messages.event: which event a message of the service states. Null in older messages.
 *
 * customer_card_sources: where an account asks for cards of its customers. `secret` signs the
 * requests; `previous_secret` signs too until its time.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  'ALTER TABLE messages ADD COLUMN event jsonb',
  `CREATE TABLE customer_card_sources (
    account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts,
    url text NOT NULL,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_secret_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
];
