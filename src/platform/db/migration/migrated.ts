import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Querier } from '../connection/handle.ts';
import { statement } from '../connection/statement.ts';

/** Returns whether the database has exactly this version's migrations. */
export async function isMigrated(db: Querier): Promise<boolean> {
  const [applied, files] = await Promise.all([appliedMigrations(db), readdir(MIGRATIONS_DIR)]);
  const named = files.filter((name) => name.endsWith('.ts')).map((name) => path.parse(name).name);
  // The first file replaced all migrations before it.
  const first = named.sort()[0]!;
  return named.join() === applied.filter((name) => name >= first).join();
}

/** Returns the applied migrations in order; none for a database that Parley never used. */
export async function appliedMigrations(db: Querier): Promise<string[]> {
  const [table] = await db.query(FIND_TABLE);
  if (!table?.exists) return [];
  const rows = await db.query(READ_NAMES);
  return rows.map(({ name }) => name).sort();
}

export const MIGRATIONS_DIR = path.join(import.meta.dirname, '../../../../migrations');

const FIND_TABLE = statement<[], { exists: boolean }>('find-migrations')`
    SELECT to_regclass('kysely_migration') IS NOT NULL AS exists`;
const READ_NAMES = statement<[], { name: string }>('applied-migrations')`SELECT name FROM kysely_migration`;
