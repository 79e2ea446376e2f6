-- Where an account has its events sent. `version` is the Service-Version that it was made with,
-- whose form its payloads have. `secret` signs; `previous_secret` signs too until its time.
-- `failing_since` is the first failed try since the last success. Every event committed before
-- `all_through` was delivered. `lost_since`: since when events were not recorded, because too many
-- deliveries had failed: nothing later can be proven. `replay_after`, `replay_through`: the
-- deliveries between these ids are to be sent again; null: none are. Whether a replay is under way
-- is asked twice a second on every node.
CREATE TABLE webhooks (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
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
  created_by text COLLATE "C" NOT NULL REFERENCES actors,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  lost_since timestamptz,
  replay_after text COLLATE "C",
  replay_through text COLLATE "C"
) WITH (fillfactor = 50);
CREATE INDEX webhooks_of_account ON webhooks (account_id, created_at, id);
CREATE INDEX webhooks_replaying ON webhooks (id) WHERE replay_through IS NOT NULL;

-- An event on its way to one webhook. The id begins with the microsecond of the event and is the
-- same when it is made again. The payload is not stored: it is read from the resource for each try,
-- with the help of `change`. `next_try_at` is the end of the lease while a node tries it.
-- `was_delivered`: a replay or a redelivery sends it again, so that it holds up no proof. A
-- delivery refers to its webhook without a foreign key: the check would lock the webhook's row for
-- every event, and a webhook can have too many deliveries to go in one transaction. What a removed
-- webhook leaves is removed in steps.
CREATE TABLE webhook_deliveries (
  webhook_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  event_type text NOT NULL,
  conversation_id text COLLATE "C",
  sequence bigint,
  head bigint,
  resource_id text COLLATE "C",
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
  was_delivered boolean NOT NULL DEFAULT false,
  PRIMARY KEY (webhook_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- What is delivered at the first try, which is nearly everything, is in none of these.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_try_at)
  WHERE status = 'pending';
CREATE INDEX webhook_deliveries_undone ON webhook_deliveries (webhook_id, status, id)
  WHERE status IN ('pending', 'failed');
CREATE INDEX webhook_deliveries_blocking
  ON webhook_deliveries (webhook_id, conversation_id, sequence)
  WHERE event_type = 'message.created' AND status IN ('pending', 'failed') AND NOT was_delivered;

-- Through which number every new message of a conversation that the webhook wants was delivered
-- (docs/decisions.md#completeness-is-proven-when-asked). A row is made with the first such message.
CREATE TABLE webhook_progress (
  webhook_id text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL REFERENCES conversations ON DELETE CASCADE,
  through_sequence bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (webhook_id, conversation_id)
);
CREATE INDEX webhook_progress_of_conversation ON webhook_progress (conversation_id);
