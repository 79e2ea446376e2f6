-- What happens behind a commit, and requests that are sent twice.

-- Events that are true and not yet told to everybody.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  payload jsonb NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX outbox_due ON outbox (due_at);

-- `about`: the id of the resource that the stored answer shows, so that the answer goes with the
-- resource. `account_id` narrows the search for stored answers that contain a redacted message.
CREATE TABLE idempotency_keys (
  hash bytea PRIMARY KEY,
  fingerprint bytea NOT NULL,
  claim text NOT NULL,
  claimed_until timestamptz NOT NULL,
  status integer,
  response bytea,
  encrypted boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  about text COLLATE "C",
  account_id text COLLATE "C"
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_about ON idempotency_keys (about) WHERE about IS NOT NULL;

-- What producers have raised, kept for 30 days. `event_id` is the producer's own key. `data` is the
-- text as it was raised: jsonb would print 1e308 as 309 digits, and so 16 KiB as one MB.
CREATE TABLE platform_events (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  type text NOT NULL,
  event_id text,
  data json NOT NULL,
  resource_type text,
  resource_id text,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX platform_events_event_id ON platform_events (account_id, event_id)
  WHERE event_id IS NOT NULL;
CREATE INDEX platform_events_of_account ON platform_events (account_id, created_at, id);
CREATE INDEX platform_events_age ON platform_events (created_at);
