/** The operator's command that imports an archive. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory, runParley } from '../start/parley.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { slackContents, zipped } from './samples.ts';

const { url } = await createTestDatabase(t);
const dataDir = freshDirectory(t);
const database = await openDatabase({ url, log: createLog('silent') });
t.teardown(() => database.close());
const { account } = await database.transaction((tx) => createAccount(tx, { name: 'Moved' }));

function command(archive: string) {
  const args = ['admin', 'import', 'slack', archive, '--account', account.id];
  return runParley(args, { DATABASE_URL: url, PARLEY_DATA_DIR: dataDir });
}

t.test('it prints its report, and the same archive brings nothing twice', async (t) => {
  const archive = join(dataDir, 'slack.zip');
  writeFileSync(archive, await zipped(slackContents(20)));
  const reports = [];
  for (const _ of [1, 2]) {
    const { code, stdout, stderr } = await command(archive);
    t.equal(code, 0, stderr);
    reports.push(JSON.parse(stdout.trim().split('\n').at(-1)!));
  }
  for (const report of reports) {
    t.match(report, { object: 'import_report', status: 'completed', adds_up: true });
  }
  const { rows } = await database.pool.query('SELECT FROM messages WHERE imported IS NOT NULL');
  t.equal(rows.length, 21);
});

t.test('what is no archive ends with 1 and a sentence', async (t) => {
  const file = join(dataDir, 'noise.zip');
  writeFileSync(file, 'nothing');
  const { code, stderr } = await command(file);
  t.equal(code, 1);
  t.match(stderr, /parley: the import imp_\w+ is failed: This is not the zip file/);
});
