import { startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import { type OwnDatabase, requireOwnDatabase } from '@parley/embedded-postgres/own-database.ts';
import type { Disposer } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/log.ts';
import type { Config } from './config.ts';

/**
 * Resolves with the URL of the configured Postgres; without one, starts the embedded one. Rejects
 * with one line where that would be an accident.
 */
export async function databaseUrlOf(
  config: OwnDatabase & Pick<Config, 'databaseUrl'>,
  log: Logger,
  disposer: Disposer,
): Promise<string> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl !== null) return databaseUrl;
  requireOwnDatabase(config, log);
  const postgres = await startEmbeddedPostgres({ dataDir, durable: true, log });
  const { url } = disposer.add('postgres', postgres, (it) => it.stop());
  return `${url}?connect_timeout=${EMBEDDED_CONNECT_S}`;
}

/**
 * The embedded Postgres stands on one person's machine, where a busy moment right after the start
 * made the first connection take longer than the second that a request waits elsewhere.
 */
const EMBEDDED_CONNECT_S = 5;
