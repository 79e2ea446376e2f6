import { type Kysely, sql } from 'kysely';

export const usableFrom = '0036_search_entries';

/**
 * The words by which `q` of lists finds a row, in the form for comparison. Null: not folded yet,
 * as in all rows at first. Whatever changes the words empties it, also a node of the version
 * before, and any node of this version fills it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const TABLES = {
  actors: ['name', 'handle'],
  agent_definitions: ['name', 'slug', 'description'],
  api_keys: ['name'],
  conversations: ['title'],
  entities: ['name', 'handle'],
  messaging_groups: ['name'],
  roles: ['name'],
};

const STATEMENTS = [
  `CREATE FUNCTION forget_folded() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.folded := NULL;
      RETURN NEW;
    END $$`,
  ...Object.entries(TABLES).flatMap(([table, columns]) => [
    `ALTER TABLE ${table} ADD COLUMN folded text`,
    `CREATE TRIGGER ${table}_folded BEFORE UPDATE OF ${columns.join(', ')} ON ${table}
      FOR EACH ROW WHEN (${columns.map((column) => `OLD.${column} IS DISTINCT FROM NEW.${column}`).join(' OR ')})
      EXECUTE FUNCTION forget_folded()`,
  ]),
  // The names of an account that moves are folded too, and so are its entries of the search.
  `CREATE OR REPLACE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      changed record;
      is_moved boolean := true;
      free text[] := ARRAY['changed_in', 'purged_in', 'folded', 'folding', 'terms'];
    BEGIN
      IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
      IF TG_NARGS > 1 THEN
        EXECUTE format('SELECT account_id = $1 FROM %I WHERE id = $2', TG_ARGV[1])
          INTO is_moved USING TG_ARGV[0], to_jsonb(changed)->>TG_ARGV[2];
      END IF;
      IF is_moved IS NOT TRUE OR EXISTS (SELECT FROM accounts WHERE id = TG_ARGV[0]
          AND deleted_at < clock_timestamp() - interval '35 s') THEN
        RETURN changed;
      END IF;
      -- A restored database gives all rows transaction ids of its own at its first start.
      IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - free = to_jsonb(OLD) - free THEN
        RETURN changed;
      END IF;
      RAISE EXCEPTION 'the account % moves to another cell', TG_ARGV[0] USING ERRCODE = 'PYMVD';
    END $$`,
];
