import { chmodSync } from 'node:fs';
import { startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import { sql } from 'kysely';
import pg from 'pg';
import t from 'tap';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { DatabaseUnavailableError, isUnavailable } from '../../src/platform/db/connection/unavailable.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory } from '../start/parley.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import { seedCluster } from '../support/seed-cluster.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const ONE = { name: 'one', text: 'SELECT 1 AS one' };
const SHOW = { name: 'show', text: "SELECT current_setting('synchronous_commit') AS value" };
const BACKEND = { name: 'backend', text: 'SELECT pg_backend_pid() AS pid' };

t.test('columns become values, the same on every path', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  const statement = {
    name: 'columns',
    text: `SELECT 9007199254740991::int8 AS int8, -5::int8 AS negative, ARRAY[1, NULL]::int8[] AS int8s,
      '18446744073709551615'::xid8 AS xid8, 1.50::numeric AS numeric, '\\x00ff'::bytea AS bytea,
      '2026-11-21 03:02:03.123456+02'::timestamptz AS micros, '2026-11-21 01:02:03.1Z'::timestamptz AS tenths,
      '2026-11-21 01:02:03Z'::timestamptz AS seconds, 'infinity'::timestamptz AS never,
      ARRAY['2026-11-21 01:02:03.5Z', NULL]::timestamptz[] AS times, '2026-11-21'::date AS day,
      $1::jsonb AS object, $2::text[] AS texts, $3::boolean AS truth, $4::text AS nothing, $5::bytea AS bytes, '{plain,two words}'::text[] AS plain, '{}'::text[] AS none,
      '{{a,b},{c,NULL}}'::text[] AS nested, '[0:1]={a,NULLABLE}'::text[] AS bounded`,
  };
  const values = [{ a: [1, { b: 'c' }] }, ['a"b', null, '{}', '\\'], true, null, Buffer.from([1, 2])];
  const expected = {
    int8: 9007199254740991,
    negative: -5,
    int8s: [1, null],
    xid8: '18446744073709551615',
    numeric: '1.50',
    bytea: Buffer.from([0, 255]),
    micros: '2026-11-21T01:02:03.123456Z',
    tenths: '2026-11-21T01:02:03.100000Z',
    seconds: '2026-11-21T01:02:03.000000Z',
    never: 'infinity',
    times: ['2026-11-21T01:02:03.500000Z', null],
    day: '2026-11-21',
    object: { a: [1, { b: 'c' }] },
    texts: ['a"b', null, '{}', '\\'],
    truth: true,
    nothing: null,
    bytes: Buffer.from([1, 2]),
    plain: ['plain', 'two words'],
    none: [],
    nested: [
      ['a', 'b'],
      ['c', null],
    ],
    bounded: ['a', 'NULLABLE'],
  };
  t.same(await database.query(statement, ...values), [expected], 'query');
  t.same(await database.pipeline.query(statement, ...values), [expected], 'pipeline');
  const { rows } = await sql`SELECT '2026-11-21 01:02:03.1Z'::timestamptz AS t, 7::int8 AS n`.execute(
    database.kysely,
  );
  t.same(rows, [{ t: '2026-11-21T01:02:03.100000Z', n: 7 }], 'kysely');
  const tooBig = { name: 'too_big', text: 'SELECT 9007199254740992::int8' };
  await t.rejects(database.query(tooBig), RangeError);
  await t.rejects(database.pipeline.query(tooBig), RangeError);
  t.same(await database.pipeline.query(ONE), [{ one: 1 }]);
});

t.test('an error of a statement costs no connection', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url, 1);
  const before = await database.query(BACKEND);
  const error = await database.query({ name: 'zero', text: 'SELECT 1/0' }).catch((error) => error);
  t.match(error, { code: '22012' });
  t.notOk(isUnavailable(error));
  await t.rejects(database.query(ONE, circular()), TypeError, 'nor does a value that is none');
  t.same(await database.query(ONE), [{ one: 1 }]);
  t.same(await database.query(BACKEND), before);
});

t.test('a statement goes on after a migration has added a column to its rows', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  await database.query({ name: 'make', text: 'CREATE TABLE growing (a int)' });
  await database.query({ name: 'add', text: 'INSERT INTO growing VALUES (1)' });
  const all = { name: 'all', text: 'SELECT *, pg_sleep(0.05)::text AS slept FROM growing' };
  const onAll = () => Promise.all(Array.from({ length: 10 }, () => database.query(all)));
  await onAll();
  t.ok(database.pool.totalCount > 1, 'several connections have prepared it');
  await database.query({ name: 'grow', text: 'ALTER TABLE growing ADD COLUMN b int' });
  t.same(await onAll(), Array(10).fill([{ a: 1, b: null, slept: '' }]));
});

