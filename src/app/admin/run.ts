import { once } from 'node:events';
import type { Config } from '../../platform/config/config.ts';
import { type Database, openDatabase } from '../../platform/db/connection/database.ts';
import { isMigrated } from '../../platform/db/migration/migrated.ts';
import { Disposer } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { AdminContext } from './admin-context.ts';
import { parseCommand } from './command-line.ts';
import { COMMANDS } from './commands.ts';

/**
 * Runs one command (`['account', 'create', '--name', 'N']`) and returns the object to print, or
 * undefined if the command has printed by itself. Uses DATABASE_URL, else the embedded Postgres of
 * a Parley that runs on the same data directory, else starts that Postgres for the duration.
 * Rejects with UsageError, or with an Error of one line; a command that rejects has changed
 * nothing.
 */
export async function runAdmin(
  args: readonly string[],
  config: Config,
  log: Logger,
): Promise<object | undefined> {
  const { command, options } = parseCommand(COMMANDS, args);
  if (command.offline) return command.run(offline(config, log), options);
  const disposer = new Disposer();
  try {
    const database = await connect(config, log, disposer, command.connections);
    return await command.run({ database, config, log, print }, options);
  } finally {
    await disposer.close();
  }
}

function offline(config: Config, log: Logger): AdminContext {
  return {
    config,
    log,
    print,
    get database(): Database {
      throw new Error('an offline command has no database');
    },
  };
}

async function print(line: object): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(line)}\n`)) await once(process.stdout, 'drain');
}

async function connect(
  config: Config,
  log: Logger,
  disposer: Disposer,
  maxConnections = 1,
): Promise<Database> {
  const url = config.databaseUrl ?? (await embeddedUrl(config.dataDir, log, disposer));
  const directUrl = config.databaseDirectUrl ?? undefined;
  const database = await openDatabase({ url, directUrl, log, maxConnections });
  disposer.add('database', database, (it) => it.close());
  // The first account of a new deployment may be made before its first start.
  if (await isMigrated(database)) return database;
  const { migrate } = await import('../../platform/db/migration/migrate.ts');
  await migrate(database, log);
  return database;
}

async function embeddedUrl(dataDir: string, log: Logger, disposer: Disposer): Promise<string> {
  const { findRunningPostgres } = await import('../../platform/db/postgres/running-postgres.ts');
  const running = await findRunningPostgres(dataDir);
  if (running !== undefined) return running;
  const { startEmbeddedPostgres } = await import('../../platform/db/postgres/embedded-postgres.ts');
  const postgres = await startEmbeddedPostgres({ dataDir, durable: true, log });
  return disposer.add('embedded Postgres', postgres, (it) => it.stop()).url;
}
