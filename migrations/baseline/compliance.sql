-- The audit, what is kept and for how long, and accounts that move.

-- Who did what, and when: written in the transaction that did it, never changed but to seal it. The
-- audit of an account is a chain of hashes (docs/decisions.md#the-audit-is-one-chain-an-account).
-- `position` grows in the order in which rows are inserted; rows from before it have none and come
-- first. `number` to `hash` are null until the row is sealed, and are the row's place in the chain
-- from then on. An event of an account has no conversation, and the audit outlives the
-- conversations that it is about. `erasure` states that the details of a sealed row were erased.
CREATE SEQUENCE audit_events_position;
CREATE TABLE audit_events (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  conversation_id text COLLATE "C",
  actor_id text COLLATE "C" REFERENCES actors,
  action text NOT NULL,
  details jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  position bigint DEFAULT nextval('audit_events_position'),
  number bigint,
  sealed_at timestamptz,
  salt bytea,
  details_hash bytea,
  hash bytea,
  erasure jsonb
);
CREATE INDEX audit_events_of_conversation ON audit_events (conversation_id, created_at, id);

-- The signed head of each chain.
CREATE TABLE audit_chains (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  head jsonb
);

-- What stands in the place of links that were purged.
CREATE TABLE audit_checkpoints (
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  last bigint NOT NULL,
  checkpoint jsonb NOT NULL,
  PRIMARY KEY (account_id, last)
);

-- Where the audit of an account went on under the key of another installation.
CREATE TABLE audit_handovers (
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  number bigint NOT NULL,
  handover jsonb NOT NULL,
  PRIMARY KEY (account_id, number)
);

-- Days after which rows of each kind are purged; null: they are kept. `swept_at`: when a sweep last
-- had no more to purge.
CREATE TABLE retention_policies (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  messages_days integer CHECK (messages_days > 0),
  files_days integer CHECK (files_days > 0),
  notifications_days integer CHECK (notifications_days > 0),
  runs_days integer CHECK (runs_days > 0),
  audit_days integer CHECK (audit_days > 0),
  swept_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp()
);

-- Work of an account that takes longer than a request: exports of conversations and persons,
-- erasures of persons. A row is a queue entry of its own. The node that runs it renews
-- `lease_until`; `fence` grows whenever a node takes it, so that a node whose job was taken over
-- changes nothing any more. `subject_id` names what the job is about, which may be gone. `s3_key`
-- is the file of the attempt under way, or of the result.
CREATE TABLE compliance_jobs (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  kind text NOT NULL,
  subject_id text COLLATE "C" NOT NULL,
  requested_by text COLLATE "C" NOT NULL REFERENCES actors,
  options jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'queued',
  done bigint NOT NULL DEFAULT 0,
  total bigint NOT NULL DEFAULT 0,
  result jsonb,
  error text,
  s3_key text COLLATE "C",
  size_bytes bigint,
  attempts integer NOT NULL DEFAULT 0,
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  completed_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX compliance_jobs_of_account ON compliance_jobs (account_id, created_at, id);
CREATE INDEX compliance_jobs_of_subject ON compliance_jobs (subject_id);
CREATE INDEX compliance_jobs_open ON compliance_jobs (created_at)
  WHERE status IN ('queued', 'running');
CREATE INDEX compliance_jobs_files ON compliance_jobs (s3_key) WHERE s3_key IS NOT NULL;
CREATE INDEX compliance_jobs_expiring ON compliance_jobs (expires_at) WHERE expires_at IS NOT NULL;

-- The file of an earlier attempt, or of an export that has ended, is removed with the next round of
-- file removal.
CREATE TRIGGER compliance_jobs_detach AFTER UPDATE OF s3_key OR DELETE ON compliance_jobs
  FOR EACH ROW WHEN (OLD.s3_key IS NOT NULL) EXECUTE FUNCTION detach_upload();

-- Accounts that move between this installation and another one, or have left it. A row stays after
-- its account has left, and keeps it from being used here again.
CREATE TABLE account_moves (
  account_id text COLLATE "C" PRIMARY KEY,
  state text NOT NULL
    CHECK (state IN ('leaving', 'closing', 'fenced', 'left', 'arriving', 'arrived')),
  cell text NOT NULL,
  number integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- For triggers of an account that moves, which exist only while it does. Its arguments are the
-- account and, for tables without `account_id`, the table and the column by which a row has it.
-- Nodes may remove what is left once none of them can still use the account.
CREATE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed record;
  is_moved boolean := true;
BEGIN
  IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
  IF TG_NARGS > 1 THEN
    EXECUTE format('SELECT account_id = $1 FROM %I WHERE id = $2', TG_ARGV[1])
      INTO is_moved USING TG_ARGV[0], to_jsonb(changed)->>TG_ARGV[2];
  END IF;
  IF is_moved IS NOT TRUE OR EXISTS (SELECT FROM accounts WHERE id = TG_ARGV[0]
      AND deleted_at < clock_timestamp() - interval '35 s') THEN
    RETURN changed;
  END IF;
  -- A restored database gives all rows transaction ids of its own at its first start.
  IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - ARRAY['changed_in', 'purged_in']
      = to_jsonb(OLD) - ARRAY['changed_in', 'purged_in'] THEN
    RETURN changed;
  END IF;
  RAISE EXCEPTION 'the account % moves to another cell', TG_ARGV[0] USING ERRCODE = 'PYMVD';
END $$;
