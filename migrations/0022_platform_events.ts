import { type Kysely, sql } from 'kysely';

/**
 * platform_events: what producers have raised, kept for 30 days. `event_id` is the producer's own key. `data` is the text as it
 * was raised: jsonb would print 1e308 as 309 digits, and so 16 KiB as one MB.
 *
 * messages.priority: of the notifications that an alert causes; null is `normal`. They may be made behind the commit, by
 * another node than the one that wrote the alert.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE platform_events (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    type text NOT NULL,
    event_id text,
    data json NOT NULL,
    resource_type text,
    resource_id text,
    created_by ${ID} NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE UNIQUE INDEX platform_events_event_id ON platform_events (account_id, event_id) WHERE event_id IS NOT NULL',
  'CREATE INDEX platform_events_of_account ON platform_events (account_id, created_at, id)',
  'CREATE INDEX platform_events_age ON platform_events (created_at)',
  'ALTER TABLE messages ADD COLUMN priority text',
];
