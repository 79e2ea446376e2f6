import { promises as fs } from 'node:fs';
import path from 'node:path';
import { runMigrations } from 'graphile-worker';
import { type Kysely, sql } from 'kysely';
import { FileMigrationProvider, type MigrationProvider, Migrator } from 'kysely/migration';
import type { Logger } from '../log.ts';
import type { Database } from './database.ts';
import { buildIndexes } from './indexes.ts';
import { MIGRATIONS_DIR } from './migrated.ts';
import { jobLogger } from './queue.ts';
import { renewRows } from './renewed-rows.ts';
import type { Schema } from './schema.ts';

/**
 * Brings the database to the newest schema, in steps that nodes may start together:
 * 1. `migrations/NNNN_name.ts`, all in one transaction, under Kysely's advisory lock. If one fails, the database is
 *    unchanged, and the Error names it.
 * 2. Rows of a restored dump are brought into the count of this cluster's transactions (renewed-rows.ts).
 * 3. Indexes of tables that may be large (indexes.ts), outside of a transaction, repeatable.
 * 4. The tables of the job queue (queue.ts), by its own library.
 *
 * Rejects with an Error that says what to do if the database is newer than this version of Parley. `provider` is for
 * tests of earlier states.
 */
export async function migrate(
  database: Database,
  log: Logger,
  provider: MigrationProvider = new FileMigrationProvider({ fs, path, migrationFolder: MIGRATIONS_DIR }),
): Promise<void> {
  await database.withoutTimeLimit(async (db) => {
    const migrator = new Migrator({ db, provider });
    await refuseNewer(db, Object.keys(await provider.getMigrations()));
    const { error, results = [] } = await migrator.migrateToLatest();
    if (error !== undefined) {
      const failed = results.find(({ status }) => status === 'Error');
      const reason = error instanceof Error ? error.message : String(error);
      const name = failed?.migrationName ?? 'no migration';
      throw new Error(`the database cannot be migrated (${name}): ${reason}`, { cause: error });
    }
    for (const { migrationName } of results) log.info({ migration: migrationName }, 'migrated the database');
    for (const renewed of await renewRows(db))
      log.info(renewed, 'rows of a restored database have a new changed_in');
    for (const index of await buildIndexes(db)) log.info({ index }, 'built an index');
  });
  await runMigrations({ pgPool: database.pool, logger: jobLogger(log) });
}

/** The usual cause is a deployment that was rolled back. Kysely would call such a database corrupted. */
async function refuseNewer(db: Kysely<Schema>, known: readonly string[]): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === 'kysely_migration')) return;
  const { rows } = await sql<{ name: string }>`SELECT name FROM kysely_migration ORDER BY name`.execute(db);
  const unknown = rows.map(({ name }) => name).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new Error(
    `the database is newer than this version of Parley, which does not know its migration ${unknown.join(', ')}: ` +
      'run the version that migrated it, or restore the backup from before that upgrade',
  );
}
