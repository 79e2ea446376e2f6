-- Conversations, their participants, and where cases come from.

-- The addresses of an account at which customers write. One address is one inbox of one account, so
-- that mail has one place to go. A removed inbox keeps its row, which its mails refer to.
CREATE TABLE inboxes (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  name text NOT NULL,
  address text NOT NULL,
  group_id text COLLATE "C" REFERENCES messaging_groups,
  assignee_id text COLLATE "C" REFERENCES actors,
  created_by text COLLATE "C" NOT NULL REFERENCES actors,
  deleted_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX inboxes_address ON inboxes (lower(address)) WHERE deleted_at IS NULL;
CREATE INDEX inboxes_of_account ON inboxes (account_id, created_at, id);

-- `lane_behind`: where the case returns to when its open draft is decided (`workflow_status` is
-- needs_approval meanwhile). `assigned_at`: when the present assignee was set.
-- `direct_key`: the two actors of a direct message, in order: there is one such conversation. A
-- deleted one keeps its key in `deleted_direct_key`, so that the two can begin another meanwhile.
-- `roster_version` grows with every change that decides who is notified of a message and which
-- agents it starts: members that come and go, mutes, triggers of agents. A node compares it with
-- the version that its cache was read at (docs/architecture.md#recipients).
-- `purged_through`: the messages up to this number were purged. Numbers go on behind it, so one is
-- never used again (docs/decisions.md#numbers-after-a-purge). `purged_at` and `purged_in` are the
-- time and the transaction of the last purge, by which readers that were away find it.
-- `files_purged_through`: the files of the messages up to this number were purged, while the
-- messages stayed.
-- `inbox_id`: the case is bridged: mail to the inbox becomes messages of it, and replies leave as
-- mail.
-- `is_blocked`: one of the two users of a direct message has blocked the other. It repeats what
-- blocks says, so that the insert of a message finds it in a row that it reads in any case.
-- conversations_changed is unmistakable for the planner: it answers what changed and nothing else.
CREATE TABLE conversations (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  type text NOT NULL,
  audience text NOT NULL DEFAULT 'internal',
  title text,
  workflow_status text,
  group_id text COLLATE "C" REFERENCES messaging_groups,
  status text NOT NULL DEFAULT 'active',
  legal_hold text NOT NULL DEFAULT 'released',
  assignee_id text COLLATE "C" REFERENCES actors,
  topic_type text,
  topic_id text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  lane_behind text,
  direct_key text,
  roster_version bigint NOT NULL DEFAULT 0,
  purged_through bigint NOT NULL DEFAULT 0,
  purged_at timestamptz,
  purged_in xid8,
  files_purged_through bigint NOT NULL DEFAULT 0,
  deleted_at timestamptz,
  deleted_by text COLLATE "C",
  deleted_direct_key text,
  assigned_at timestamptz,
  inbox_id text COLLATE "C" REFERENCES inboxes,
  is_blocked boolean NOT NULL DEFAULT false,
  external_id text COLLATE "C",
  metadata jsonb,
  widget_id text COLLATE "C"
);
CREATE INDEX conversations_of_account ON conversations (account_id, created_at, id);
CREATE UNIQUE INDEX conversations_direct ON conversations (account_id, direct_key)
  WHERE direct_key IS NOT NULL;
CREATE INDEX conversations_changed ON conversations (id, changed_in) WHERE changed_in IS NOT NULL;
CREATE INDEX conversations_deleted ON conversations (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX conversations_of_inbox ON conversations (inbox_id) WHERE inbox_id IS NOT NULL;
CREATE UNIQUE INDEX conversations_external_id ON conversations (account_id, external_id)
  WHERE external_id IS NOT NULL;

-- `hidden_after`: the number of the newest message when its actor hid the conversation: a later one
-- brings the conversation back.
-- `snoozed_until`: until when the participant has snoozed the conversation; `infinity` where only a
-- message ends it. `snoozed_after`: the number of the newest message at that time, because a later
-- one by another author ends the snooze. `muted_until`: when a mute ends; null where it does not
-- end by itself. None of the three is written when its time has come: readers compare. Read
-- positions are updated in place of a full page only where it has room for the new version. With a
-- tenth left free all of such updates stay in their page, in place of 94 %; write-ahead log of an
-- update 2.0 KB in place of 2.6; the table 4 % larger, its indexes no longer growing by them.
CREATE TABLE participants (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  conversation_id text COLLATE "C" NOT NULL REFERENCES conversations,
  actor_id text COLLATE "C" REFERENCES actors,
  type text NOT NULL,
  role text NOT NULL DEFAULT 'member',
  membership text NOT NULL DEFAULT 'active',
  notifications text NOT NULL DEFAULT 'unmuted',
  agent_trigger_policy text,
  agent_trigger_keywords text[] NOT NULL DEFAULT '{}',
  read_sequence bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT statement_timestamp(),
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  hidden_after bigint,
  snoozed_until timestamptz,
  snoozed_after bigint,
  muted_until timestamptz,
  metadata jsonb,
  UNIQUE (conversation_id, actor_id)
) WITH (fillfactor = 90);
CREATE INDEX participants_changed ON participants (conversation_id, changed_in)
  WHERE changed_in IS NOT NULL;
CREATE INDEX participants_of_actor ON participants (actor_id, conversation_id);

-- Postgres itself counts, so that no statement can forget to. Each of these changes holds the lock
-- of its conversation, so versions grow in the order of the commits. Hiding a conversation changes
-- no recipient and does not count: it is done without that lock.
CREATE FUNCTION raise_roster_version() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE conversations SET roster_version = roster_version + 1
      WHERE id = coalesce(NEW.conversation_id, OLD.conversation_id);
    RETURN NULL;
  END
$$;
CREATE TRIGGER roster_grown AFTER INSERT OR DELETE ON participants
  FOR EACH ROW EXECUTE FUNCTION raise_roster_version();
CREATE TRIGGER roster_changed AFTER UPDATE ON participants
  FOR EACH ROW WHEN (
    NOT ((OLD.membership IN ('active', 'hidden')) = (NEW.membership IN ('active', 'hidden')))
    OR OLD.notifications <> NEW.notifications
    OR OLD.agent_trigger_policy IS DISTINCT FROM NEW.agent_trigger_policy
    OR OLD.agent_trigger_keywords IS DISTINCT FROM NEW.agent_trigger_keywords)
  EXECUTE FUNCTION raise_roster_version();

-- A mute with another end is another roster, as a mute is.
CREATE TRIGGER roster_mute_moved AFTER UPDATE ON participants
  FOR EACH ROW WHEN (
    OLD.notifications = NEW.notifications AND OLD.muted_until IS DISTINCT FROM NEW.muted_until)
  EXECUTE FUNCTION raise_roster_version();
