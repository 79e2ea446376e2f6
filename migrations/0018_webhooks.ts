import { type Kysely, sql } from 'kysely';

/**
 * webhooks: where an account has its events sent. `version` is the Service-Version that it was made with, whose form its
 * payloads have. `secret` signs; `previous_secret` signs too until its time. `failing_since` is the first failed try
 * since the last success. Every event committed before `all_through` was delivered.
 *
 * webhook_deliveries: an event on its way to one webhook. The id begins with the microsecond of the event and is the same
 * when it is made again. The payload is not stored: it is read from the resource for each try, with the help of
 * `change`. `next_try_at` is the end of the lease while a node tries it.
 *
 * A delivery refers to its webhook without a foreign key: the check would lock the webhook's row for every event, and a
 * webhook can have too many deliveries to go in one transaction. What a removed webhook leaves is removed in steps
 * (src/webhooks/removal.ts).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE webhooks (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    url text NOT NULL,
    event_types text[] NOT NULL,
    include_direct boolean NOT NULL DEFAULT false,
    version text NOT NULL,
    status text NOT NULL DEFAULT 'enabled',
    disabled_at timestamptz,
    disabled_reason text,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_secret_until timestamptz,
    failing_since timestamptz,
    last_success_at timestamptz,
    all_through timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by ${ID} NOT NULL REFERENCES actors,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  ) WITH (fillfactor = 50)`,
  'CREATE INDEX webhooks_of_account ON webhooks (account_id, created_at, id)',

  `CREATE TABLE webhook_deliveries (
    webhook_id ${ID} NOT NULL,
    id ${ID} NOT NULL,
    event_id ${ID} NOT NULL,
    event_type text NOT NULL,
    conversation_id ${ID},
    sequence bigint,
    head bigint,
    resource_id ${ID},
    change jsonb,
    occurred_at timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    attempts integer NOT NULL DEFAULT 0,
    next_try_at timestamptz,
    last_status_code integer,
    last_error text,
    last_ms integer,
    trace text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (webhook_id, id)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05)`,
  // What is delivered at the first try, which is nearly everything, is in neither of these.
  `CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_try_at) WHERE status = 'pending'`,
  `CREATE INDEX webhook_deliveries_undone ON webhook_deliveries (webhook_id, status, id)
    WHERE status IN ('pending', 'failed')`,
];
