import { type Kysely, sql } from 'kysely';

/**
 * search_blocks: the words of up to 16 consecutive messages of a conversation; the row with `first_sequence` 0 has the
 * words of its title and of its members' names. `terms` are lexemes of src/search/lexemes.ts. `missing` are the numbers
 * of the range whose words are not in `terms`: they had no row, or their message has changed since.
 *
 * search_changes: what the blocks do not have yet. The triggers below write it, so that nodes of every version do, and
 * in the transaction of the change. A message that was sent is noted when its row leaves the outbox: every message is in
 * the outbox, noted, or in a block, and a send pays for no index.
 *
 * search_progress: one row. Conversations from before this migration were indexed up to `filled_through`; null: all were.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE search_blocks (
    conversation_id ${ID} NOT NULL,
    first_sequence bigint NOT NULL,
    last_sequence bigint NOT NULL,
    account_id ${ID} NOT NULL,
    messages integer NOT NULL,
    from_at timestamptz NOT NULL,
    to_at timestamptz NOT NULL,
    missing bigint[] NOT NULL DEFAULT '{}',
    terms tsvector NOT NULL,
    PRIMARY KEY (conversation_id, first_sequence)
  )`,
  // A query reads the pending list too, so it is kept short.
  `CREATE INDEX search_blocks_terms ON search_blocks USING gin (terms)
    WITH (fastupdate = on, gin_pending_list_limit = 1024)`,
  `CREATE INDEX search_blocks_newest ON search_blocks (account_id, to_at, conversation_id, first_sequence)
    WHERE first_sequence > 0`,
  `CREATE INDEX search_blocks_missing ON search_blocks (conversation_id) WHERE missing <> '{}'`,

  `CREATE TABLE search_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sent_ids text[] NOT NULL DEFAULT '{}',
    sent_of text[] NOT NULL DEFAULT '{}',
    changed_ids text[] NOT NULL DEFAULT '{}',
    changed_of text[] NOT NULL DEFAULT '{}',
    conversation_ids text[] NOT NULL DEFAULT '{}',
    actor_ids text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,

  `CREATE TABLE search_progress (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    filled_through ${ID},
    next_round_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `INSERT INTO search_progress (filled_through) SELECT CASE WHEN EXISTS (SELECT FROM conversations) THEN '' END`,

  `CREATE FUNCTION note_done_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO search_changes (sent_ids, sent_of, conversation_ids)
      SELECT coalesce(array_agg(n.id) FILTER (WHERE n.id IS NOT NULL), '{}'),
        coalesce(array_agg(n.conversation_id) FILTER (WHERE n.id IS NOT NULL), '{}'),
        coalesce(array_agg(DISTINCT n.conversation_id) FILTER (WHERE n.id IS NULL), '{}')
      FROM (
        SELECT m->>'id' AS id, m->>'conversation_id' AS conversation_id
        FROM done, jsonb_array_elements(done.payload->'messages') AS m
        WHERE done.topic = 'messages.sent'
        UNION ALL
        SELECT NULL, c->>'stream' FROM done, jsonb_array_elements(done.payload->'changes') AS c
        WHERE done.topic = 'changed' AND c->>'event' IN
          ('conversation.updated', 'participant.added', 'participant.updated', 'participant.removed')
      ) AS n
      HAVING count(*) > 0;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER outbox_search AFTER DELETE ON outbox REFERENCING OLD TABLE AS done
    FOR EACH STATEMENT EXECUTE FUNCTION note_done_for_search()`,

  // Words that went leave the index with them: the other messages of the block are found as new ones are, until the
  // block is written again.
  `CREATE FUNCTION note_changed_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE emptied search_blocks;
    BEGIN
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
    END $$`,
  `CREATE TRIGGER messages_search_changed AFTER UPDATE OF body, subject, deleted_at, has_attachments ON messages
    FOR EACH ROW WHEN (OLD.sequence IS NOT NULL AND (OLD.body IS DISTINCT FROM NEW.body
      OR OLD.subject IS DISTINCT FROM NEW.subject OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at
      OR OLD.has_attachments <> NEW.has_attachments))
    EXECUTE FUNCTION note_changed_for_search()`,

  // A purge deletes the oldest messages of a conversation.
  `CREATE FUNCTION note_purged_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
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
    END $$`,
  `CREATE TRIGGER messages_search_purged AFTER DELETE ON messages REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_purged_for_search()`,

  `CREATE FUNCTION note_conversation_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        DELETE FROM search_blocks WHERE conversation_id = OLD.id;
        INSERT INTO search_changes (conversation_ids) VALUES (ARRAY[OLD.id]);
      ELSE
        INSERT INTO search_changes (conversation_ids) VALUES (ARRAY[NEW.id]);
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER conversations_search AFTER INSERT OR DELETE ON conversations
    FOR EACH ROW EXECUTE FUNCTION note_conversation_for_search()`,

  `CREATE FUNCTION note_actor_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO search_changes (actor_ids) VALUES (ARRAY[NEW.id]);
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER actors_search AFTER UPDATE OF name, handle ON actors
    FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name OR OLD.handle IS DISTINCT FROM NEW.handle)
    EXECUTE FUNCTION note_actor_for_search()`,
];
