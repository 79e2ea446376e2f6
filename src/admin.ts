/** The operator's commands: how a deployment gets its first account and key (design.md section 3). */

import { parseArgs } from 'node:util';
import type { Transaction } from 'kysely';
import { createAccount, findAccount, updateAccount } from './accounts/accounts.ts';
import { createApiKey, revokeApiKey } from './accounts/keys.ts';
import { findRole } from './accounts/roles.ts';
import { createUser, deactivateUser } from './accounts/users.ts';
import type { Config } from './config.ts';
import { type Database, openDatabase } from './db/database.ts';
import { startEmbeddedPostgres } from './db/embedded-postgres.ts';
import { migrate } from './db/migrate.ts';
import { findRunningPostgres } from './db/running-postgres.ts';
import type { Schema } from './db/schema.ts';
import { Disposer } from './lifecycle.ts';
import type { Logger } from './log.ts';
import { PLANS, type Plan, SUBSCRIPTIONS, type Subscription } from './protocol/account.ts';

/** The command line is wrong: nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Carries out one command (`['account', 'create', '--name', 'N']`) in one transaction and returns what it
 * prints. Works on DATABASE_URL, on the embedded Postgres of a Parley that runs on the same data directory,
 * or starts that Postgres for as long as it takes. Rejects with UsageError, or with an Error of one line.
 */
export async function runAdmin(args: readonly string[], config: Config, log: Logger): Promise<object> {
  const { command, options } = parseCommand(args);
  const disposer = new Disposer();
  try {
    const database = await connect(config, log, disposer);
    return await database.transaction((tx) => command.run(tx, options));
  } finally {
    await disposer.close();
  }
}

/** For people, with every command on a line. */
export function adminUsage(): string {
  const lines = Object.entries(COMMANDS).map(([name, { options }]) => {
    const words = Object.entries(options).map(([option, { value, required }]) =>
      required ? `--${option} ${value}` : `[--${option} ${value}]`,
    );
    return `  npm run -s admin -- ${name} ${words.join(' ')}`;
  });
  return `usage:\n${lines.join('\n')}\n`;
}

interface Command {
  readonly options: Readonly<Record<string, Option>>;
  readonly run: (tx: Transaction<Schema>, options: Options) => Promise<object>;
}

interface Option {
  /** As the usage shows it. */
  readonly value: string;
  readonly required: boolean;
  /** What it must look like; said when it does not. */
  readonly check?: { readonly accepts: string; readonly test: (text: string) => boolean };
}

/** Checked: what is required is there. */
type Options = Readonly<Record<string, string>>;

const NAME: Option = { value: 'N', required: true };
const ACCOUNT: Option = { value: 'acc_…', required: true };
const ROLE: Option = { value: 'admin|member|viewer|rol_…', required: true };
const PLAN = oneOf(PLANS);
const SUBSCRIPTION = oneOf(SUBSCRIPTIONS);
const EMAIL: Option = {
  value: 'E',
  required: true,
  check: { accepts: 'an e-mail address', test: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
};
const EXPIRES: Option = {
  value: 'T',
  required: false,
  check: {
    accepts: 'a future time such as 2030-01-31T00:00:00Z',
    test: (text) => /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) && Date.parse(text) > Date.now(),
  },
};

