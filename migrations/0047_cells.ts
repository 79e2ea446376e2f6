import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * account_moves: accounts that move between this installation and another one, or have left it. A
 * row stays after its account has left, and keeps it from being used here again.
 *
 * refuse_moved: for triggers of such an account, which exist only while it moves. Its arguments are
 * the account and, for tables without `account_id`, the table and the column by which a row has it.
 * Nodes may remove what is left once none of them can still use the account.
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
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `CREATE TABLE audit_handovers (
    account_id ${ID} NOT NULL REFERENCES accounts,
    number bigint NOT NULL,
    handover jsonb NOT NULL,
    PRIMARY KEY (account_id, number)
  )`,
  `CREATE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      changed record;
      is_moved boolean := true;
    BEGIN
      IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
      IF TG_NARGS > 1 THEN
        EXECUTE format('SELECT account_id = $1 FROM %I WHERE id = $2', TG_ARGV[1])
          INTO is_moved USING TG_ARGV[0], to_jsonb(changed)->>TG_ARGV[2];
      END IF;
      IF is_moved IS NOT TRUE OR EXISTS (SELECT FROM accounts WHERE id = TG_ARGV[0]
          AND deleted_at < clock_timestamp() - interval '35 s') THEN
        RETURN changed;
      END IF;
      -- A restored database gives all rows transaction ids of its own at its first start.
      IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - ARRAY['changed_in', 'purged_in']
          = to_jsonb(OLD) - ARRAY['changed_in', 'purged_in'] THEN
        RETURN changed;
      END IF;
      RAISE EXCEPTION 'the account % moves to another cell', TG_ARGV[0] USING ERRCODE = 'PYMVD';
    END $$`,
];
