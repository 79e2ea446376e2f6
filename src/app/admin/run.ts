import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import type { CommandContext } from '../../core/features/command.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Hooks } from '../../platform/hooks.ts';
import { Disposer } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import { type Config, readConfig } from '../config.ts';
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
  const disposer = new Disposer();
  const { connections, usesFeatures } = command;
  const hooks = usesFeatures && (await import('../features.ts')).HOOKS;
  try {
    const database = command.offline
      ? undefined
      : await connect(config, log, disposer, { connections, hooks });
    return await command.run(contextOf({ config, log, database, hooks, disposer }), options);
  } finally {
    await disposer.close();
  }
}

interface ContextParts {
  readonly config: Config;
  readonly log: Logger;
  /** Undefined for an offline command. */
  readonly database: Database | undefined;
  readonly hooks: Hooks | undefined;
  readonly disposer: Disposer;
}

/** Returns the context of a command, whose parts load their modules when opened. */
function contextOf({ config, log, database, hooks, disposer }: ContextParts): CommandContext {
  const context: CommandContext = {
    config,
    log,
    print,
    get database(): Database {
      if (database === undefined) throw new Error('an offline command has no database');
      return database;
    },
    async openTokens() {
      const { Tokens } = await import('../../api/access/tokens.ts');
      return Tokens.open({ database: context.database, secret: config.tokenSecret });
    },
    async openStore() {
      const { openObjectStore } = await import('../../core/attachments/open-store.ts');
      const { s3, dataDir, storedBytesPerAccount: accountBytes, publicUrl } = config;
      const baseUrl = () => publicUrl ?? '';
      const opened = await openObjectStore({
        database: context.database,
        s3,
        dataDir,
        accountBytes,
        baseUrl,
      });
      return disposer.add('object store', opened.store, (it) => it.close());
    },
    async openEngine(metrics) {
      const { FRAME_CODEC } = await import('../../core/frames/frame-codec.ts');
      const { RedisList } = await import('../../platform/db/notices/redis-list.ts');
      const { openEngine } = await import('../../platform/engine/open-engine.ts');
      const { readRedisUrl } = await import('../../platform/engine/redis/redis-address.ts');
      const addresses = config.redisUrl === null ? [] : readRedisUrl(config.redisUrl)!;
      const known = addresses.map(({ name }) => name);
      const hasList = known.length > 0 && addresses[0]?.cluster === undefined;
      const used = hasList ? (await RedisList.open({ database: context.database, known, log })).names : [];
      const { engine } = await openEngine({ codec: FRAME_CODEC, addresses, used, log, metrics });
      return disposer.add('engine', engine, (it) => it.close());
    },
    async openSigningKey() {
      const { SigningKey } = await import('../../core/audit/signing-key.ts');
      return SigningKey.open({ key: config.auditKey, oldKeys: config.auditOldKeys, dataDir: config.dataDir });
    },
    async openGuard() {
      const { AddressGuard } = await import('../../platform/outbound/address-guard.ts');
      return new AddressGuard({ allow: config.fetchAllow });
    },
    async openOther(file) {
      const other = readConfig(parseEnv(await readFile(file, 'utf8')));
      const theirs = await connect(other, log, disposer, { hooks });
      return contextOf({ config: other, log, database: theirs, hooks, disposer });
    },
  };
  return context;
}

async function print(line: object): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(line)}\n`)) await once(process.stdout, 'drain');
}
