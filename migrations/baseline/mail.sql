-- One row a bridged case: what its next mail begins with.
CREATE TABLE mail_threads (
  conversation_id text COLLATE "C" PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  subject text,
  cc text[] NOT NULL DEFAULT '{}',
  last_in_id text COLLATE "C",
  last_out_id text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX mail_threads_of_account ON mail_threads (account_id);

-- Every mail that came in or goes out, one row each. An id is made of what the mail is (the message
-- that it carries; the inbox, Message-ID and sender of one that came in), so the same mail twice is
-- one row. `rfc_id` is its Message-ID without brackets, by which References are found.
-- `next_try_at` is the next try, or the end of the lease of the node that is at it; null once the
-- mail is not tried any more. The content columns are null once the content was redacted or purged.
-- Mails that carry no message are removed by their age.
CREATE TABLE mails (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  inbox_id text COLLATE "C",
  direction text NOT NULL,
  purpose text NOT NULL,
  conversation_id text COLLATE "C",
  message_id text COLLATE "C",
  actor_id text COLLATE "C",
  rfc_id text NOT NULL,
  status text NOT NULL,
  reason text,
  automatic boolean NOT NULL DEFAULT false,
  attempts integer NOT NULL DEFAULT 0,
  next_try_at timestamptz,
  sent_at timestamptz,
  from_address text,
  from_name text,
  reply_to text,
  recipients jsonb NOT NULL DEFAULT '[]',
  subject text,
  in_reply_to text,
  thread_ids text[] NOT NULL DEFAULT '{}',
  verdict jsonb,
  body_text text,
  body_html text,
  source_key text COLLATE "C",
  size_bytes bigint,
  trace text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX mails_rfc_id ON mails (account_id, md5(rfc_id));
CREATE INDEX mails_of_conversation ON mails (conversation_id, created_at, id)
  WHERE conversation_id IS NOT NULL;
CREATE UNIQUE INDEX mails_of_message ON mails (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX mails_of_account ON mails (account_id, created_at, id);
CREATE INDEX mails_due ON mails (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX mails_of_source ON mails (source_key) WHERE source_key IS NOT NULL;
CREATE INDEX mails_without_message ON mails (created_at) WHERE message_id IS NULL;
