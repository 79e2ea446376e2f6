import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * search_entries: the words of one message, or of the title and the names of the members of one
 * conversation, whose entry has the id of the conversation. A change of a message deletes its entry
 * in its own transaction.
 *
 * search_notes: what the entries do not have yet. Each has up to 64 ids, with the conversation of
 * each, and stays in its page, uncompressed.
 *
 * search_state: one row. Conversations and messages from before were indexed up to the id
 * `filled_through`; null: all were.
 *
 * search_blocks, search_changes and search_progress serve nodes of the version before, until the
 * next version removes them with the triggers that are about them. All triggers go on writing into
 * search_changes, whose own trigger hands each note on. The notes for blocks end when no node has
 * said for three minutes that it reads them, and blocks that nobody reads keep no note. Nodes from
 * before migration 0035 say so by their work. search_unfilled is what the blocks propose while the
 * entries are filled.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE search_entries (
    id ${ID} PRIMARY KEY,
    conversation_id ${ID} NOT NULL,
    account_id ${ID} NOT NULL,
    at timestamptz NOT NULL,
    terms tsvector NOT NULL
  )`,
  // A query reads the pending list too, so it is kept short.
  `CREATE INDEX search_entries_terms ON search_entries USING gin (terms)
    WITH (fastupdate = on, gin_pending_list_limit = 1024)`,
  `CREATE INDEX search_entries_newest ON search_entries (account_id, at, id) WHERE id <> conversation_id`,

  `CREATE TABLE search_notes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entry_ids text[] NOT NULL,
    conversation_ids text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  ) WITH (toast_tuple_target = 8160)`,
  `ALTER TABLE search_notes ALTER entry_ids SET STORAGE EXTERNAL, ALTER conversation_ids SET STORAGE EXTERNAL`,

  `CREATE TABLE search_state (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    filled_through ${ID},
    next_part_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  `INSERT INTO search_state (filled_through) SELECT CASE WHEN EXISTS (SELECT FROM conversations) THEN '' END`,

  `CREATE VIEW search_unfilled AS
    SELECT m.id, m.conversation_id, m.account_id, coalesce((m.outcome ->> 'at')::timestamptz, m.created_at) AS at,
      b.terms, b.from_at, b.to_at
    FROM search_blocks b JOIN messages m ON m.conversation_id = b.conversation_id
      AND m.sequence BETWEEN b.first_sequence AND b.last_sequence AND m.sequence IS NOT NULL
    WHERE b.first_sequence > 0
    UNION ALL
    SELECT conversation_id, conversation_id, account_id, from_at, terms, from_at, to_at
    FROM search_blocks WHERE first_sequence = 0`,

  // While the entries are filled, words of many blocks are looked for in periods with few blocks
  // that have them and few entries. The answer is where the newest one ends, or null where the words
  // have few blocks.
  `CREATE FUNCTION search_reach(account text, upper timestamptz, words tsquery, entries bigint) RETURNS timestamptz
    STABLE LANGUAGE sql AS $$
      WITH found AS MATERIALIZED (
        SELECT to_at FROM search_blocks WHERE terms @@ words AND account_id = account AND first_sequence > 0
      )
      SELECT greatest(b.to_at, (
        SELECT at FROM search_entries WHERE account_id = account AND id <> conversation_id AND at < upper
        ORDER BY at DESC OFFSET entries LIMIT 1
      )) FROM (SELECT to_at FROM found WHERE to_at < upper ORDER BY to_at DESC OFFSET 500 LIMIT 1) b
    $$`,

  `CREATE FUNCTION note_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
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
    END $$`,
  // Its name sorts before search_left_out, which may drop the row.
  `CREATE TRIGGER search_handed_on BEFORE INSERT ON search_changes
    FOR EACH ROW EXECUTE FUNCTION note_for_search()`,
  `INSERT INTO search_notes (entry_ids, conversation_ids)
    SELECT sent_ids || changed_ids || conversation_ids, sent_of || changed_of || conversation_ids
    FROM search_changes WHERE cardinality(sent_ids || changed_ids || conversation_ids) > 0`,
  // Waits for transactions that may still drop a note, and for the part that is being indexed.
  `CREATE FUNCTION fill_search_entries() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      LOCK TABLE search_changes IN SHARE ROW EXCLUSIVE MODE;
      PERFORM pg_advisory_xact_lock(7230915036);
      UPDATE search_state SET filled_through = '';
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER search_entries_are_back AFTER UPDATE OF value ON settings
    FOR EACH ROW WHEN (OLD.name = 'feature_search_entries' AND OLD.value = 'left out' AND NEW.value <> 'left out')
    EXECUTE FUNCTION fill_search_entries()`,

  `CREATE OR REPLACE FUNCTION note_purged_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
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
    END $$`,

  `CREATE OR REPLACE FUNCTION note_conversation_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
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
    END $$`,

  `INSERT INTO settings (name, value)
    SELECT 'feature_search', CASE WHEN EXISTS (SELECT FROM conversations) THEN 'there' ELSE 'left out' END
    ON CONFLICT (name) DO NOTHING`,
  `CREATE FUNCTION drop_notes_of_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      LOCK TABLE search_changes IN SHARE ROW EXCLUSIVE MODE;
      DELETE FROM search_changes;
      UPDATE search_progress SET filled_through = '';
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER search_blocks_left_out AFTER UPDATE OF value ON settings
    FOR EACH ROW WHEN (OLD.name = 'feature_search' AND OLD.value <> 'left out' AND NEW.value = 'left out')
    EXECUTE FUNCTION drop_notes_of_blocks()`,
  `CREATE FUNCTION report_search_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO settings AS s (name, value) VALUES ('feature_search', 'there')
      ON CONFLICT (name) DO UPDATE SET value = 'there', created_at = clock_timestamp()
        WHERE s.value <> 'there' OR s.created_at < clock_timestamp() - interval '1 min';
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER search_blocks_in_use AFTER UPDATE OF next_round_at ON search_progress
    FOR EACH ROW EXECUTE FUNCTION report_search_blocks()`,
];
