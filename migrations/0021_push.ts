import { type Kysely, sql } from 'kysely';

/**
 * push_subscriptions: browsers of users that receive notifications by web push. The id is made of the user, the endpoint
 * and the keys, so a renewal has another id. `key_id` is the key of ours that the browser subscribed with. `failures`
 * counts tries in a row without a success.
 *
 * push_deliveries: the notifications that a subscription has yet to receive, which no text is copied into. A row goes
 * when its try has ended; `due_at` is the next try, or the end of the lease of the node that is at it.
 *
 * notifications.digested_at: when a digest decided about the notification, so that no later one contains it.
 *
 * digests: mails about unseen notifications that wait for their transport, one a user, with ids and no text.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE push_subscriptions (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    actor_id ${ID} NOT NULL REFERENCES actors,
    endpoint ${ID} NOT NULL,
    origin ${ID} NOT NULL,
    p256dh text NOT NULL,
    auth text NOT NULL,
    key_id text NOT NULL,
    expires_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    last_success_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE UNIQUE INDEX push_subscriptions_of_actor ON push_subscriptions (actor_id, endpoint)',
  'CREATE INDEX push_subscriptions_of_account ON push_subscriptions (account_id, actor_id)',
  `CREATE TABLE push_deliveries (
    subscription_id ${ID} NOT NULL REFERENCES push_subscriptions ON UPDATE CASCADE ON DELETE CASCADE,
    notification_id ${ID} NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (subscription_id, notification_id)
  )`,
  'CREATE INDEX push_deliveries_due ON push_deliveries (due_at)',

  'ALTER TABLE notifications ADD COLUMN digested_at timestamptz',
  `CREATE TABLE digests (
    actor_id ${ID} PRIMARY KEY REFERENCES actors,
    id ${ID} NOT NULL,
    notification_ids text[] NOT NULL,
    more integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX notification_settings_digest ON notification_settings (actor_id) WHERE digest_after_minutes IS NOT NULL',
];
