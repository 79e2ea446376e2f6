-- What lists in the order of activity are read from (src/core/inbox/README.md).

-- One row a conversation, worked out from its messages.
CREATE TABLE conversation_activity (
  conversation_id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  activity_at timestamptz NOT NULL,
  last_sequence bigint NOT NULL,
  last_author_id text COLLATE "C",
  other_sequence bigint NOT NULL,
  customer_activity_at timestamptz NOT NULL,
  customer_last_sequence bigint NOT NULL,
  customer_last_author_id text COLLATE "C",
  customer_other_sequence bigint NOT NULL,
  scanned_through bigint NOT NULL,
  is_large boolean NOT NULL,
  written_at timestamptz NOT NULL
);
CREATE INDEX conversation_activity_order
  ON conversation_activity (account_id, activity_at, conversation_id);

-- One row a member, worked out from conversation_activity; `activity_at` is null in conversations
-- with many members, whose readers look there.
CREATE TABLE inbox_rows (
  actor_id text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  activity_at timestamptz,
  is_unread boolean NOT NULL,
  PRIMARY KEY (actor_id, conversation_id)
);
CREATE INDEX inbox_rows_order ON inbox_rows (actor_id, activity_at, conversation_id);
CREATE INDEX inbox_rows_unread ON inbox_rows (actor_id, activity_at, conversation_id)
  WHERE is_unread;

-- The conversations whose rows may be out of date, or whose looks in a list have changed: any
-- published change of a conversation, of its members with their names and roles, and of a message,
-- which may be the last one. Triggers write such a mark in the transaction that makes it true: with
-- the removal of a message's outbox row (note_done), so that a message is in the outbox, or marked,
-- or in the rows at every moment, whichever node sent it and whether or not that node still lives.
-- A mark with an actor concerns its row alone. Marks have no key but their own, so that no
-- transaction waits for another one's mark. Rows live for a second: they are vacuumed before the
-- table grows.
CREATE TABLE inbox_due (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  conversation_id text COLLATE "C" NOT NULL,
  actor_id text COLLATE "C",
  is_rescan boolean NOT NULL DEFAULT false
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE FUNCTION mark_all_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO inbox_due (conversation_id) VALUES (coalesce(NEW.conversation_id, OLD.conversation_id));
    RETURN NULL;
  END
$$;

-- A deletion takes a message out of what is counted: the numbers of before do not help then.
-- Imported messages count neither as unread nor as activity, so the deletion of one has no history
-- read again.
CREATE FUNCTION mark_deleted_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO inbox_due (conversation_id, is_rescan) VALUES (NEW.conversation_id, true);
    RETURN NULL;
  END
$$;
CREATE TRIGGER message_deleted_in_inbox AFTER UPDATE OF deleted_at ON messages
  FOR EACH ROW WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at AND NEW.sequence IS NOT NULL
    AND NEW.imported IS NULL)
  EXECUTE FUNCTION mark_deleted_in_inbox();
CREATE TRIGGER imported_deleted_in_inbox AFTER UPDATE OF deleted_at ON messages
  FOR EACH ROW WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at AND NEW.imported IS NOT NULL)
  EXECUTE FUNCTION mark_all_in_inbox();
CREATE TRIGGER message_changed_in_inbox AFTER UPDATE ON messages
  FOR EACH ROW WHEN (OLD.sequence IS NOT NULL AND OLD.changed_in IS DISTINCT FROM NEW.changed_in
    AND NEW.deleted_at IS NULL)
  EXECUTE FUNCTION mark_all_in_inbox();

CREATE FUNCTION mark_member_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'DELETE' THEN
      DELETE FROM inbox_rows WHERE actor_id = OLD.actor_id AND conversation_id = OLD.conversation_id;
      INSERT INTO inbox_due (conversation_id, actor_id) VALUES (OLD.conversation_id, OLD.actor_id);
    ELSIF NEW.actor_id IS NOT NULL THEN
      INSERT INTO inbox_due (conversation_id, actor_id) VALUES (NEW.conversation_id, NEW.actor_id);
    END IF;
    RETURN NULL;
  END
$$;
CREATE TRIGGER member_in_inbox AFTER INSERT OR UPDATE OR DELETE ON participants
  FOR EACH ROW EXECUTE FUNCTION mark_member_in_inbox();

-- For the lists of the others; the mark of the member itself is written by member_in_inbox.
CREATE TRIGGER members_in_inbox AFTER INSERT OR DELETE ON participants
  FOR EACH ROW EXECUTE FUNCTION mark_all_in_inbox();
CREATE TRIGGER members_changed_in_inbox AFTER UPDATE ON participants
  FOR EACH ROW WHEN (OLD.changed_in IS DISTINCT FROM NEW.changed_in) EXECUTE FUNCTION mark_all_in_inbox();

CREATE FUNCTION mark_conversation_in_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'DELETE' THEN
      DELETE FROM conversation_activity WHERE conversation_id = OLD.id;
      INSERT INTO inbox_due (conversation_id) VALUES (OLD.id);
    ELSE
      INSERT INTO inbox_due (conversation_id, is_rescan)
        VALUES (NEW.id, TG_OP = 'UPDATE' AND OLD.purged_through <> NEW.purged_through);
    END IF;
    RETURN NULL;
  END
$$;
CREATE TRIGGER conversation_in_inbox AFTER INSERT OR DELETE ON conversations
  FOR EACH ROW EXECUTE FUNCTION mark_conversation_in_inbox();
CREATE TRIGGER conversation_changed_in_inbox AFTER UPDATE ON conversations
  FOR EACH ROW WHEN (OLD.purged_through <> NEW.purged_through OR OLD.changed_in IS DISTINCT FROM NEW.changed_in
    OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at)
  EXECUTE FUNCTION mark_conversation_in_inbox();
