/** Limits of connections that are reached: of the server, the database and the role. */

import pg from 'pg';
import t from 'tap';
import { askedHealth } from '../../src/api/health.ts';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { LimitedBy } from '../../src/platform/db/connection/places.ts';
import { isUnavailable } from '../../src/platform/db/connection/unavailable.ts';
import { warnOfPlaces } from '../../src/platform/db/connection/warn-of-places.ts';
import { createLog } from '../../src/platform/log.ts';
import { createEmptyDatabase, startPostgres, type TestPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const SLOW = { name: 'slow', text: 'SELECT pg_sleep(0.2)::text AS slept' };
const ONE = { name: 'one', text: 'SELECT 1 AS one' };
/** All connections of a Database but those of its pool. */
const OWN = 9;
/** `max_connections` of a test's server. */
const MOST = 100;

for (const by of ['server', 'database', 'role'] as const) {
  t.test(`a pool waits for its own connections where the limit of the ${by} is reached`, async (t) => {
    const { postgres, url } = await ground(t);
    const limit = OWN + 3;
    await limitTo(postgres, by, limit);
    const { registry, ...metrics } = createNodeMetrics();
    const database = await open(t, url, { metrics });
    const slow = await Promise.all(Array.from({ length: 9 }, () => database.query(SLOW)));
    t.equal(slow.length, 9, 'no statement fails');
    await until(() => database.places.reached?.used, { what: 'the connections to be counted' });
    t.match(database.places.reached, { limited_by: by, limit });
    t.ok(database.connected);
    t.match(await healthOf(database), {
      status: 'ready',
      postgres: 'too_many_connections',
      postgres_connections: { limited_by: by, limit },
    });
    const text = await registry.metrics();
    t.match(text, `parley_postgres_connection_limit{limited_by="${by}"} ${limit}`);
    t.match(text, new RegExp(`^parley_postgres_connections\\{limited_by="${by}"\\} [1-9]`, 'm'));
    await until(() => database.pool.totalCount <= 2, { what: 'idle connections to be given back' });
    if (by === 'server') return;
    await limitTo(postgres, by, -1);
    database.places.forget();
    await Promise.all(Array.from({ length: 9 }, () => database.query(SLOW)));
    t.equal(database.pool.totalCount, 9, 'it grows again');
    t.match(await healthOf(database), { status: 'ready', postgres: 'up' });
  });
}

t.test('where there is room for one of two, one serves and the other writes nothing', async (t) => {
  const { postgres, url } = await ground(t);
  const both = [await open(t, url), await open(t, url)] as const;
  // With all own connections of both, and none for the pool of either.
  for (const limit of [OWN + 1, 2 * OWN]) {
    await limitTo(postgres, 'role', limit);
    await endAll(postgres);
    const states = () => Promise.all(both.map(healthOf));
    const one = await until(
      async () => {
        const [first, second] = await states();
        if (first!.status === second!.status) return undefined;
        return first!.status === 'ready'
          ? { ready: both[0], out: second, other: both[1] }
          : { ready: both[1], out: first, other: both[0] };
      },
      { what: `one of two to serve at ${limit}` },
    );
    t.match(one.out, { postgres: 'too_many_connections', postgres_connections: { limited_by: 'role' } });
    t.strictSame(await one.ready.query(ONE), [{ one: 1 }]);
    for (const way of [one.other.pipeline, one.other.relaxed, ...one.other.writers, one.other]) {
      const error = await way.query(ONE).catch((error: unknown) => error);
      t.ok(isUnavailable(error), `at ${limit}: ${error}`);
    }
    await limitTo(postgres, 'role', -1);
    await until(async () => (await states()).every(({ status }) => status === 'ready'), {
      what: 'both to serve',
    });
  }
});

t.test('a node that starts late waits for a place, and says why it gives up', async (t) => {
  const { postgres, url } = await ground(t);
  await open(t, url);
  await limitTo(postgres, 'role', OWN + 1);
  await t.rejects(openDatabase({ url, log, patienceMs: 0 }), {
    message: /^cannot reach Postgres at \S+: too many connections for role "gateway"$/,
  });
  const waiting = Promise.withResolvers<void>();
  const late = openDatabase({ url, log: logTo(() => waiting.resolve()), patienceMs: 60_000 });
  await waiting.promise;
  await limitTo(postgres, 'role', -1);
  const database = await late;
  t.ok(database.connected);
  await database.close();
});

t.test('the start warns of a limit below the need of all nodes', async (t) => {
  const { postgres, url } = await ground(t);
  await limitTo(postgres, 'role', OWN + 8);
  const lines: object[] = [];
  const database = await open(t, url);
  await warnOfPlaces(
    database,
    logTo((line) => lines.push(line)),
  );
  t.strictSame(lines, [], 'without a lock there is no node');
  const lock = new pg.Client({ connectionString: url });
  await lock.connect();
  t.teardown(() => lock.end());
  await lock.query('SELECT pg_advisory_lock_shared($1, $2)', [0x7061726c, 0x6579]);
  await warnOfPlaces(
    database,
    logTo((line) => lines.push(line)),
  );
  t.match(lines, [{ nodes: 1, wanted: OWN + 9, limited_by: 'role', limit: OWN + 8 }]);
});

t.test('admin works as a second role while the first has no connection left', async (t) => {
  const { postgres, url } = await ground(t);
  await runAdmin(['migrate'], readConfig({ DATABASE_URL: url }), log);
  // The recipe of docs/operations.md.
  await asAdmin(postgres, `CREATE ROLE gateway_admin LOGIN PASSWORD 'admin' IN ROLE gateway`);
  await asAdmin(postgres, `ALTER ROLE gateway_admin SET role = 'gateway'`);
  await asAdmin(postgres, 'GRANT pg_use_reserved_connections TO gateway_admin');
  await limitTo(postgres, 'role', 0);
  const second = Object.assign(new URL(url), { username: 'gateway_admin', password: 'admin' }).href;
  const config = readConfig({ DATABASE_URL: url, PARLEY_ADMIN_DATABASE_URL: second });
  const account = await runAdmin(['account', 'create', '--name', 'Harbor'], config, log);
  t.match(account, { object: 'account', name: 'Harbor' });
  const database = await open(t, second);
  const owner = { name: 'owner', text: 'SELECT current_user AS name, session_user AS login' };
  t.strictSame(await database.query(owner), [{ name: 'gateway', login: 'gateway_admin' }]);
});

async function ground(t: Teardown): Promise<{ postgres: TestPostgres; url: string }> {
  const postgres = await startPostgres(t);
  const url = new URL(await createEmptyDatabase(postgres, 'places'));
  await asAdmin(postgres, `CREATE ROLE gateway LOGIN PASSWORD 'gateway'`);
  await asAdmin(postgres, 'ALTER DATABASE places OWNER TO gateway');
  url.searchParams.set('connect_timeout', '60');
  return { postgres, url: Object.assign(url, { username: 'gateway', password: 'gateway' }).href };
}

/** Limits the connections of others than superusers. */
async function limitTo(postgres: TestPostgres, by: LimitedBy, limit: number): Promise<void> {
  if (by === 'role') return asAdmin(postgres, `ALTER ROLE gateway CONNECTION LIMIT ${limit}`);
  if (by === 'database') return asAdmin(postgres, `ALTER DATABASE places CONNECTION LIMIT ${limit}`);
  await asAdmin(postgres, `ALTER SYSTEM SET superuser_reserved_connections = ${MOST - limit}`);
  await postgres.stop();
  await postgres.start();
}

async function endAll(postgres: TestPostgres): Promise<void> {
  await asAdmin(postgres, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'`);
}

async function asAdmin(postgres: TestPostgres, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

async function open(
  t: Teardown,
  url: string,
  { metrics }: { readonly metrics?: Parameters<typeof openDatabase>[0]['metrics'] } = {},
): Promise<Database> {
  const database = await openDatabase(metrics === undefined ? { url, log } : { url, log, metrics });
  t.teardown(() => database.close());
  return database;
}

function healthOf(database: Database) {
  return askedHealth({ database, engine: { healthy: true }, files: undefined, draining: () => false });
}

/** Returns a log whose warnings are handed to `onLine`. */
function logTo(onLine: (line: object) => void) {
  return Object.assign(Object.create(log), { warn: onLine }) as typeof log;
}
