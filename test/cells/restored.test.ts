/**
 * A database restored from a backup that is older than a move
 * (docs/operations.md#moving-an-account).
 */

import pg from 'pg';
import t from 'tap';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import { CELLS_PATH, endFormerAccounts } from '../../src/features/cells/arrivals.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { sharedSecret } from '../../src/platform/db/shared-secret.ts';
import { createLog } from '../../src/platform/log.ts';
import { startTestApp } from '../support/app.ts';
import { startCells } from '../support/cells.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const [source, target] = await startCells(t);
const { account_id: id } = source.demo;
const secret = await sharedSecret(source.database, 'identity_secret');
const NOWHERE = 'http://127.0.0.1:1';
const ask = (database: Database, cells: readonly string[]) =>
  endFormerAccounts({ database, log, secret, url: source.url, cells });

t.test('an account that has moved since the backup is not used again', async (t) => {
  await ask(source.database, [target.url]);
  const backupUrl = await backUp(t, source.databaseUrl);
  await until(async () => (await source.call('GET', '/v1/account')).status === 200, {
    what: 'the source to be back',
  });
  await source.admin('account', 'move-out', '--id', id, '--to', target.url);
  await renameInboxes(target.database);
  await target.admin('account', 'move-in', '--id', id, '--from', source.envFile);

  const restored = await openDatabase({ url: backupUrl, log });
  t.teardown(() => restored.close());
  await t.rejects(ask(restored, [NOWHERE]), { message: /was restored, and the cell .* does not say/ });
  const env = { DATABASE_URL: backupUrl, PARLEY_PUBLIC_URL: source.url, PARLEY_DATA_DIR: source.dataDir };
  const app = await startTestApp(t, { ...env, PARLEY_CELLS: target.url });
  const asMoved = { token: source.demo.api_key, headers: { 'Service-Account': id } };
  const { status, body } = await app.call('GET', '/v1/account', asMoved);
  t.equal(status, 421);
  t.equal(body.error.cell_url, target.url);
  await ask(restored, [NOWHERE]).then(() => t.pass('it is known, so a cell that is away does no harm'));
  const kept = await target.call('GET', '/v1/account', asMoved);
  t.equal(kept.status, 200, 'the target goes on');
});

t.test('only cells are answered', async (t) => {
  const urls = new FileUrls({ secret, baseUrl: () => target.url, path: CELLS_PATH });
  const expiresAtMs = Date.now() + 60_000;
  const ofSource = urls.sign('GET', { key: 'arrivals', expiresAtMs, fields: { from: source.url } });
  t.strictSame(await (await fetch(ofSource)).json(), {
    object: 'list',
    data: [{ account_id: id, number: 1 }],
  });
  const ofOther = urls.sign('GET', { key: 'arrivals', expiresAtMs, fields: { from: NOWHERE } });
  t.strictSame(await (await fetch(ofOther)).json(), { object: 'list', data: [] });
  for (const wrong of [ofSource.replace('signature=', 'signature=a'), `${target.url}${CELLS_PATH}arrivals`]) {
    t.equal((await fetch(wrong)).status, 403, wrong);
  }
  const past = urls.sign('GET', { key: 'arrivals', expiresAtMs: Date.now() - 1_000, fields: {} });
  t.equal((await fetch(past)).status, 410);
});

/** Copies a database while its sessions are ended. Returns the URL of the copy. */
async function backUp(t: Teardown, url: string): Promise<string> {
  const { pathname } = new URL(url);
  const name = pathname.slice(1);
  const at = (database: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href;
  const client = new pg.Client({ connectionString: at('template1') });
  await client.connect();
  t.teardown(async () => {
    await client.query(`DROP DATABASE "${name}_backup" WITH (FORCE)`);
    await client.end();
  });
  await client.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`);
  await until(
    async () => {
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      return client.query(`CREATE DATABASE "${name}_backup" TEMPLATE "${name}"`).then(
        () => true,
        () => false,
      );
    },
    { what: 'a copy of the database' },
  );
  await client.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS true`);
  return at(`${name}_backup`);
}

async function renameInboxes(database: Database): Promise<void> {
  await database.pool.query("UPDATE inboxes SET address = 'other-' || address");
}
