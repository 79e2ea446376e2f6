import { type OwnDatabase, requireOwnDatabase } from '@parley/embedded-postgres/own-database.ts';
import { type Database, openDatabase } from '../../platform/db/connection/database.ts';
import { isMigrated } from '../../platform/db/migration/migrated.ts';
import type { Hooks } from '../../platform/hooks.ts';
import type { Disposer } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Config } from '../config.ts';

/**
 * Opens the database of an installation, with the schema of this version. It is that of
 * PARLEY_ADMIN_DATABASE_URL, else of DATABASE_URL, else the embedded Postgres of a Parley that runs
 * on the same data directory, else that Postgres, started for the duration.
 */
export async function connect(
  config: OwnDatabase & Pick<Config, 'databaseUrl' | 'databaseDirectUrl' | 'adminDatabaseUrl'>,
  log: Logger,
  disposer: Disposer,
  {
    connections = 1,
    hooks,
  }: { readonly connections?: number | undefined; readonly hooks?: Hooks | undefined } = {},
): Promise<Database> {
  const { adminDatabaseUrl } = config;
  const url = adminDatabaseUrl ?? config.databaseUrl ?? (await embeddedUrl(config, log, disposer));
  const directUrl = adminDatabaseUrl === null ? (config.databaseDirectUrl ?? undefined) : undefined;
  const database = await openDatabase({ url, directUrl, log, hooks, maxConnections: connections });
  disposer.add('database', database, (it) => it.close());
  // The first account of a new deployment may be made before its first start.
  if (await isMigrated(database)) return database;
  const { INDEXES } = await import('../../core/tables/indexes.ts');
  const { migrate } = await import('../../platform/db/migration/migrate.ts');
  await migrate(database, INDEXES, log);
  return database;
}

async function embeddedUrl(config: OwnDatabase, log: Logger, disposer: Disposer): Promise<string> {
  const { dataDir } = config;
  const { findRunningPostgres } = await import('@parley/embedded-postgres/running-postgres.ts');
  const running = await findRunningPostgres(dataDir);
  if (running !== undefined) return running;
  requireOwnDatabase(config, log);
  const { startEmbeddedPostgres } = await import('@parley/embedded-postgres/embedded-postgres.ts');
  const postgres = await startEmbeddedPostgres({ dataDir, durable: true, log });
  return disposer.add('embedded Postgres', postgres, (it) => it.stop()).url;
}
