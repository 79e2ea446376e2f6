import t from 'tap';
import { PipelinedConnection } from '../../src/platform/db/connection/pipelined-connection.ts';
import { Primary } from '../../src/platform/db/connection/primary.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { DatabaseUnavailableError } from '../../src/platform/db/connection/unavailable.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const ONE = { name: 'one', text: 'SELECT 1 AS one' };
const DIVIDE = { name: 'divide', text: 'SELECT 12 / $1::int AS result' };
const SLEEP = { name: 'sleep', text: 'SELECT pg_sleep($1)' };
const BACKEND = statement<[], { pid: number }>('backend')`SELECT pg_backend_pid() AS pid`;

/** Each query alone, and those of a turn together. */
for (const gather of [1, 8]) {
  t.test(`gathering ${gather}`, async (t) => {
    t.test('many at once: answers are one’s own, errors too', async (t) => {
      const connection = await open(t, (await createTestDatabase(t)).url, { gather });
      const divisors = Array.from({ length: 300 }, (_, index) => index % 4);
      const answers = await Promise.all(
        divisors.map((divisor) => connection.query(DIVIDE, divisor).catch((error) => error.code)),
      );
      const expected = divisors.map((divisor) =>
        divisor === 0 ? '22012' : [{ result: Math.trunc(12 / divisor) }],
      );
      t.same(answers, expected);
    });

    t.test('a name whose first use did not parse', async (t) => {
      const { url } = await createTestDatabase(t);
      const connection = await open(t, url, { gather });
      const count = { name: 'count_later', text: 'SELECT count(*) AS n FROM later' };
      // Sent together, those behind the first would fail for another reason: there is no statement
      // of the name.
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => connection.query(count).catch((error) => error.code)),
      );
      t.same(answers, ['42P01', '42P01', '42P01', '42P01', '42P01']);
      const attempts = Array.from({ length: 3 }, () => connection.query(count).catch((error) => error.code));
      await connection.query({ name: 'make', text: 'CREATE TABLE later (n int)' });
      t.same(await Promise.all(attempts), ['42P01', [{ n: 0 }], [{ n: 0 }]], 'each has its own answer');
      t.same(await Promise.all([1, 2, 3].map(() => connection.query(count))), Array(3).fill([{ n: 0 }]));
    });

    t.test('a value that cannot be sent fails its caller and nothing else', async (t) => {
      // pg would deallocate the statement on the server and go on using it: every later use failed.
      const connection = await open(t, (await createTestDatabase(t)).url, { gather });
      const echo = { name: 'echo', text: 'SELECT $1::jsonb AS value' };
      const circular: Record<string, unknown> = {};
      circular.self = circular;
      await t.rejects(connection.query(echo, circular), TypeError);
      t.same(await connection.query(echo, { a: 1 }), [{ value: { a: 1 } }]);
      await t.rejects(connection.query(echo, circular), TypeError);
      t.same(await connection.query(echo, { a: 1 }), [{ value: { a: 1 } }]);
    });

    t.test('a lost connection rejects what was under way and comes back', async (t) => {
      const { url } = await createTestDatabase(t);
      const connection = await open(t, url, { gather });
      const other = await open(t, url, { gather });
      const [backend] = await connection.query(BACKEND);
      const underWay = [connection.query(SLEEP, 60), connection.query(ONE), connection.query(ONE)].map(
        (answer) => answer.catch((error) => error),
      );
      await other.query({ name: 'end', text: 'SELECT pg_terminate_backend($1)' }, backend!.pid);
      for (const error of await Promise.all(underWay))
        t.ok(error instanceof DatabaseUnavailableError, `${error}`);
      await until(() => connection.connected, { what: 'the connection is back' });
      t.same(await connection.query(ONE), [{ one: 1 }]);
    });

    t.test('a hung Postgres: every query ends by its deadline, and it works again afterwards', async (t) => {
      const postgres = await startPostgres(t);
      const connection = await open(t, postgres.url, { gather, queryTimeoutMs: 400 });
      await connection.query(ONE);
      await postgres.hang();
      const errors = await Promise.all([1, 2, 3].map(() => connection.query(ONE).catch((error) => error)));
      for (const error of errors) t.ok(error instanceof DatabaseUnavailableError, `${error}`);
      await t.rejects(
        connection.query(ONE),
        DatabaseUnavailableError,
        'refused while there is no connection',
      );
      await postgres.resume();
      await until(() => connection.connected, { what: 'the connection is back' });
      t.same(await connection.query(ONE), [{ one: 1 }]);
    });

    t.test('a lost connection that is retried at once is restored once', async (t) => {
      const postgres = await startPostgres(t);
      let restored = 0;
      const connection = await open(t, postgres.url, { gather, onRestored: () => (restored += 1) });
      connection.retryNow();
      await postgres.kill();
      await until(() => !connection.connected, { what: 'the loss' });
      await postgres.start();
      connection.retryNow();
      connection.retryNow();
      await until(() => connection.connected, { what: 'the connection is back' });
      connection.retryNow();
      const others = `SELECT count(*) AS others FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
      t.same(await connection.query({ name: 'others', text: others }), [{ others: 0 }]);
      t.equal(restored, 1);
    });

    t.test('a slow statement is cancelled before it costs the connection', async (t) => {
      const connection = await open(t, (await createTestDatabase(t)).url, { gather, queryTimeoutMs: 500 });
      const [backend] = await connection.query(BACKEND);
      const slow = connection.query(SLEEP, 60).catch((error) => error);
      const behind = connection.query(ONE);
      t.ok((await slow) instanceof DatabaseUnavailableError);
      t.same(await behind, [{ one: 1 }]);
      t.same(await connection.query(BACKEND), [backend]);
    });

    t.test('closing waits for what is under way, and ends the reconnecting', async (t) => {
      const postgres = await startPostgres(t);
      const connection = await open(t, postgres.url, { gather });
      const underWay = connection.query(SLEEP, 0.05);
      await connection.close();
      t.same(await underWay, [{ pg_sleep: '' }]);
      await t.rejects(connection.query(ONE), DatabaseUnavailableError);

      const another = await open(t, postgres.url, { gather });
      await postgres.kill();
      await until(() => !another.connected, { what: 'the loss is seen' });
      await another.close();
      await another.close();
    });
  });
}

async function open(
  t: Teardown,
  url: string,
  options: { readonly gather: number; readonly queryTimeoutMs?: number; readonly onRestored?: () => void },
): Promise<PipelinedConnection> {
  const connection = new PipelinedConnection({ primary: new Primary({ url, log }), log, ...options });
  await connection.open();
  t.teardown(() => connection.close());
  return connection;
}
