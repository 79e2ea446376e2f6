import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * Notes for search are not kept while `settings` says that search is left out. A note that is
 * dropped has the index filled again from the first conversation on, by nodes of every version, so
 * nothing is missed whatever the row says at the time. What removes words from the index goes on.
 * The guard is on the notes, so a send has it once in a removal from the outbox, and no trigger of
 * `messages` is replaced.
 *
 * When search is back, its row waits for the transactions that may still drop a note.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  `CREATE FUNCTION drop_note_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM settings WHERE name = 'feature_search' AND value = 'left out') THEN
        UPDATE search_progress SET filled_through = '' WHERE filled_through IS DISTINCT FROM '';
        RETURN NULL;
      END IF;
      RETURN NEW;
    END $$`,
  `CREATE TRIGGER search_left_out BEFORE INSERT ON search_changes
    FOR EACH ROW EXECUTE FUNCTION drop_note_for_search()`,

  `CREATE FUNCTION await_dropped_notes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      LOCK TABLE search_changes IN SHARE ROW EXCLUSIVE MODE;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER search_is_back AFTER UPDATE OF value ON settings
    FOR EACH ROW WHEN (OLD.name = 'feature_search' AND OLD.value = 'left out' AND NEW.value <> 'left out')
    EXECUTE FUNCTION await_dropped_notes()`,
];
