-- Notifications, who wants which, and how they leave the service.

-- The id of a notification begins with the microsecond at which its cause became true, so that
-- (recipient_id, id) is the order of the feed and the fence against a second row for one cause: it
-- makes the outbox's effect happen once.
CREATE FUNCTION notification_id(at timestamptz, cause text, recipient text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 'ntf_' ||
    lpad(to_hex((extract(epoch FROM at AT TIME ZONE 'UTC') * 1000000)::bigint), 13, '0')
    || left(md5(cause || ' ' || recipient), 11)
$$;

-- `changed_in` is null until the row changes, unless the row is made late
-- (docs/decisions.md#new-notifications-are-found-by-their-ids), so a new row is in one index only.
-- `digested_at`: when a digest decided about the notification, so that no later one contains it.
-- `agent_run_id`: the run that a notification is about. `subject`: what a notification that was not
-- made from a message is found by later, an id; null in all others, which the index
-- notifications_subject therefore lacks.
-- The keys of a page are read from the index alone where a vacuum has marked the rows' pages since
-- they were written. By default it does so when a fifth of the table is new; at two percent a page
-- of 20 keys takes Postgres 43 us of processor time in place of 55, and 4 buffers in place of 23.
-- Such a vacuum reads new pages only.
CREATE TABLE notifications (
  id text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  recipient_id text COLLATE "C" NOT NULL,
  category text NOT NULL,
  title text NOT NULL,
  body text,
  status text NOT NULL DEFAULT 'unseen',
  priority text NOT NULL DEFAULT 'normal',
  sender_id text COLLATE "C",
  sender_type text NOT NULL DEFAULT 'system',
  resource_type text,
  resource_id text COLLATE "C",
  message_id text COLLATE "C",
  seen_at timestamptz,
  read_at timestamptz,
  dismissed_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_in xid8,
  agent_run_id text COLLATE "C",
  subject text COLLATE "C",
  digested_at timestamptz,
  PRIMARY KEY (recipient_id, id) INCLUDE (status, updated_at)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02);
CREATE INDEX notifications_changed ON notifications (recipient_id, changed_in)
  WHERE changed_in IS NOT NULL;

-- What a user wants to be notified of, and when. A user without a row has the defaults.
-- `categories` has the channels of the categories that differ from the default; `off_sockets` says
-- whether one of them is kept off sockets, and the index finds the accounts with such users.
CREATE TABLE notification_settings (
  actor_id text COLLATE "C" PRIMARY KEY REFERENCES actors,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  categories jsonb NOT NULL DEFAULT '{}',
  off_sockets boolean NOT NULL
    GENERATED ALWAYS AS (jsonb_path_exists(categories, '$.*.socket ? (@ == false)')) STORED,
  mute_until timestamptz,
  do_not_disturb jsonb,
  digest_after_minutes integer,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX notification_settings_of_account ON notification_settings (account_id);
CREATE INDEX notification_settings_off_sockets ON notification_settings (account_id)
  WHERE off_sockets;
CREATE INDEX notification_settings_digest ON notification_settings (actor_id)
  WHERE digest_after_minutes IS NOT NULL;

-- Browsers of users that receive notifications by web push. The id is made of the user, the
-- endpoint and the keys, so a renewal has another id. `key_id` is the key of ours that the browser
-- subscribed with. `failures` counts tries in a row without a success.
CREATE TABLE push_subscriptions (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  endpoint text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  p256dh text NOT NULL,
  auth text NOT NULL,
  key_id text NOT NULL,
  expires_at timestamptz,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  last_success_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX push_subscriptions_of_actor ON push_subscriptions (actor_id, endpoint);
CREATE INDEX push_subscriptions_of_account ON push_subscriptions (account_id, actor_id);

-- The notifications that a subscription has yet to receive, which no text is copied into. A row
-- goes when its try has ended; `due_at` is the next try, or the end of the lease of the node that
-- is at it.
CREATE TABLE push_deliveries (
  subscription_id text COLLATE "C" NOT NULL
    REFERENCES push_subscriptions ON UPDATE CASCADE ON DELETE CASCADE,
  notification_id text COLLATE "C" NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (subscription_id, notification_id)
);
CREATE INDEX push_deliveries_due ON push_deliveries (due_at);

-- Mails about unseen notifications that wait for their transport, one a user, with ids and no text.
CREATE TABLE digests (
  actor_id text COLLATE "C" PRIMARY KEY REFERENCES actors,
  id text COLLATE "C" NOT NULL,
  notification_ids text[] NOT NULL,
  more integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
