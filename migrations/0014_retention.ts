import { type Kysely, sql } from 'kysely';

/**
 * What is kept and for how long.
 *
 * `conversations.purged_through`: the messages up to this number were purged. Numbers go on behind it, so one is never
 * used again (docs/decisions.md#numbers-after-a-purge). `purged_at` and `purged_in` are the time and the transaction of
 * the last purge, by which readers that were away find it. `files_purged_through`: the files of the messages up to this
 * number were purged, while the messages stayed.
 *
 * `attachments.removed_at`: when the bytes were purged; the row then has no key. `idempotency_keys.about`: the id of the
 * resource that the stored answer shows, so that the answer goes with the resource.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `ALTER TABLE conversations
    ADD COLUMN purged_through bigint NOT NULL DEFAULT 0,
    ADD COLUMN purged_at timestamptz,
    ADD COLUMN purged_in xid8,
    ADD COLUMN files_purged_through bigint NOT NULL DEFAULT 0`,

  'ALTER TABLE attachments ADD COLUMN removed_at timestamptz',

  `ALTER TABLE idempotency_keys ADD COLUMN about ${ID}`,
  'CREATE INDEX idempotency_keys_about ON idempotency_keys (about) WHERE about IS NOT NULL',

  // Days after which rows of each kind are purged; null: they are kept. \`swept_at\`: when a sweep last had no more to purge.
  `CREATE TABLE retention_policies (
    account_id ${ID} PRIMARY KEY REFERENCES accounts,
    messages_days integer CHECK (messages_days > 0),
    files_days integer CHECK (files_days > 0),
    notifications_days integer CHECK (notifications_days > 0),
    runs_days integer CHECK (runs_days > 0),
    audit_days integer CHECK (audit_days > 0),
    swept_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT statement_timestamp()
  )`,

  // The bytes of an account's uploads, kept by triggers so that a limit is checked without a scan.
  `CREATE TABLE stored_bytes (
    account_id ${ID} PRIMARY KEY REFERENCES accounts,
    bytes bigint NOT NULL
  )`,
  'LOCK TABLE uploads IN SHARE ROW EXCLUSIVE MODE',
  'INSERT INTO stored_bytes SELECT account_id, sum(size_bytes) FROM uploads GROUP BY account_id',
  `CREATE FUNCTION count_stored_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO stored_bytes AS s (account_id, bytes)
        SELECT account_id, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END * sum(size_bytes)
        FROM changed GROUP BY account_id ORDER BY account_id
        ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER uploads_counted AFTER INSERT ON uploads
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes()`,
  `CREATE TRIGGER uploads_uncounted AFTER DELETE ON uploads
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes()`,
];
