import { type Kysely, sql } from 'kysely';
import type { Migration, MigrationProvider } from 'kysely/migration';
import type { Schema } from '../tables/schema.ts';

/** A file of `migrations/` (docs/how-to.md#a-migration). */
interface DeclaredMigration extends Migration {
  /**
   * The migration that a node must know to use this one's schema: for an additive one the last of
   * the previous release. Default: this one itself, for schemas that older nodes cannot run on.
   */
  readonly usableFrom?: string;
}

/** The row of `settings` with the highest `usableFrom` of all migrations that were applied. */
const SETTING = 'schema_usable_from';

/**
 * Milliseconds for which a migration waits for a table. Requests of the nodes that run wait behind
 * it. After one second (`deadlock_timeout`) Postgres ends one of those that wait for each other,
 * which may be the request.
 */
const TABLE_WAIT_MS = 250;

/** Makes each migration record its `usableFrom` in its own transaction, and wait briefly. */
export function recordingUsability(provider: MigrationProvider): MigrationProvider {
  return {
    async getMigrations() {
      const migrations: Readonly<Record<string, DeclaredMigration>> = await provider.getMigrations();
      return Object.fromEntries(
        Object.entries(migrations).map(([name, migration]) => [name, recording(name, migration)]),
      );
    },
  };
}

function recording(name: string, { up, usableFrom = name }: DeclaredMigration): Migration {
  return {
    async up(db) {
      await sql.raw(`SET LOCAL lock_timeout = ${TABLE_WAIT_MS}`).execute(db);
      await up(db);
      await sql`
        INSERT INTO settings AS s (name, value) VALUES (${SETTING}, ${usableFrom})
        ON CONFLICT (name) DO UPDATE SET value = greatest(s.value COLLATE "C", excluded.value)`.execute(db);
    },
  };
}

/**
 * Returns the database's migrations of a newer release that a node with only `known` may do
 * without. Rejects with an Error that says what to do if the node may not use the database.
 */
export async function readNewer(db: Kysely<Schema>, known: readonly string[]): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === 'kysely_migration')) return [];
  const { rows } = await sql<{
    name: string;
  }>`SELECT name FROM kysely_migration ORDER BY name COLLATE "C"`.execute(db);
  const applied = rows.map(({ name }) => name);
  const newer = applied.filter((name) => !known.includes(name));
  if (newer.length === 0) return [];
  const setting = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', SETTING)
    .executeTakeFirst();
  const isPrefix = known.toSorted().every((name, index) => name === applied[index]);
  if (isPrefix && setting !== undefined && known.includes(setting.value)) return newer;
  throw new Error(
    `the database is newer than this version of Parley, which does not know its migration ${newer.join(', ')} and ` +
      'cannot run on it: run the version that migrated it, or restore the backup from before that upgrade',
  );
}
