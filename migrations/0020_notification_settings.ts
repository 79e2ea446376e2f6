import { type Kysely, sql } from 'kysely';

/**
 * notification_settings: what a user wants to be notified of, and when. A user without a row has the defaults
 * (src/notifications/settings.ts). `categories` has the channels of the categories that differ from the default;
 * `off_sockets` says whether one of them is kept off sockets, and the index finds the accounts with such users.
 *
 * conversations.assigned_at: when the present assignee was set; null before this migration and while it never was.
 *
 * notifications.agent_run_id: the run that a notification is about. notifications.subject: what a notification that was
 * not made from a message is found by later, an id; null in all others, which the index therefore lacks
 * (notifications_subject in src/db/indexes.ts).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE notification_settings (
    actor_id ${ID} PRIMARY KEY REFERENCES actors,
    account_id ${ID} NOT NULL REFERENCES accounts,
    categories jsonb NOT NULL DEFAULT '{}',
    off_sockets boolean NOT NULL
      GENERATED ALWAYS AS (jsonb_path_exists(categories, '$.*.socket ? (@ == false)')) STORED,
    mute_until timestamptz,
    do_not_disturb jsonb,
    digest_after_minutes integer,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX notification_settings_of_account ON notification_settings (account_id)',
  'CREATE INDEX notification_settings_off_sockets ON notification_settings (account_id) WHERE off_sockets',
  'ALTER TABLE conversations ADD COLUMN assigned_at timestamptz',
  `ALTER TABLE notifications ADD COLUMN agent_run_id ${ID}, ADD COLUMN subject ${ID}`,
];
