-- The timeline, what waits to enter it, and what belongs to messages.

-- The timeline, and what waits to enter it (drafts, scheduled). No foreign keys: a send is checked
-- before it is written, nothing it names is ever deleted, and each key would cost every insert a
-- look-up and a row lock. Every unique key holds conversation_id, so that the table can be
-- partitioned by it. A 'void' holds a number that no message got; it is shown to nobody.
-- `outcome`: {result, reason, at} of a draft or a scheduled message, once it has one. `attempts`:
-- deliveries of a scheduled one that were refused.
-- `notified_at`: when the cause of its notifications became true, for messages that enter the
-- timeline, end without being sent, or end their stream later than they were made; null:
-- `created_at`.
-- `redaction`: {by, reason, at}. `priority`: of the notifications that an alert causes; null is
-- `normal`. They may be made behind the commit, by another node than the one that wrote the alert.
-- `email_status`: what became of the mail of a message, once something has. Null on a sent message
-- of channel `email`: it is queued.
-- `imported`: the import that wrote the message, when, and by which actor; null for what was sent
-- here. `incomplete`: why the text of an agent is not whole; null where it is.
CREATE TABLE messages (
  id text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  sequence bigint CHECK (sequence > 0),
  kind text NOT NULL,
  status text NOT NULL,
  visibility text NOT NULL,
  channel text NOT NULL DEFAULT 'message',
  body text,
  subject text,
  cc text[],
  mentions text[],
  sender_id text COLLATE "C",
  author_id text COLLATE "C",
  reply_to_id text COLLATE "C",
  resource_type text,
  resource_id text COLLATE "C",
  source_thread_message_id text COLLATE "C",
  agent_run_id text COLLATE "C",
  streaming_state text,
  client_message_id text,
  has_attachments boolean NOT NULL DEFAULT false,
  scheduled_at timestamptz,
  edited_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  outcome jsonb,
  attempts integer NOT NULL DEFAULT 0,
  edited_by text,
  notified_at timestamptz,
  redaction jsonb,
  priority text,
  email_status text,
  metadata jsonb,
  imported jsonb,
  incomplete text,
  PRIMARY KEY (id, conversation_id),
  CHECK ((status IN ('sent', 'void')) = (sequence IS NOT NULL)),
  CHECK (length(body) <= 40000 OR kind = 'agent')
);

-- Each of these indexes can answer one kind of question only: over an empty table they cost the
-- same, and a prepared statement keeps the one that it was given then (with plain indexes the
-- look-up by client id read whole conversations: 233 sends a second after 15,000 messages instead
-- of thousands).
CREATE UNIQUE INDEX messages_sequence ON messages (conversation_id, sequence)
  WHERE sequence IS NOT NULL;
CREATE UNIQUE INDEX messages_client_id ON messages (conversation_id, author_id, client_message_id)
  WHERE client_message_id IS NOT NULL;

-- What resume cannot find by number: changes after the sending, and what is outside the timeline. A
-- plain send does not touch it.
CREATE INDEX messages_changed ON messages (conversation_id, changed_in)
  WHERE updated_at > created_at OR sequence IS NULL;

-- All are touched by drafts and scheduled messages alone: a plain send pays for none.
CREATE INDEX messages_scheduled ON messages (scheduled_at) WHERE status = 'scheduled';
CREATE INDEX messages_open_drafts ON messages (conversation_id) WHERE status = 'draft';
CREATE INDEX messages_outside ON messages (conversation_id, status, created_at, id)
  WHERE sequence IS NULL;

-- What a node has not finished: looked for when somebody subscribes, and when a lease has run out.
CREATE INDEX messages_streaming ON messages (conversation_id, id)
  WHERE streaming_state = 'streaming';

-- The moment of a message: when the cause of its notifications became true, with which their ids
-- begin. The planner replaces the call by its body, so that statements find notifications along
-- their primary key as before.
CREATE FUNCTION moment_of(m messages) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT coalesce(m.notified_at, m.created_at) $$;

-- `removed_at`: when the bytes were purged; the row then has no key. Agents read one by its id
-- alone.
CREATE TABLE attachments (
  id text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  position integer NOT NULL,
  kind text NOT NULL,
  s3_key text,
  filename text,
  content_type text,
  size_bytes bigint,
  url text,
  resource_type text,
  resource_id text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  removed_at timestamptz,
  metadata jsonb,
  PRIMARY KEY (message_id, position)
);
CREATE INDEX attachments_files ON attachments (s3_key) WHERE s3_key IS NOT NULL;
CREATE INDEX attachments_by_id ON attachments (id);
CREATE TRIGGER attachments_detach AFTER DELETE ON attachments
  FOR EACH ROW WHEN (OLD.s3_key IS NOT NULL) EXECUTE FUNCTION detach_upload();

-- What an edit replaced while the conversation was held, oldest first.
CREATE TABLE message_revisions (
  message_id text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  revision integer NOT NULL,
  body text,
  subject text,
  cc text[],
  replaced_by text COLLATE "C" NOT NULL,
  replaced_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  mentions text[],
  attachment_ids text[],
  PRIMARY KEY (message_id, revision)
);

-- What changes without its message: a change writes none of the message's own row, which carries
-- the text and five indexes.

-- One row for each actor and emoji of a message. `customer` is that of the actor.
CREATE TABLE reactions (
  message_id text COLLATE "C" NOT NULL,
  emoji text COLLATE "C" NOT NULL,
  actor_id text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  customer boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (message_id, emoji, actor_id)
);
CREATE INDEX reactions_of_actor ON reactions (actor_id, conversation_id);

-- One row for each message that has, or had, reactions. Changes of its reactions lock it, so that
-- their number is exact, and it is what a resume finds.
CREATE TABLE reacted_messages (
  message_id text COLLATE "C" PRIMARY KEY,
  conversation_id text COLLATE "C" NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX reacted_messages_changed ON reacted_messages (conversation_id, changed_in);

-- One row for each message that is, or was, pinned; `pinned_at` is null once it is not.
CREATE TABLE pins (
  message_id text COLLATE "C" PRIMARY KEY,
  conversation_id text COLLATE "C" NOT NULL,
  pinned_by text COLLATE "C",
  pinned_at timestamptz,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX pins_changed ON pins (conversation_id, changed_in);
CREATE INDEX pins_of_conversation ON pins (conversation_id, pinned_at, message_id)
  WHERE pinned_at IS NOT NULL;

-- How far an actor has read the replies to a message, beside its position in the conversation.
CREATE TABLE thread_reads (
  message_id text COLLATE "C" NOT NULL,
  actor_id text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  read_sequence bigint NOT NULL,
  PRIMARY KEY (message_id, actor_id)
);
