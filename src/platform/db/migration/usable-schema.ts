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
  /**
   * The migrations before it, in place of which it makes the schema of a new database, and the last
   * commit that has their files.
   */
  readonly replaces?: { readonly names: readonly string[]; readonly commit: string };
}

type Declared = Readonly<Record<string, DeclaredMigration>>;

/** The row of `settings` with the highest `usableFrom` of all migrations that were applied. */
const SETTING = 'schema_usable_from';

/**
 * Milliseconds for which a migration waits for a table. Requests of running nodes wait behind it.
 * After one second (`deadlock_timeout`) Postgres ends one side of a deadlock, which may be the
 * request.
 */
const TABLE_WAIT_MS = 250;

/**
 * Makes each migration record its `usableFrom` in its own transaction, and wait briefly. Replaced
 * migrations stay and do nothing: a new database has their names, so that versions with their files
 * start on it, and databases that have run them go on.
 */
export function recordingUsability(provider: MigrationProvider): MigrationProvider {
  return {
    async getMigrations() {
      const migrations: Declared = await provider.getMigrations();
      const replaced = Object.values(migrations).flatMap(({ replaces }) => replaces?.names ?? []);
      return Object.fromEntries([
        ...replaced.map((name) => [name, { up: () => Promise.resolve() }]),
        ...Object.entries(migrations).map(([name, migration]) => [name, recording(name, migration)]),
      ]);
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
 * Returns the database's migrations of a newer release that a node with only the provider's
 * migrations may lack. Rejects with an Error that says what to do if the node may not use the
 * database, or if it lacks migrations that another migration replaces.
 */
export async function readNewer(db: Kysely<Schema>, provider: MigrationProvider): Promise<string[]> {
  const migrations: Declared = await provider.getMigrations();
  const known = Object.keys(await recordingUsability(provider).getMigrations());
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === 'kysely_migration')) return [];
  const { rows } = await sql<{
    name: string;
  }>`SELECT name FROM kysely_migration ORDER BY name COLLATE "C"`.execute(db);
  const applied = rows.map(({ name }) => name);
  const newer = applied.filter((name) => !known.includes(name));
  if (newer.length === 0) {
    requireReplaced(applied, migrations);
    return [];
  }
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

function requireReplaced(applied: readonly string[], migrations: Declared): void {
  const last = applied.at(-1);
  if (last === undefined) return;
  for (const [name, { replaces }] of Object.entries(migrations)) {
    if (replaces === undefined || applied.includes(name)) continue;
    throw new Error(
      `the last migration of the database is ${last}, and this version of Parley begins at ${name}: run ` +
        `\`npm run -s admin -- migrate\` of commit ${replaces.commit} on it first, which brings it there`,
    );
  }
}
