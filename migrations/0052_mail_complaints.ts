import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * mail_complaints: addresses whose owner has complained about a mail of the account, so that no
 * reply is sent to them until it is lifted. `mail_id` names the mail, which may be gone since.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE mail_complaints (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    address text NOT NULL,
    kind text NOT NULL,
    mail_id ${ID} NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (account_id, address)
  )`,
];
