import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * Push over FCM and APNs. The credential of an app is sealed with a key of the installation. A
 * device is the token of one app on one phone; it ends with the session that registered it. A
 * delivery stays after its push (`due_at` is null), so that the notification can be taken away from
 * the phone once it was read elsewhere.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `ALTER TABLE accounts ADD COLUMN push_content text NOT NULL DEFAULT 'none'`,
  `CREATE TABLE push_apps (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  name text NOT NULL,
  platform text NOT NULL,
  identifier text NOT NULL,
  environment text,
  team_id text,
  key_id text,
  credential bytea NOT NULL,
  revision integer NOT NULL DEFAULT 0,
  last_success_at timestamptz,
  failing_since timestamptz,
  last_error text,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
  'CREATE UNIQUE INDEX push_apps_of_account ON push_apps (account_id, id)',
  `CREATE TABLE push_devices (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  app_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C",
  token text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  last_success_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  FOREIGN KEY (account_id, app_id) REFERENCES push_apps (account_id, id) ON DELETE CASCADE
)`,
  // Tokens of FCM are longer than a page of an index allows in the worst case, hence the hash.
  'CREATE UNIQUE INDEX push_devices_by_token ON push_devices (app_id, sha256(token::bytea))',
  'CREATE INDEX push_devices_of_actor ON push_devices (actor_id)',
  'CREATE INDEX push_devices_of_account ON push_devices (account_id, app_id)',
  'CREATE INDEX push_devices_of_session ON push_devices (session_id) WHERE session_id IS NOT NULL',
  `CREATE TABLE device_deliveries (
  subscription_id text COLLATE "C" NOT NULL REFERENCES push_devices ON UPDATE CASCADE ON DELETE CASCADE,
  notification_id text COLLATE "C" NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz,
  shown boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (subscription_id, notification_id)
)`,
  'CREATE INDEX device_deliveries_due ON device_deliveries (due_at) WHERE due_at IS NOT NULL',
  'CREATE INDEX device_deliveries_shown ON device_deliveries (notification_id) WHERE shown',
  'CREATE INDEX device_deliveries_by_age ON device_deliveries (created_at)',
];
