import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * The former index of the search goes, and triggers note directly in search_notes. Notes that wait
 * in search_changes were handed on when they were written.
 *
 * Nodes from migration 0036 on still write some notes into search_changes, which keeps nothing, and
 * read search_unfilled and search_reach while the entries are filled: both find nothing. A later
 * version may remove the three.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  // No function of before is under way that goes on to search_blocks.
  'LOCK TABLE messages, conversations IN SHARE ROW EXCLUSIVE MODE',

  // The lock makes fill_search_entries wait for transactions that leave out a note.
  `CREATE FUNCTION add_search_notes(ids text[], conversations text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      LOCK TABLE search_notes IN ROW EXCLUSIVE MODE;
      IF EXISTS (SELECT FROM settings WHERE name = 'feature_search_entries' AND value = 'left out') THEN
        RETURN;
      END IF;
      INSERT INTO search_notes (entry_ids, conversation_ids)
      SELECT array_agg(id), array_agg(conversation_id)
      FROM unnest(ids, conversations) WITH ORDINALITY AS noted(id, conversation_id, n)
      GROUP BY (n - 1) / 64;
    END $$`,

  `CREATE OR REPLACE FUNCTION note_done() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE ids text[]; conversations text[];
    BEGIN
      SELECT array_agg(m->>'id'), array_agg(m->>'conversation_id') INTO ids, conversations
      FROM done, jsonb_array_elements(done.payload->'messages') AS m
      WHERE done.topic = 'messages.sent';
      IF ids IS NOT NULL THEN
        INSERT INTO inbox_due (conversation_id) SELECT DISTINCT unnest(conversations);
        PERFORM add_search_notes(ids, conversations);
      END IF;

      SELECT array_agg(DISTINCT c->>'stream') INTO conversations
      FROM done, jsonb_array_elements(done.payload->'changes') AS c
      WHERE done.topic = 'changed' AND c->>'event' IN
        ('conversation.updated', 'participant.added', 'participant.updated', 'participant.removed');
      IF conversations IS NOT NULL THEN
        PERFORM add_search_notes(conversations, conversations);
      END IF;
      RETURN NULL;
    END $$`,

  `CREATE OR REPLACE FUNCTION note_imported(conversation text, ids text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO inbox_due (conversation_id) VALUES (conversation);
      PERFORM add_search_notes(ids, array_fill(conversation, ARRAY[cardinality(ids)]));
    END $$`,

  `CREATE OR REPLACE FUNCTION note_changed_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(29, hashtext(NEW.conversation_id) & 255);
      DELETE FROM search_entries WHERE id = NEW.id;
      PERFORM add_search_notes(ARRAY[NEW.id], ARRAY[NEW.conversation_id]);
      RETURN NULL;
    END $$`,

  `CREATE OR REPLACE FUNCTION note_purged_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(29, key)
      FROM (SELECT DISTINCT hashtext(conversation_id) & 255 AS key FROM gone WHERE sequence IS NOT NULL) keys;
      DELETE FROM search_entries e USING gone g WHERE e.id = g.id;
      RETURN NULL;
    END $$`,

  `CREATE OR REPLACE FUNCTION note_conversation_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        PERFORM pg_advisory_xact_lock_shared(29, hashtext(OLD.id) & 255);
        DELETE FROM search_entries WHERE id = OLD.id;
      ELSE
        PERFORM add_search_notes(ARRAY[NEW.id], ARRAY[NEW.id]);
      END IF;
      RETURN NULL;
    END $$`,

  `CREATE OR REPLACE FUNCTION note_actor_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM add_search_notes(named.ids, named.ids)
      FROM (SELECT array_agg(conversation_id) AS ids FROM participants WHERE actor_id = NEW.id) named;
      RETURN NULL;
    END $$`,

  // The indexer takes its lock before it writes notes, so this does too.
  `CREATE OR REPLACE FUNCTION fill_search_entries() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock(7230915036);
      LOCK TABLE search_notes IN SHARE ROW EXCLUSIVE MODE;
      UPDATE search_state SET filled_through = '';
      RETURN NULL;
    END $$`,

  // A function of before that waited for this migration may still write any of the ids.
  `CREATE OR REPLACE FUNCTION note_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE named text[] := ARRAY(SELECT conversation_id FROM participants WHERE actor_id = ANY(NEW.actor_ids));
    BEGIN
      DELETE FROM search_entries WHERE id = ANY(NEW.changed_ids);
      PERFORM add_search_notes(
        NEW.sent_ids || NEW.changed_ids || NEW.conversation_ids || named,
        NEW.sent_of || NEW.changed_of || NEW.conversation_ids || named
      );
      RETURN NULL;
    END $$`,
  'DROP TRIGGER search_left_out ON search_changes',
  'DROP FUNCTION drop_note_for_search()',
  'DELETE FROM search_changes',

  'DROP TRIGGER search_is_back ON settings',
  'DROP FUNCTION await_dropped_notes()',
  'DROP TRIGGER search_blocks_left_out ON settings',
  'DROP FUNCTION drop_notes_of_blocks()',
  `DELETE FROM settings WHERE name = 'feature_search'`,

  'DROP TABLE search_progress',
  'DROP FUNCTION report_search_blocks()',
  `CREATE OR REPLACE VIEW search_unfilled AS
    SELECT id, conversation_id, account_id, at, terms, at AS from_at, at AS to_at
    FROM search_entries WHERE false`,
  `CREATE OR REPLACE FUNCTION search_reach(account text, upper timestamptz, words tsquery, entries bigint)
    RETURNS timestamptz IMMUTABLE LANGUAGE sql AS $$ SELECT NULL::timestamptz $$`,
  'DROP TABLE search_blocks',
];
