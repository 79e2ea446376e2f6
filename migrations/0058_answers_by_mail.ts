import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * Answers that a customer has not read are mailed: from the inbox of the widget, to an address that
 * is proven to be the customer's. The mail that proves one has a code as well.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  'ALTER TABLE widgets ADD COLUMN inbox_id text COLLATE "C"',
  'ALTER TABLE actors ADD COLUMN proven_address text',
  `ALTER TABLE address_confirmations
    ADD COLUMN tries integer NOT NULL DEFAULT 0,
    ADD COLUMN code_used_at timestamptz`,
];
