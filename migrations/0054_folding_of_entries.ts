import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * Entries of the search have the number of the folding of their words. Those that are there, and
 * those that a node of the version before writes, have the first one. Nodes of this version write
 * them again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  'ALTER TABLE search_entries ADD COLUMN folding smallint NOT NULL DEFAULT 1',

  // An update that names the folding gives it as a negative number; any other keeps the old one.
  `CREATE FUNCTION mark_folding() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.folding := CASE WHEN NEW.folding < 0 THEN -NEW.folding ELSE 1 END;
      RETURN NEW;
    END $$`,
  `CREATE TRIGGER search_entries_folding BEFORE UPDATE OF terms ON search_entries
    FOR EACH ROW EXECUTE FUNCTION mark_folding()`,
];
