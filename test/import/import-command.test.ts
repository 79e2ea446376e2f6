/** The operator's command that imports an archive, killed again and again. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createAccount } from '../../src/core/accounts/accounts.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory } from '../start/parley.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { slackContents, zipped } from './samples.ts';

const { url } = await createTestDatabase(t);
const dataDir = freshDirectory(t);
const database = await openDatabase({ url, log: createLog('silent') });
t.teardown(() => database.close());
const { account } = await database.transaction((tx) => createAccount(tx, { name: 'Moved' }));
const KILLS = 3;
const COUNT = 4_000;

function command(archive: string) {
  const main = join(import.meta.dirname, '../../src/app/main.ts');
  const args = [main, 'admin', 'import', 'slack', archive, '--account', account.id];
  const env = { ...process.env, DATABASE_URL: url, PARLEY_DATA_DIR: dataDir };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  return { child, ended: once(child, 'exit'), out: () => out, err: () => err };
}

async function positions(): Promise<number[]> {
  const { rows } = await database.pool.query('SELECT position FROM imports ORDER BY created_at');
  return rows.map(({ position }) => Number(position));
}

t.test('an import that is killed goes on, and writes the same rows', async (t) => {
  const archive = join(dataDir, 'slack.zip');
  writeFileSync(archive, await zipped(slackContents(COUNT)));
  let reached = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const run = command(archive);
    const further = async () => ((await positions())[0] ?? 0) > reached || run.child.exitCode !== null;
    await until(further, { what: `progress before kill ${kill}` });
    run.child.kill('SIGKILL');
    await run.ended;
    reached = (await positions())[0] ?? 0;
    // Its lease need not be waited for.
    await database.pool.query('UPDATE imports SET lease_until = NULL');
  }
  const last = command(archive);
  const [code] = await last.ended;
  t.equal(code, 0, last.err());
  const report = JSON.parse(last.out().trim().split('\n').at(-1)!);
  t.match(report, { object: 'import_report', status: 'completed', adds_up: true });
  const { rows } = await database.pool.query(
    'SELECT count(*) AS all, count(DISTINCT (conversation_id, client_message_id)) AS different FROM messages WHERE imported IS NOT NULL',
  );
  t.strictSame(rows[0], { all: COUNT + 1, different: COUNT + 1 }, 'each message once');
  t.equal((await positions()).length, 1, 'one import');
});

t.test('what is no archive ends with 1 and a sentence', async (t) => {
  const file = join(dataDir, 'noise.zip');
  writeFileSync(file, 'nothing');
  const run = command(file);
  const [code] = await run.ended;
  t.equal(code, 1);
  t.match(run.err(), /parley: the import imp_\w+ is failed: This is not the zip file/);
});
