import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Queries } from './statement.ts';

/**
 * Whether the database has exactly the migrations of this version. migrate() finds that out too, but it loads the job
 * queue's library for it, which costs a short command more time than everything else.
 */
export async function isMigrated(database: Queries): Promise<boolean> {
  const [applied, files] = await Promise.all([appliedMigrations(database), readdir(MIGRATIONS_DIR)]);
  const known = files.filter((name) => name.endsWith('.ts')).map((name) => path.parse(name).name);
  return known.sort().join() === applied.join();
}

/** In their order; none of a database that Parley has never used. */
export async function appliedMigrations(database: Queries): Promise<string[]> {
  const [table] = await database.query<{ exists: boolean }>(FIND_TABLE);
  if (!table?.exists) return [];
  const rows = await database.query<{ name: string }>(READ_NAMES);
  return rows.map(({ name }) => name).sort();
}

export const MIGRATIONS_DIR = path.join(import.meta.dirname, '..', '..', 'migrations');

const FIND_TABLE = {
  name: 'find-migrations',
  text: `SELECT to_regclass('kysely_migration') IS NOT NULL AS exists`,
};
const READ_NAMES = { name: 'applied-migrations', text: 'SELECT name FROM kysely_migration' };
