import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * A change of a message, or the deletion of its conversation, waits for the part of the index that
 * has read the message and has not committed its words, and the index waits for changes: no words
 * that are gone are written behind the change that removed them. There are 256 locks, so that a
 * change of many conversations holds few. Functions alone are replaced: no table is locked or
 * rewritten, and nodes of the version before read and write the same rows.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `CREATE OR REPLACE FUNCTION note_changed_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
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
    END $$`,

  `CREATE OR REPLACE FUNCTION note_purged_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(29, key)
      FROM (SELECT DISTINCT hashtext(conversation_id) & 255 AS key FROM gone WHERE sequence IS NOT NULL) keys;
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
        DELETE FROM search_blocks WHERE conversation_id = OLD.id;
        INSERT INTO search_changes (conversation_ids) VALUES (ARRAY[OLD.id]);
      ELSE
        INSERT INTO search_changes (conversation_ids) VALUES (ARRAY[NEW.id]);
      END IF;
      RETURN NULL;
    END $$`,
];
