/**
 * Nodes whose Postgres is behind a pooler with its own defaults.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import pg from 'pg';
import t from 'tap';
import { freshDirectory, runParley } from '../start/parley.ts';
import { startNode } from '../support/node.ts';
import { startPgBouncer, tracksStatements } from '../support/pgbouncer.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const postgres = await startPostgres(t);

t.test('PgBouncer in session mode, also when it is restarted', async (t) => {
  const pooler = await startPgBouncer(t, { databaseUrl: postgres.url, mode: 'session' });
  const node = await startNode(t, { databaseUrl: pooler.url });
  const { group } = node.demo.conversations;
  const isReady = async () => (await fetch(`${node.baseUrl}/readyz`)).ok;
  const listener = await node.listen(group);
  t.equal((await node.send(group)).status, 201);
  await until(() => listener.created().length === 1, { what: 'the message' });

  await pooler.stop();
  await until(async () => !(await isReady()), { what: 'the node to notice' });
  t.equal((await node.send(group)).status, 503);
  await pooler.start();
  await until(isReady, { what: 'all connections' });
  // Under the same id: a refused one may be committed.
  const again = async () => (await node.send(group, { client_message_id: 'again' })).status === 201;
  await until(again, { what: 'service' });
  const stored = (await node.page(group)).map(({ sequence }) => sequence);
  await until(() => listener.sequences().at(-1) === stored.at(-1), { what: 'the rest on the same socket' });
  t.same(listener.sequences(), stored);
  t.equal(listener.closeCode, undefined);
});

t.test(
  'PgBouncer in transaction mode is refused by name, at the first start and at later ones',
  async (t) => {
    const pooler = await startPgBouncer(t, { databaseUrl: postgres.url, mode: 'transaction' });
    const env = { DATABASE_URL: pooler.url, PORT: '0', PARLEY_DATA_DIR: freshDirectory(t) };
    for (const attempt of ['first', 'second']) {
      const { code, stderr } = await runParley(['start'], env);
      t.equal(code, 1, attempt);
      t.match(
        stderr,
        /"msg":"the Postgres at 127\.0\.0\.1:\d+\/\w+ is behind a pooler in transaction mode, .*pool_mode.*\n$/,
      );
    }
  },
);

t.test('sessions that acknowledge what is not on disk are refused, with what mends them', async (t) => {
  const env = {
    DATABASE_URL: postgres.url,
    PARLEY_DATABASE_DIRECT_URL: postgres.url,
    PORT: '0',
    PARLEY_DATA_DIR: freshDirectory(t),
  };
  const { code, stderr } = await runParley(['start'], env);
  t.equal(code, 1);
  const [, cure = ''] = /synchronous_commit = off.* run \\"(ALTER ROLE .*?)\\"/.exec(stderr) ?? [];
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  t.teardown(() => client.end());
  await client.query(cure);
  await startNode(t, { databaseUrl: postgres.url, env: { PARLEY_DATABASE_DIRECT_URL: postgres.url } });
});

t.test('transaction mode, with a direct URL for what needs a session of its own', async (t) => {
  const pooler = await startPgBouncer(t, { databaseUrl: postgres.url, mode: 'transaction' });
  const env = { PARLEY_DATABASE_DIRECT_URL: postgres.url };
  if (!(await tracksStatements())) {
    const dataDir = freshDirectory(t);
    const all = { ...env, DATABASE_URL: pooler.url, PORT: '0', PARLEY_DATA_DIR: dataDir };
    const { code, stderr } = await runParley(['start'], all);
    t.equal(code, 1);
    t.match(stderr, /"msg":"the pooler at .* does not keep the prepared statements .*PgBouncer 1\.21 .*\n$/);
    return;
  }
  const node = await startNode(t, { databaseUrl: pooler.url, env });
  const { group } = node.demo.conversations;
  const listener = await node.listen(group);
  const answers = await Promise.all(Array.from({ length: 200 }, () => node.send(group)));
  t.same(new Set(answers.map(({ status }) => status)), new Set([201]));
  await until(() => listener.created().length === 200, { what: 'every message' });
  t.same(
    listener.sequences(),
    (await node.page(group)).slice(-200).map(({ sequence }) => sequence),
  );

  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  t.teardown(() => client.end());
  const { rows } = await client.query(`
    SELECT count(*) FILTER (WHERE query ILIKE 'LISTEN%')::int AS listening,
      (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND granted) AS locks
    FROM pg_stat_activity WHERE application_name = 'parley'`);
  t.same(rows, [{ listening: 1, locks: 1 }], 'over the direct URL');
  const through = new pg.Client({ connectionString: pooler.url });
  await through.connect();
  t.teardown(() => through.end());
  const seqscan = await through.query("SELECT current_setting('enable_seqscan') AS value");
  t.same(seqscan.rows, [{ value: 'on' }], 'that of the server: no client has changed it');
});

t.test('a direct URL of a pooler in transaction mode, and one of another database', async (t) => {
  const pooler = await startPgBouncer(t, { databaseUrl: postgres.url, mode: 'transaction' });
  const other = new URL((await createTestDatabase(t)).url);
  for (const [direct, words] of [
    [pooler.url, /"msg":"the Postgres at .* is behind a pooler in transaction mode/],
    [other.href, /"msg":"DATABASE_URL and PARLEY_DATABASE_DIRECT_URL lead to different databases"\}\n$/],
  ] as const) {
    const env = { DATABASE_URL: postgres.url, PARLEY_DATABASE_DIRECT_URL: direct };
    const { code, stderr } = await runParley(['start'], {
      ...env,
      PORT: '0',
      PARLEY_LOG_LEVEL: 'error',
      PARLEY_DATA_DIR: freshDirectory(t),
    });
    t.equal(code, 1);
    t.match(stderr, words);
  }
});