const COMMANDS: Readonly<Record<string, Command>> = {
  'account create': {
    options: { name: NAME, plan: PLAN },
    async run(tx, { name = '', plan }) {
      const { account, roles } = await createAccount(tx, { name, ...(plan && { plan: plan as Plan }) });
      const shown = Object.values(roles).map(({ id, name, type }) => ({ id, name, type }));
      return { object: 'account', ...account, roles: shown };
    },
  },
  'account set': {
    options: { id: ACCOUNT, plan: PLAN, subscription: SUBSCRIPTION },
    async run(tx, { id = '', plan, subscription }) {
      if (!plan && !subscription) throw new UsageError('account set needs --plan or --subscription');
      const account = await updateAccount(tx, id, {
        ...(plan && { plan: plan as Plan }),
        ...(subscription && { subscription: subscription as Subscription }),
      });
      return { object: 'account', ...account };
    },
  },
  'key create': {
    options: { account: ACCOUNT, name: NAME, role: { ...ROLE, required: false }, expires: EXPIRES },
    async run(tx, { account = '', name = '', role = 'admin', expires }) {
      const { id: accountId } = await findAccount(tx, account);
      const { id: roleId } = await findRole(tx, accountId, role);
      const { key, apiKey } = await createApiKey(tx, {
        accountId,
        name,
        roleId,
        ...(expires && { expiresAt: expires }),
      });
      const { hash: _, ...shown } = apiKey;
      return { object: 'api_key', ...shown, role_id: roleId, key };
    },
  },
  'key revoke': {
    options: { id: { value: 'key_…', required: true } },
    async run(tx, { id = '' }) {
      const { hash: _, ...shown } = await revokeApiKey(tx, id);
      return { object: 'api_key', ...shown };
    },
  },
  'user create': {
    options: { account: ACCOUNT, name: NAME, email: EMAIL, role: ROLE },
    async run(tx, { account = '', name = '', email = '', role = '' }) {
      const { id: accountId } = await findAccount(tx, account);
      const { id: roleId } = await findRole(tx, accountId, role);
      const { user } = await createUser(tx, { accountId, name, email, roleId });
      return { object: 'user', ...user, name, role_id: roleId };
    },
  },
  'user deactivate': {
    options: { id: { value: 'act_…', required: true } },
    async run(tx, { id = '' }) {
      const { role_id, deactivated, ...user } = await deactivateUser(tx, id);
      return { object: 'user', ...user, role_id, deactivated };
    },
  },
};

function oneOf(values: readonly string[]): Option {
  return {
    value: values.join('|'),
    required: false,
    check: { accepts: `one of ${values.join(', ')}`, test: (text) => values.includes(text) },
  };
}

function parseCommand(args: readonly string[]): { command: Command; options: Options } {
  const name = args.slice(0, 2).join(' ');
  const command = COMMANDS[name];
  if (command === undefined) {
    throw new UsageError(
      `${name === '' ? 'no command' : `no command "${name}"`}; there are ${Object.keys(COMMANDS).join(', ')}`,
    );
  }
  const options = parseOptions(args.slice(2), command);
  for (const [option, { required, value, check }] of Object.entries(command.options)) {
    const text = options[option];
    if (text === undefined) {
      if (required) throw new UsageError(`${name} needs --${option} ${value}`);
    } else if (text.trim() === '' || check?.test(text) === false) {
      throw new UsageError(`--${option} must be ${check?.accepts ?? 'some text'}`);
    }
  }
  return { command, options };
}

function parseOptions(args: readonly string[], command: Command): Options {
  const options = Object.fromEntries(
    Object.keys(command.options).map((name) => [name, { type: 'string' as const }]),
  );
  try {
    return parseArgs({ args: [...args], options, strict: true }).values as Options;
  } catch (error) {
    throw new UsageError((error as Error).message.split('\n')[0]);
  }
}

async function connect(config: Config, log: Logger, disposer: Disposer): Promise<Database> {
  const url = config.databaseUrl ?? (await embeddedUrl(config.dataDir, log, disposer));
  const database = disposer.add('database', await openDatabase({ url, log, maxConnections: 1 }), (it) =>
    it.close(),
  );
  // A new deployment may make its first account before its first start.
  await migrate(database, log);
  return database;
}

async function embeddedUrl(dataDir: string, log: Logger, disposer: Disposer): Promise<string> {
  const running = await findRunningPostgres(dataDir);
  if (running !== undefined) return running;
  const postgres = await startEmbeddedPostgres({ dataDir, durable: true, log });
  return disposer.add('embedded Postgres', postgres, (it) => it.stop()).url;
}