t.test('a connection whose server takes no changes is not used again', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url, 1);
  const turn = { name: 'turn', text: `SELECT set_config('default_transaction_read_only', 'on', false)` };
  const change = { name: 'change', text: 'CREATE TABLE IF NOT EXISTS changed (id integer)' };
  const transaction = {
    query: (statement: typeof turn) => database.transaction((tx) => tx.query(statement)),
  };
  const ways = [database, transaction, database.pipeline, database.relaxed, ...database.writers];
  for (const [index, way] of ways.entries()) {
    await way.query(turn);
    const failure = await way.query(change).catch((error: unknown) => error);
    t.ok(isUnavailable(failure), `way ${index}: ${failure}`);
    await until(
      () =>
        way.query(change).then(
          () => true,
          () => false,
        ),
      { what: 'a connection to a server that takes changes' },
    );
  }
});

t.test('a transaction is all or nothing', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  await sql`CREATE TABLE things (n int PRIMARY KEY)`.execute(database.kysely);
  t.equal(
    await database.transaction(async (tx) => {
      await sql`INSERT INTO things VALUES (1)`.execute(tx.kysely);
      return 'done';
    }),
    'done',
  );
  const failure = new Error('changed my mind');
  await t.rejects(
    database.transaction(async (tx) => {
      await sql`INSERT INTO things VALUES (2)`.execute(tx.kysely);
      throw failure;
    }),
    failure,
  );
  t.same(await database.query({ name: 'things', text: 'SELECT n FROM things' }), [{ n: 1 }]);
});

for (const over of ['tcp', 'socket'] as const) {
  t.test(`Postgres goes and comes back, over ${over}`, async (t) => {
    const postgres = await startPostgres(t, over);
    t.equal(new URL(postgres.url).hostname === '127.0.0.1', over === 'tcp');
    const database = await open(t, postgres.url, 2);
    const ways = {
      query: () => database.query(ONE),
      pipeline: () => database.pipeline.query(ONE),
      reader: () => database.reader.query(ONE),
      transaction: () => database.transaction((tx) => sql`SELECT 1`.execute(tx.kysely)),
    };
    const expectAway = async (what: string) => {
      for (const [way, ask] of Object.entries(ways)) {
        const error = await ask().catch((error) => error);
        t.ok(error instanceof DatabaseUnavailableError, `${what}: ${way}: ${error}`);
      }
      const error = await sql`SELECT 1`.execute(database.kysely).catch((error) => error);
      t.ok(isUnavailable(error), `${what}: an error of kysely itself is recognized`);
    };
    const expectBack = async (what: string) => {
      for (const [way, ask] of Object.entries(ways)) {
        const works = () =>
          ask().then(
            () => true,
            () => false,
          );
        t.ok(await until(works, { what: `${what}: ${way} works again` }));
      }
    };
    await expectBack('at first');

    // With an idle client in the pool and one at work: neither may end this process.
    let inTransaction = () => {};
    const begun = new Promise<void>((resolve) => {
      inTransaction = resolve;
    });
    const interrupted = database
      .transaction(async (tx) => {
        await sql`SELECT 1`.execute(tx.kysely);
        inTransaction();
        await sql`SELECT pg_sleep(60)`.execute(tx.kysely);
      })
      .catch((error) => error);
    await begun;
    await postgres.stop();
    t.ok((await interrupted) instanceof DatabaseUnavailableError, 'what was under way rejects');
    await expectAway('stopped');
    await postgres.start();
    await expectBack('restarted');
    await postgres.kill();
    await expectAway('killed');
    await postgres.start();
    await expectBack('recovered');
  });
}

t.test('the error for an unreachable Postgres does not contain the password', async (t) => {
  const attempt = openDatabase({ url: 'postgres://ada:s3cret@127.0.0.1:1/parley', log });
  await t.rejects(attempt, { message: /^cannot reach Postgres at 127\.0\.0\.1:1\/parley: .*ECONNREFUSED/ });
  await t.rejects(openDatabase({ url: 'mysql://ada:s3cret@x/y', log }), {
    message: 'DATABASE_URL is not of the form postgres://user:password@host:port/database',
  });
});

t.test('a password that is missing is named as that', async (t) => {
  const { url } = await startPostgres(t);
  const without = Object.assign(new URL(url), { password: '' }).href;
  await t.rejects(openDatabase({ url: without, log, patienceMs: 0 }), {
    message: /^cannot reach Postgres at \S+: it asks for a password, and the URL has none$/,
  });
});

t.test('a query waits for a free connection as long as the URL says', async (t) => {
  const url = new URL((await createTestDatabase(t)).url);
  const read = { name: 'one', text: 'SELECT 1 AS one' };
  for (const [seconds, isPatient] of [
    ['0.5', false],
    ['60', true],
  ] as const) {
    url.searchParams.set('connect_timeout', seconds);
    const database = await open(t, url.href, 1);
    const hold = async () => {
      const begun = Promise.withResolvers<true>();
      const held = database.transaction(async (tx) => {
        begun.resolve(true);
        await tx.query({ name: 'slow', text: 'SELECT pg_sleep(1)::text AS done' });
      });
      // Where the machine is busy, opening the connection may take longer than the URL allows.
      const isHeld = await Promise.race([begun.promise, held.catch(() => false)]);
      return isHeld === true ? { held } : undefined;
    };
    let slow = await hold();
    while (slow === undefined) slow = await hold();
    const answer = await database.query(read).catch((error: unknown) => isUnavailable(error));
    t.same(answer, isPatient ? [{ one: 1 }] : true, `${seconds} s`);
    await slow.held;
  }
});

