/** Nodes whose Postgres is behind a pooler with its own defaults. */

import t from 'tap';
import { freshDirectory, runParley } from '../start/parley.ts';
import { startNode } from '../support/node.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { startPostgres } from '../support/postgres.ts';
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
        /^parley: the Postgres at 127\.0\.0\.1:\d+\/\w+ is behind a pooler in transaction mode, .*pool_mode.*\n$/,
      );
    }
  },
);
