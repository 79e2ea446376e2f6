import { promises as fs } from 'node:fs';
import path from 'node:path';
import { runMigrations } from 'graphile-worker';
import { FileMigrationProvider, Migrator } from 'kysely/migration';
import type { Logger } from '../log.ts';
import type { Database } from './database.ts';
import { jobLogger } from './queue.ts';

/**
 * Brings the database to the newest of `migrations/NNNN_name.ts`, all in one transaction, under Kysely's
 * advisory lock: nodes that start together wait for the first one. Rejects with an Error that names the
 * migration that failed; the database is then as it was. The job queue's own tables (queue.ts) follow: its
 * library brings those up to date, and minds nodes that start together itself.
 */
export async function migrate(database: Database, log: Logger): Promise<void> {
  const provider = new FileMigrationProvider({ fs, path, migrationFolder: MIGRATIONS_DIR });
  const { error, results = [] } = await database.withoutTimeLimit((db) =>
    new Migrator({ db, provider }).migrateToLatest(),
  );
  if (error !== undefined) {
    const failed = results.find(({ status }) => status === 'Error');
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `the database cannot be migrated (${failed?.migrationName ?? 'no migration'}): ${reason}`,
      {
        cause: error,
      },
    );
  }
  await runMigrations({ pgPool: database.pool, logger: jobLogger(log) });
  for (const { migrationName } of results) log.info({ migration: migrationName }, 'migrated the database');
}

const MIGRATIONS_DIR = path.join(import.meta.dirname, '..', '..', 'migrations');