t.test('options in the URL are kept, ours count', async (t) => {
  const url = new URL((await createTestDatabase(t)).url);
  url.searchParams.set('options', '-c work_mem=5MB -c TimeZone=Asia/Tokyo');
  const database = await open(t, url.href);
  const statement = {
    name: 'settings',
    text: "SELECT current_setting('work_mem') AS memory, current_setting('TimeZone') AS zone, current_setting('application_name') AS name",
  };
  t.same(await database.query(statement), [{ memory: '5MB', zone: 'UTC', name: 'parley' }]);
});

t.test('every connection has its limits, which are set once it is open', async (t) => {
  const url = new URL((await createTestDatabase(t)).url);
  const database = await open(t, url.href);
  const limit = { name: 'limit', text: "SELECT current_setting('statement_timeout') AS ms" };
  t.same(await database.query(limit), [{ ms: '8s' }]);
  for (const pipeline of database.pipelines) t.same(await pipeline.query(limit), [{ ms: '8s' }]);
  const unlimited = await database.withoutTimeLimit((db) => sql`SHOW statement_timeout`.execute(db));
  t.same(unlimited.rows, [{ statement_timeout: '0' }]);
});

t.test('two nodes that start together migrate once', async (t) => {
  const postgres = await startPostgres(t);
  const nodes = await Promise.all([open(t, postgres.url), open(t, postgres.url)]);
  await Promise.all(nodes.map((node) => migrate(node, INDEXES, log)));
  await migrate(nodes[0]!, INDEXES, log);
  const template = await open(t, (await createTestDatabase(t)).url);
  const done = { name: 'done', text: 'SELECT name FROM kysely_migration ORDER BY name' };
  t.same(await nodes[0]!.query(done), await template.query(done), 'test databases are migrated likewise');
});

t.test('closing does not wait for what hangs', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log });
  const slow = { name: 'slow', text: 'SELECT pg_sleep(60)' };
  const underWay = [database.query(slow), database.pipeline.query(slow)].map((answer) =>
    answer.catch((error) => error),
  );
  await until(() => database.pool.totalCount === 1 && database.pool.idleCount === 0, { what: 'at work' });
  await database.close();
  for (const error of await Promise.all(underWay)) t.ok(isUnavailable(error));
  await database.close();
});

t.test('a commit waits for the disk whatever the role says, and for standbys as it says', async (t) => {
  const { url } = await createTestDatabase(t);
  const { username, pathname } = new URL(url);
  const admin = await open(t, url);
  const set = (value: string) =>
    sql`ALTER ROLE ${sql.id(username)} IN DATABASE ${sql.id(pathname.slice(1))}
      SET synchronous_commit = ${sql.lit(value)}`.execute(admin.kysely);
  const shown = async () => {
    const database = await open(t, url);
    const ways = [database, database.pipeline, database.reader, database.bulk, ...database.writers];
    const all = await Promise.all(ways.map((way) => way.query(SHOW)));
    const { rows } = await database.withoutTimeLimit((kysely) => sql.raw(SHOW.text).execute(kysely));
    const values = new Set([...all.flat(), ...rows].map((row) => (row as { value: string }).value));
    return [...values, (await database.relaxed.query(SHOW))[0]];
  };
  for (const [said, done] of [
    ['off', 'on'],
    ['on', 'on'],
    ['local', 'local'],
    ['remote_write', 'remote_write'],
    ['remote_apply', 'remote_apply'],
  ] as const) {
    await set(said);
    t.strictSame(await shown(), [done, { value: 'off' }], said);
  }
});

t.test('a reload of the server with synchronous_commit off reaches no connection that is open', async (t) => {
  const dataDir = freshDirectory(t);
  // Entered by the user that Postgres runs as.
  chmodSync(dataDir, 0o711);
  await seedCluster(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, durable: true, log });
  t.teardown(() => server.stop());
  const database = await open(t, server.url);
  const other = new pg.Client({ connectionString: server.url });
  await other.connect();
  t.teardown(() => other.end());
  await sql`ALTER SYSTEM SET synchronous_commit = off`.execute(database.kysely);
  await sql`SELECT pg_reload_conf()`.execute(database.kysely);
  await until(async () => (await other.query(SHOW.text)).rows[0].value === 'off', { what: 'the reload' });
  for (const way of [database.pipeline, ...database.writers]) {
    t.strictSame(await way.query(SHOW), [{ value: 'on' }]);
  }
});

async function open(t: Teardown, url: string, maxConnections?: number): Promise<Database> {
  const database = await openDatabase({ url, log, maxConnections });
  t.teardown(() => database.close());
  return database;
}

function circular(): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}
