import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { HOOKS } from '../../src/app/features.ts';
import { openObjectStore } from '../../src/core/attachments/open-store.ts';
import { removeAccounts } from '../../src/features/compliance/account-removal.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory } from '../start/parley.ts';
import { startTestApp, type TestApp } from './app.ts';
import { freePort } from './free-port.ts';
import { startPostgres } from './postgres.ts';
import { StatementProxy } from './statement-proxy.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/** An installation with its own database and files, and its environment in a file. */
export interface TestCell extends TestApp {
  readonly url: string;
  readonly config: Readonly<Record<string, string>>;
  readonly envFile: string;
  /** Runs a command of the operator there. Rejects as `runAdmin` does. */
  admin(...args: string[]): Promise<object>;
}

/** Starts two installations that accounts may move between, with the environment of each. */
export async function startCells(
  t: Teardown,
  env: Readonly<Record<string, string>> = {},
  envOfSecond: Readonly<Record<string, string>> = {},
): Promise<readonly [TestCell, TestCell]> {
  const first = await startCell(t, (await startPostgres(t)).url, env);
  const { url } = await startPostgres(t);
  await runAdmin(['migrate'], readConfig({ DATABASE_URL: url }), createLog('silent'));
  const database = await openDatabase({ url, log: createLog('silent'), hooks: HOOKS });
  for (const { name, value } of await first.database.query(READ_SECRETS)) {
    await database.query(WRITE_SECRET, name, value);
  }
  await database.close();
  return [first, await startCell(t, url, envOfSecond)];
}

/**
 * Lets the source remove the rest of an account now, instead of within two minutes. Its nodes must
 * know that the account has left.
 */
export async function removeLeft({ database, dataDir, url }: TestCell, accountId: string): Promise<void> {
  const { store } = await openObjectStore({
    database,
    dataDir,
    s3: null,
    accountBytes: null,
    baseUrl: () => url,
  });
  const parts = { database, store, log: createLog('silent') };
  // The fence lets writes pass once no node can still use the account.
  await database.transaction(async (tx) => {
    await tx.query(WITHOUT_TRIGGERS);
    await tx.query(AGE_REMOVAL, accountId);
  });
  await until(
    async () => {
      await removeAccounts(parts, new AbortController().signal);
      await database.query(AGE_FILES, accountId);
      return (await database.query(FIND_ACCOUNT, accountId)).length === 0;
    },
    { what: 'the source to remove what is left' },
  );
}

async function startCell(
  t: Teardown,
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TestCell> {
  const dataDir = freshDirectory(t);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const place = { PORT: String(port), PARLEY_PUBLIC_URL: url, PARLEY_DATA_DIR: dataDir };
  const config = { ...env, ...place, DATABASE_URL: databaseUrl };
  return { ...(await startTestApp(t, config)), url, ...operated(config, join(dataDir, 'cell.env')) };
}

/** A cell whose operator reaches Postgres through a proxy; its nodes do not. */
export type ProxiedCell = TestCell & { readonly proxy: StatementProxy };

export async function throughProxy(t: Teardown, cell: TestCell): Promise<ProxiedCell> {
  const proxy = await StatementProxy.start(t, cell.databaseUrl);
  // As in createTestDatabase: a busy machine takes longer than a second.
  const config = { ...cell.config, DATABASE_URL: `${proxy.url}?connect_timeout=60` };
  return { ...cell, proxy, ...operated(config, join(cell.dataDir, 'proxied.env')) };
}

function operated(
  config: TestCell['config'],
  envFile: string,
): Pick<TestCell, 'config' | 'envFile' | 'admin'> {
  const lines = Object.entries(config).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(envFile, lines.join(''));
  const admin: TestCell['admin'] = async (...args) => ({
    ...(await runAdmin(args, readConfig(config), createLog('silent'))),
  });
  return { config, envFile, admin };
}

const READ_SECRETS = statement<[], { name: string; value: string }>('test-read-secrets')`
  SELECT name, value FROM settings WHERE name LIKE '%secret' OR name IN ('vapid_key', 'mail_ids')`;

const WRITE_SECRET = statement<[name: string, value: string]>('test-write-secret')`
  INSERT INTO settings (name, value) VALUES ($1, $2)`;

const WITHOUT_TRIGGERS = statement('test-without-triggers')`SET LOCAL session_replication_role = replica`;

const AGE_REMOVAL = statement<[id: string]>('test-age-removal')`
  UPDATE accounts SET deleted_at = deleted_at - interval '1 hour' WHERE id = $1`;

const AGE_FILES = statement<[id: string]>('test-age-files')`
  UPDATE uploads SET withdrawn_at = withdrawn_at - interval '1 hour' WHERE account_id = $1`;

const FIND_ACCOUNT = statement<[id: string]>('test-find-account')`SELECT FROM accounts WHERE id = $1`;
