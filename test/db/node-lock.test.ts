import pg from 'pg';
import t from 'tap';
import {
  acquireNodeLock,
  type NodeLock,
  type NodeLockOptions,
} from '../../src/platform/db/connection/node-lock.ts';
import { Primary } from '../../src/platform/db/connection/primary.ts';
import { createLog } from '../../src/platform/log.ts';
import { startChild } from '../support/child.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');

t.test('nodes that may run together', async (t) => {
  const { url } = await createTestDatabase(t);
  const alone = await acquire(t, { url, mode: 'exclusive' });
  t.ok(alone.held);
  const refusal = { message: /^[^\n]*set REDIS_URL[^\n]*$/ };
  await t.rejects(acquire(t, { url, mode: 'exclusive', patienceMs: 0 }), refusal, 'two without Redis');
  await t.rejects(acquire(t, { url, mode: 'shared', patienceMs: 0 }), refusal, 'a mix');
  await alone.close();
  t.notOk(alone.held);

  await acquire(t, { url, mode: 'shared', patienceMs: 0 });
  await acquire(t, { url, mode: 'shared', patienceMs: 0 });
  await t.rejects(
    acquire(t, { url, mode: 'exclusive', patienceMs: 0 }),
    refusal,
    'a mix, the other way round',
  );
  const elsewhere = await createTestDatabase(t);
  await acquire(t, { url: elsewhere.url, mode: 'exclusive', patienceMs: 0 });
});

t.test('a node that was killed makes room', async (t) => {
  const { url } = await createTestDatabase(t);
  const child = startChild(t, 'node-lock-child.ts', [url, 'exclusive']);
  t.same(await child.output, { held: true });
  await t.rejects(acquire(t, { url, mode: 'exclusive', patienceMs: 0 }), /REDIS_URL/);
  await child.kill('SIGKILL');
  t.ok((await acquire(t, { url, mode: 'exclusive' })).held);
});

t.test('a lost connection is a lost lock, and it is sought again', async (t) => {
  const { url } = await createTestDatabase(t);
  const lock = await acquire(t, { url, mode: 'exclusive' });
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  t.teardown(() => admin.end());

  await endOthers(admin);
  await until(() => !lock.held, { what: 'the loss is noticed' });
  await until(() => lock.held, { what: 'it is had again' });

  // Another node is faster this time.
  await admin.query("SELECT set_config('application_name', 'thief', false)");
  const thief = acquire(t, { url, mode: 'exclusive' });
  await endOthers(admin);
  await until(() => !lock.held, { what: 'the loss is noticed' });
  await lock.close();
  t.ok((await thief).held);
});

t.test('Postgres goes and comes back', async (t) => {
  const postgres = await startPostgres(t);
  const lock = await acquire(t, { url: postgres.url, mode: 'shared' });
  await postgres.stop();
  await until(() => !lock.held, { what: 'the loss is noticed' });
  await postgres.start();
  await until(() => lock.held, { what: 'it is had again' });
  await postgres.hang();
  await until(() => !lock.held, { what: 'silence is a loss' });
  await postgres.resume();
  await until(() => lock.held, { what: 'it is had again' });
});

t.test('an unreachable Postgres is reported without its password', async (t) => {
  const attempt = acquire(t, { url: 'postgres://ada:s3cret@127.0.0.1:1/parley', mode: 'shared' });
  await t.rejects(attempt, { message: /^cannot reach Postgres at 127\.0\.0\.1:1\/parley: / });
});

async function acquire(
  t: Teardown,
  { url, ...options }: Omit<NodeLockOptions, 'log' | 'primary'> & { readonly url: string },
): Promise<NodeLock> {
  const lock = await acquireNodeLock({ ...options, primary: new Primary({ url, log }), log });
  t.teardown(() => lock.close());
  return lock;
}

async function endOthers(admin: pg.Client): Promise<void> {
  await admin.query(
    `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
     WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()`,
  );
}
