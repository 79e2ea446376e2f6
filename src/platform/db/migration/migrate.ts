import { promises as fs } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { FileMigrationProvider, type MigrationProvider, Migrator } from 'kysely/migration';
import { type Backoff, delayAfter } from '../../backoff.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../connection/database.ts';
import { codeOf } from '../connection/unavailable.ts';
import type { Schema } from '../tables/schema.ts';
import { buildIndexes, type Indexes } from './indexes.ts';
import { MIGRATIONS_DIR } from './migrated.ts';
import { renewRows } from './renewed-rows.ts';
import { readNewer, recordingUsability } from './usable-schema.ts';

/**
 * Brings the database to the newest schema, in steps that nodes may start together:
 * 1. `migrations/NNNN_name.ts`, all in one transaction, under Kysely's advisory lock. If one fails,
 *    the database is unchanged, and the Error names it. If a table is in use, all begin again. The
 *    first migration makes the schema of all that it replaces.
 * 2. Rows of a restored dump are brought into the count of this cluster's transactions
 *    (renewed-rows.ts).
 * 3. Indexes of tables that may be large (indexes.ts), outside of a transaction, repeatable.
 *
 * A database that a newer release has migrated keeps its schema and indexes. It is used if the
 * migrations of that release allow it (usable-schema.ts). Otherwise migrate() rejects with an Error
 * that says what to do, as it does for a database from before the first migration. `provider` is
 * for tests of other states.
 */
export async function migrate(
  database: Database,
  indexes: Indexes,
  log: Logger,
  provider: MigrationProvider = new FileMigrationProvider({ fs, path, migrationFolder: MIGRATIONS_DIR }),
): Promise<void> {
  await database.withoutTimeLimit(async (db) => {
    const newer = await readNewer(db, provider);
    if (newer.length === 0) await migrateToLatest(db, log, provider);
    else
      log.info(
        { migrations: newer },
        'the database has the schema of a newer version, which this one may use',
      );
    for (const renewed of await renewRows(db))
      log.info(renewed, 'rows of a restored database have a new changed_in');
    if (newer.length > 0) return;
    const changed = await buildIndexes(db, indexes);
    if (changed.length > 0) log.info({ indexes: changed.length }, 'built or removed indexes');
    for (const index of changed) log.debug({ index }, 'built or removed an index');
  });
}

async function migrateToLatest(db: Kysely<Schema>, log: Logger, provider: MigrationProvider): Promise<void> {
  const migrator = new Migrator({ db, provider: recordingUsability(provider) });
  for (let tries = 0; ; tries++) {
    const { error, results = [] } = await migrator.migrateToLatest();
    if (error === undefined) {
      const [from, to] = [results.at(0)?.migrationName, results.at(-1)?.migrationName];
      if (to !== undefined) log.info({ migrations: results.length, from, to }, 'migrated the database');
      return;
    }
    const name = results.find(({ status }) => status === 'Error')?.migrationName ?? 'no migration';
    const pauseMs = IN_USE.has(codeOf(error)) ? delayAfter(AGAIN, tries) : null;
    if (pauseMs === null) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`the database cannot be migrated (${name}): ${reason}`, { cause: error });
    }
    log.info({ migration: name }, 'a table that the migration changes is in use: all begin again');
    await delay(pauseMs);
  }
}

/** SQLSTATEs of a migration that waited for a table (usable-schema.ts), or met a deadlock. */
const IN_USE = new Set(['55P03', '40P01']);
/** Retries for about two minutes. */
const AGAIN: Backoff = { delaysMs: Array<number>(120).fill(500), jitter: 1 };
