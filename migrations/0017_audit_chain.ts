import { type Kysely, sql } from 'kysely';

/**
 * The audit of an account as a chain of hashes (docs/decisions.md#the-audit-is-one-chain-an-account).
 *
 * audit_events: `position` grows in the order in which rows are inserted; rows of before have none and come first.
 * `number` to `hash` are null until the row is sealed, and are the row's place in the chain from then on. An event of
 * an account has no conversation, and the audit outlives the conversations that it is about. `erasure` states that the
 * details of a sealed row were erased.
 *
 * audit_chains: the signed head of each chain. audit_checkpoints: what stands in the place of links that were purged.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  'CREATE SEQUENCE audit_events_position',
  `ALTER TABLE audit_events
    ALTER COLUMN conversation_id DROP NOT NULL,
    DROP CONSTRAINT audit_events_conversation_id_fkey,
    ADD COLUMN position bigint,
    ADD COLUMN number bigint,
    ADD COLUMN sealed_at timestamptz,
    ADD COLUMN salt bytea,
    ADD COLUMN details_hash bytea,
    ADD COLUMN hash bytea,
    ADD COLUMN erasure jsonb`,
  // Apart from ADD COLUMN, which would write the default into every row that exists.
  `ALTER TABLE audit_events ALTER COLUMN position SET DEFAULT nextval('audit_events_position')`,
  `CREATE TABLE audit_chains (
    account_id ${ID} PRIMARY KEY REFERENCES accounts,
    head jsonb
  )`,
  `CREATE TABLE audit_checkpoints (
    account_id ${ID} NOT NULL REFERENCES accounts,
    last bigint NOT NULL,
    checkpoint jsonb NOT NULL,
    PRIMARY KEY (account_id, last)
  )`,
];
