import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresLog } from './cluster.ts';

/** The settings that decide whether a process has a database of its own. */
export interface OwnDatabase {
  /** An absolute path. */
  readonly dataDir: string;
  /** Whether it may make one; null where no setting says so. */
  readonly embeddedPostgres: boolean | null;
  /** The settings that say production, as an operator writes them. */
  readonly productionSigns: readonly string[];
}

/**
 * Throws unless a database of this machine's own is what the settings want. A node in production
 * that lacked only DATABASE_URL made one, with a demo account, and a balancer sent it half of the
 * traffic. One that exists is used on, with a warning.
 */
export function requireOwnDatabase(
  { dataDir, embeddedPostgres, productionSigns }: OwnDatabase,
  log: Pick<PostgresLog, 'warn'>,
): void {
  if (embeddedPostgres === true) return;
  if (embeddedPostgres === null && productionSigns.length === 0) return;
  const ways = 'set DATABASE_URL, or PARLEY_EMBEDDED_POSTGRES=on for a database of its own';
  if (embeddedPostgres === false) {
    throw new Error(`there is no DATABASE_URL, and PARLEY_EMBEDDED_POSTGRES is off: ${ways}`);
  }
  const reason = `there is no DATABASE_URL, and ${productionSigns.join(', ')} ${productionSigns.length === 1 ? 'says' : 'say'} production`;
  if (!existsSync(join(dataDir, 'postgres'))) throw new Error(`${reason}: ${ways} in ${dataDir}`);
  log.warn({ data_dir: dataDir }, `${reason}; going on with the database in PARLEY_DATA_DIR: ${ways}`);
}
