-- Files that may be attached by their `s3_key`. `attached_at`: since when a purge need not look at
-- the file any more; unset again when a message that has it goes. `withdrawn_at`: since when it
-- cannot be attached any more, because a message that had it was deleted.
CREATE TABLE uploads (
  s3_key text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  actor_id text COLLATE "C" NOT NULL REFERENCES actors,
  filename text NOT NULL,
  content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  attached_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  withdrawn_at timestamptz
);
CREATE INDEX uploads_unattached ON uploads (created_at) WHERE attached_at IS NULL;
CREATE INDEX uploads_withdrawn ON uploads (withdrawn_at)
  WHERE withdrawn_at IS NOT NULL AND attached_at IS NULL;

-- Has a purge look at the file of a row that went.
CREATE FUNCTION detach_upload() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE uploads SET attached_at = NULL WHERE s3_key = OLD.s3_key;
  RETURN NULL;
END $$;

-- The bytes of an account's uploads, kept by triggers so that a limit is checked without a scan.
CREATE TABLE stored_bytes (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  bytes bigint NOT NULL
);

CREATE FUNCTION count_stored_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stored_bytes AS s (account_id, bytes)
    SELECT account_id, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END * sum(size_bytes)
    FROM changed GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;
  RETURN NULL;
END $$;
CREATE TRIGGER uploads_counted AFTER INSERT ON uploads
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();
CREATE TRIGGER uploads_uncounted AFTER DELETE ON uploads
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_stored_bytes();
