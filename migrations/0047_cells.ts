import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * account_moves: accounts that move between this installation and another one, or have left it. A
 * row stays after its account has left, and keeps it from being used here again.
 *
 * audit_handovers: where the audit of an account went on under the key of another installation.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE account_moves (
    account_id ${ID} PRIMARY KEY,
    state text NOT NULL CHECK (state IN ('leaving', 'closing', 'fenced', 'left', 'arriving', 'arrived')),
    cell text NOT NULL,
    number int NOT NULL,
    copied_through xid8,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `CREATE TABLE audit_handovers (
    account_id ${ID} NOT NULL REFERENCES accounts,
    number bigint NOT NULL,
    handover jsonb NOT NULL,
    PRIMARY KEY (account_id, number)
  )`,
];
