import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory } from '../start/parley.ts';
import { startTestApp, type TestApp } from './app.ts';
import { createTestDatabase } from './postgres.ts';
import type { Teardown } from './teardown.ts';

/** An installation with a database and files of its own, and its environment in a file. */
export interface TestCell extends TestApp {
  readonly url: string;
  readonly envFile: string;
  /** Runs a command of the operator there; rejects as `runAdmin` does. */
  admin(...args: string[]): Promise<object>;
}

/** Starts two installations that accounts may move between; `env` is that of the first one. */
export async function startCells(
  t: Teardown,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly [TestCell, TestCell]> {
  const first = await startCell(t, 'http://a.cells.test', env);
  const secrets = await first.database.query(READ_SECRETS);
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log: createLog('silent') });
  for (const { name, value } of secrets) await database.query(WRITE_SECRET, name, value);
  await database.close();
  return [first, await startCell(t, 'http://b.cells.test', { DATABASE_URL: url })];
}

async function startCell(t: Teardown, url: string, env: Readonly<Record<string, string>>): Promise<TestCell> {
  const dataDir = freshDirectory(t);
  const settings = { ...env, PARLEY_PUBLIC_URL: url, PARLEY_DATA_DIR: dataDir };
  const app = await startTestApp(t, settings);
  const config = { ...settings, DATABASE_URL: app.databaseUrl };
  const envFile = join(dataDir, 'cell.env');
  writeFileSync(
    envFile,
    Object.entries(config)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  return {
    ...app,
    url,
    envFile,
    admin: async (...args) => ({ ...(await runAdmin(args, readConfig(config), createLog('silent'))) }),
  };
}

const READ_SECRETS = statement<[], { name: string; value: string }>('test-read-secrets')`
  SELECT name, value FROM settings WHERE name LIKE '%secret' OR name IN ('vapid_key', 'mail_ids')`;

const WRITE_SECRET = statement<[name: string, value: string]>('test-write-secret')`
  INSERT INTO settings (name, value) VALUES ($1, $2)`;
