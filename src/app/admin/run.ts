import { once } from 'node:events';
import type { Database } from '../../platform/db/connection/database.ts';
import { Disposer } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Config } from '../config.ts';
import type { AdminContext } from './admin-context.ts';
import { parseCommand } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { connect } from './connect.ts';

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
