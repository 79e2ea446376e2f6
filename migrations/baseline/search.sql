-- The search: an entry for each message, and what is left of the form before it, whose rows had the
-- words of up to 16 messages. Migration 0050 removes that form, and writes notes without it.

-- The words of one message, or of the title and the names of the members of one conversation, whose
-- entry has the id of the conversation. A change of a message deletes its entry in its own
-- transaction. A query reads the pending list of the index too, so it is kept short.
CREATE TABLE search_entries (
  id text COLLATE "C" PRIMARY KEY,
  conversation_id text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  terms tsvector NOT NULL
);
CREATE INDEX search_entries_terms
  ON search_entries USING gin (terms) WITH (fastupdate = on, gin_pending_list_limit = 1024);
CREATE INDEX search_entries_newest ON search_entries (account_id, at, id)
  WHERE id <> conversation_id;

-- What the entries do not have yet. Each has up to 64 ids, with the conversation of each, and stays
-- in its page, uncompressed.
CREATE TABLE search_notes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  entry_ids text[] NOT NULL,
  conversation_ids text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (toast_tuple_target = 8160);
ALTER TABLE search_notes
  ALTER entry_ids SET STORAGE EXTERNAL,
  ALTER conversation_ids SET STORAGE EXTERNAL;

-- One row. Conversations and messages from before were indexed up to the id `filled_through`; null:
-- all were.
CREATE TABLE search_state (
  id boolean DEFAULT true PRIMARY KEY CHECK (id),
  filled_through text COLLATE "C",
  next_part_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO search_state DEFAULT VALUES;

-- The former form: words, notes, progress. The ids of a note are some 60 kB, which live for half a
-- second and were compressed all the same.
CREATE TABLE search_blocks (
  conversation_id text COLLATE "C" NOT NULL,
  first_sequence bigint NOT NULL,
  last_sequence bigint NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  messages integer NOT NULL,
  from_at timestamptz NOT NULL,
  to_at timestamptz NOT NULL,
  missing bigint[] NOT NULL DEFAULT '{}',
  terms tsvector NOT NULL,
  PRIMARY KEY (conversation_id, first_sequence)
);
CREATE INDEX search_blocks_terms
  ON search_blocks USING gin (terms) WITH (fastupdate = on, gin_pending_list_limit = 1024);
CREATE INDEX search_blocks_newest
  ON search_blocks (account_id, to_at, conversation_id, first_sequence) WHERE first_sequence > 0;
CREATE INDEX search_blocks_missing ON search_blocks (conversation_id) WHERE missing <> '{}';

CREATE TABLE search_changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sent_ids text[] NOT NULL DEFAULT '{}',
  sent_of text[] NOT NULL DEFAULT '{}',
  changed_ids text[] NOT NULL DEFAULT '{}',
  changed_of text[] NOT NULL DEFAULT '{}',
  conversation_ids text[] NOT NULL DEFAULT '{}',
  actor_ids text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE search_changes
  ALTER sent_ids SET STORAGE EXTERNAL,
  ALTER sent_of SET STORAGE EXTERNAL;

CREATE TABLE search_progress (
  id boolean DEFAULT true PRIMARY KEY CHECK (id),
  filled_through text COLLATE "C",
  next_round_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO search_progress DEFAULT VALUES;

INSERT INTO settings (name, value) VALUES ('feature_search', 'left out');

-- What the blocks propose while the entries are filled.
CREATE VIEW search_unfilled AS
  SELECT m.id, m.conversation_id, m.account_id,
    coalesce((m.outcome ->> 'at')::timestamptz, m.created_at) AS at, b.terms, b.from_at, b.to_at
  FROM search_blocks b JOIN messages m ON m.conversation_id = b.conversation_id
    AND m.sequence BETWEEN b.first_sequence AND b.last_sequence AND m.sequence IS NOT NULL
  WHERE b.first_sequence > 0
  UNION ALL
  SELECT conversation_id, conversation_id, account_id, from_at, terms, from_at, to_at
  FROM search_blocks WHERE first_sequence = 0;

CREATE FUNCTION search_reach(account text, upper timestamptz, words tsquery, entries bigint) RETURNS timestamptz
STABLE LANGUAGE sql AS $$
  WITH found AS MATERIALIZED (
    SELECT to_at FROM search_blocks WHERE terms @@ words AND account_id = account AND first_sequence > 0
  )
  SELECT greatest(b.to_at, (
    SELECT at FROM search_entries WHERE account_id = account AND id <> conversation_id AND at < upper
    ORDER BY at DESC OFFSET entries LIMIT 1
  )) FROM (SELECT to_at FROM found WHERE to_at < upper ORDER BY to_at DESC OFFSET 500 LIMIT 1) b
$$;

-- What a removal from the outbox leaves for the inbox and for search: one trigger unpacks the
-- messages once for both. A message that was sent is noted when its row leaves the outbox, so that
-- every message is in the outbox, noted, or indexed, and a send pays for no index.
CREATE FUNCTION note_done() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE ids text[]; conversations text[];
BEGIN
  SELECT array_agg(m->>'id'), array_agg(m->>'conversation_id') INTO ids, conversations
  FROM done, jsonb_array_elements(done.payload->'messages') AS m
  WHERE done.topic = 'messages.sent';
  IF ids IS NOT NULL THEN
    INSERT INTO inbox_due (conversation_id) SELECT DISTINCT unnest(conversations);
    INSERT INTO search_changes (sent_ids, sent_of) VALUES (ids, conversations);
  END IF;

  INSERT INTO search_changes (conversation_ids)
  SELECT array_agg(DISTINCT c->>'stream')
  FROM done, jsonb_array_elements(done.payload->'changes') AS c
  WHERE done.topic = 'changed' AND c->>'event' IN
    ('conversation.updated', 'participant.added', 'participant.updated', 'participant.removed')
  HAVING count(*) > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER outbox_done AFTER DELETE ON outbox REFERENCING OLD TABLE AS done
  FOR EACH STATEMENT EXECUTE FUNCTION note_done();

-- Leaves for imported messages what the removal of an outbox row leaves for sent ones.
CREATE FUNCTION note_imported(conversation text, ids text[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO inbox_due (conversation_id) VALUES (conversation);
    INSERT INTO search_changes (sent_ids, sent_of)
      VALUES (ids, array_fill(conversation, ARRAY[cardinality(ids)]));
  END
$$;

-- A change of a message, or the deletion of its conversation, waits for the part of the index that
-- has read the message and has not committed its words, and the index waits for changes: no words
-- that are gone are written behind the change that removed them. There are 256 locks, so that a
-- change of many conversations holds few.
CREATE FUNCTION note_changed_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE emptied search_blocks;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(29, hashtext(NEW.conversation_id) & 255);
  INSERT INTO search_changes (changed_ids, changed_of) VALUES (ARRAY[NEW.id], ARRAY[NEW.conversation_id]);
  UPDATE search_blocks SET terms = '', missing = ARRAY(SELECT generate_series(first_sequence, last_sequence))
  WHERE conversation_id = NEW.conversation_id AND last_sequence >= NEW.sequence AND first_sequence = (
    SELECT first_sequence FROM search_blocks
    WHERE conversation_id = NEW.conversation_id AND first_sequence BETWEEN 1 AND NEW.sequence
    ORDER BY first_sequence DESC LIMIT 1
  )
  RETURNING * INTO emptied;
  IF FOUND THEN
    INSERT INTO search_changes (sent_ids, sent_of)
    SELECT array_agg(id), array_agg(conversation_id) FROM messages
    WHERE conversation_id = emptied.conversation_id
      AND sequence BETWEEN emptied.first_sequence AND emptied.last_sequence
    HAVING count(*) > 0;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER messages_search_changed AFTER UPDATE OF body, subject, deleted_at, has_attachments ON messages
  FOR EACH ROW WHEN (OLD.sequence IS NOT NULL AND (OLD.body IS DISTINCT FROM NEW.body
    OR OLD.subject IS DISTINCT FROM NEW.subject OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at
    OR OLD.has_attachments <> NEW.has_attachments))
  EXECUTE FUNCTION note_changed_for_search();

-- A purge deletes the oldest messages of a conversation.
CREATE FUNCTION note_purged_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(29, key)
  FROM (SELECT DISTINCT hashtext(conversation_id) & 255 AS key FROM gone WHERE sequence IS NOT NULL) keys;
  DELETE FROM search_entries e USING gone g WHERE e.id = g.id;
  WITH purged AS (
    SELECT conversation_id, max(sequence) AS through FROM gone WHERE sequence IS NOT NULL GROUP BY 1
  ), deleted AS (
    DELETE FROM search_blocks b USING purged p
    WHERE b.conversation_id = p.conversation_id AND b.first_sequence > 0 AND b.last_sequence <= p.through
  ), emptied AS (
    UPDATE search_blocks b
    SET terms = '', missing = ARRAY(SELECT generate_series(b.first_sequence, b.last_sequence))
    FROM purged p
    WHERE b.conversation_id = p.conversation_id AND b.first_sequence BETWEEN 1 AND p.through
      AND b.last_sequence > p.through
    RETURNING b.conversation_id, b.last_sequence, p.through
  ), left_over AS (
    SELECT array_agg(m.id) AS ids, array_agg(m.conversation_id) AS of FROM emptied e JOIN messages m
      ON m.conversation_id = e.conversation_id AND m.sequence BETWEEN e.through + 1 AND e.last_sequence
  )
  INSERT INTO search_changes (sent_ids, sent_of, conversation_ids)
  SELECT coalesce(l.ids, '{}'), coalesce(l.of, '{}'), ARRAY(SELECT conversation_id FROM purged)
  FROM left_over l WHERE EXISTS (SELECT FROM purged);
  RETURN NULL;
END $$;
CREATE TRIGGER messages_search_purged AFTER DELETE ON messages REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION note_purged_for_search();

CREATE FUNCTION note_conversation_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM pg_advisory_xact_lock_shared(29, hashtext(OLD.id) & 255);
    DELETE FROM search_entries WHERE id = OLD.id;
    DELETE FROM search_blocks WHERE conversation_id = OLD.id;
    INSERT INTO search_changes (conversation_ids) VALUES (ARRAY[OLD.id]);
  ELSE
    INSERT INTO search_changes (conversation_ids) VALUES (ARRAY[NEW.id]);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER conversations_search AFTER INSERT OR DELETE ON conversations
  FOR EACH ROW EXECUTE FUNCTION note_conversation_for_search();

CREATE FUNCTION note_actor_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_changes (actor_ids) VALUES (ARRAY[NEW.id]);
  RETURN NULL;
END $$;
CREATE TRIGGER actors_search AFTER UPDATE OF name, handle ON actors
  FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name OR OLD.handle IS DISTINCT FROM NEW.handle)
  EXECUTE FUNCTION note_actor_for_search();

-- Hands each note on to search_notes, unless search is left out. The name of its trigger sorts
-- before search_left_out, which may drop the row.
CREATE FUNCTION note_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM search_entries WHERE id = ANY(NEW.changed_ids);
  IF EXISTS (SELECT FROM settings WHERE name = 'feature_search_entries' AND value = 'left out') THEN
    RETURN NEW;
  END IF;
  INSERT INTO search_notes (entry_ids, conversation_ids)
  SELECT array_agg(id), array_agg(conversation_id) FROM (
    SELECT id, conversation_id, (row_number() OVER () - 1) / 64 AS part FROM (
      SELECT * FROM unnest(
        NEW.sent_ids || NEW.changed_ids || NEW.conversation_ids,
        NEW.sent_of || NEW.changed_of || NEW.conversation_ids
      )
      UNION ALL
      SELECT conversation_id, conversation_id FROM participants WHERE actor_id = ANY(NEW.actor_ids)
    ) noted(id, conversation_id)
  ) parted GROUP BY part;
  RETURN NEW;
END $$;
CREATE TRIGGER search_handed_on BEFORE INSERT ON search_changes
  FOR EACH ROW EXECUTE FUNCTION note_for_search();

-- Notes for blocks are not kept while no node has said for three minutes that it reads them. A note
-- that is dropped has the blocks filled again from the first conversation on.
CREATE FUNCTION drop_note_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM settings WHERE name = 'feature_search' AND value = 'left out') THEN
    UPDATE search_progress SET filled_through = '' WHERE filled_through IS DISTINCT FROM '';
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER search_left_out BEFORE INSERT ON search_changes
  FOR EACH ROW EXECUTE FUNCTION drop_note_for_search();

CREATE FUNCTION await_dropped_notes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE search_changes IN SHARE ROW EXCLUSIVE MODE;
  RETURN NULL;
END $$;
CREATE TRIGGER search_is_back AFTER UPDATE OF value ON settings
  FOR EACH ROW WHEN (OLD.name = 'feature_search' AND OLD.value = 'left out' AND NEW.value <> 'left out')
  EXECUTE FUNCTION await_dropped_notes();

CREATE FUNCTION drop_notes_of_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE search_changes IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM search_changes;
  UPDATE search_progress SET filled_through = '';
  RETURN NULL;
END $$;
CREATE TRIGGER search_blocks_left_out AFTER UPDATE OF value ON settings
  FOR EACH ROW WHEN (OLD.name = 'feature_search' AND OLD.value <> 'left out' AND NEW.value = 'left out')
  EXECUTE FUNCTION drop_notes_of_blocks();

CREATE FUNCTION report_search_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO settings AS s (name, value) VALUES ('feature_search', 'there')
  ON CONFLICT (name) DO UPDATE SET value = 'there', created_at = clock_timestamp()
    WHERE s.value <> 'there' OR s.created_at < clock_timestamp() - interval '1 min';
  RETURN NULL;
END $$;
CREATE TRIGGER search_blocks_in_use AFTER UPDATE OF next_round_at ON search_progress
  FOR EACH ROW EXECUTE FUNCTION report_search_blocks();

-- When search is back, the entries are filled from the first id on. Waits for transactions that may
-- still drop a note, and for the part that is being indexed.
CREATE FUNCTION fill_search_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE search_changes IN SHARE ROW EXCLUSIVE MODE;
  PERFORM pg_advisory_xact_lock(7230915036);
  UPDATE search_state SET filled_through = '';
  RETURN NULL;
END $$;
CREATE TRIGGER search_entries_are_back AFTER UPDATE OF value ON settings
  FOR EACH ROW WHEN (OLD.name = 'feature_search_entries' AND OLD.value = 'left out' AND NEW.value <> 'left out')
  EXECUTE FUNCTION fill_search_entries();
