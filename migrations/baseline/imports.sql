-- Archives of other services that an account brings in. A row is a queue entry of its own, as in
-- compliance_jobs. `is_local`: the archive is a file of the operator's command, which runs the
-- import itself. `position` counts the records of the archive that are done, and `counts` what
-- became of them; both are written in one transaction.
CREATE TABLE imports (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  source text NOT NULL,
  options jsonb NOT NULL DEFAULT '{}',
  is_local boolean NOT NULL DEFAULT false,
  status text NOT NULL,
  size_bytes bigint NOT NULL,
  part_bytes bigint,
  sha256 text,
  position bigint NOT NULL DEFAULT 0,
  counts jsonb NOT NULL DEFAULT '{}',
  done bigint NOT NULL DEFAULT 0,
  total bigint NOT NULL DEFAULT 0,
  error text,
  error_message text,
  created_by text COLLATE "C" REFERENCES actors,
  attempts integer NOT NULL DEFAULT 0,
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX imports_of_account ON imports (account_id, created_at, id);
CREATE UNIQUE INDEX imports_open ON imports (account_id)
  WHERE status IN ('awaiting_upload', 'queued', 'running');

-- The uploaded pieces of an archive.
CREATE TABLE import_parts (
  import_id text COLLATE "C" NOT NULL REFERENCES imports ON DELETE CASCADE,
  number integer NOT NULL,
  s3_key text COLLATE "C" NOT NULL,
  size_bytes bigint NOT NULL,
  uploaded_at timestamptz,
  PRIMARY KEY (import_id, number)
);
CREATE INDEX import_parts_files ON import_parts (s3_key);
CREATE TRIGGER import_parts_detach AFTER UPDATE OF s3_key OR DELETE ON import_parts
  FOR EACH ROW EXECUTE FUNCTION detach_upload();

-- Which actor, conversation or file a thing of another service became. `key` is a hash of the
-- account, the service, its server and the thing's id there, so no names are stored. `is_made`: the
-- import made it; otherwise it was there.
CREATE TABLE import_refs (
  key text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  our_id text COLLATE "C" NOT NULL,
  import_id text COLLATE "C" NOT NULL,
  is_made boolean NOT NULL
);
CREATE INDEX import_refs_of_account ON import_refs (account_id);
CREATE INDEX import_refs_ours ON import_refs (our_id);

-- What of an archive was not imported, or not as it was. `record` is the number of the record in
-- the archive, `item` that of the remark on it.
CREATE TABLE import_remarks (
  import_id text COLLATE "C" NOT NULL REFERENCES imports ON DELETE CASCADE,
  record integer NOT NULL,
  item integer NOT NULL,
  type text NOT NULL,
  reason text NOT NULL,
  count integer NOT NULL,
  detail text NOT NULL,
  place text NOT NULL,
  PRIMARY KEY (import_id, record, item)
);
