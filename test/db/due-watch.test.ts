/**
 * One statement finds the loops of a node that have something to do
 * (src/platform/db/queue/due-watch.ts).
 */

import t from 'tap';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Querier } from '../../src/platform/db/connection/handle.ts';
import { type Due, DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const { url } = await createTestDatabase(t);
const setUp = await openDatabase({ url, log });
t.teardown(() => setUp.close());
await setUp.pool.query('CREATE TABLE rows_of_work (n integer)');
await setUp.pool.query('CREATE TABLE divisor AS SELECT 0 AS n');

t.test('a look wakes what is due, and only that', async (t) => {
  const database = await open(t, url);
  const { calls, looks } = await watch(t, database, {
    due: 'true',
    idle: 'false',
    unknown: 'NULL::boolean',
    filled: 'EXISTS (SELECT FROM rows_of_work)',
  });
  await until(() => looks.count >= 3, { what: 'three looks' });
  t.ok(calls('due') >= 2, 'each look wakes it');
  t.strictSame([calls('idle'), calls('unknown'), calls('filled')], [0, 0, 0]);
  await database.pool.query('INSERT INTO rows_of_work VALUES (1)');
  await until(() => calls('filled') > 0, { what: 'the look that sees the row' });
  t.equal(looks.statements.size, 1, 'one statement for all of them');
});

t.test('a name that is no column of the statement is refused', async (t) => {
  const watch = new DueWatch({ database: await open(t, url), log });
  for (const name of ['pushes to phones', 'Outbox', '2_rows', 'a-b', '']) {
    t.throws(() => watch.add({ name, condition: 'true', onDue: () => {} }), { message: /snake_case/ }, name);
  }
  watch.add({ name: 'cut_off_0', condition: 'true', onDue: () => {} });
});

t.test('a loop with a pace is not woken at each look', async (t) => {
  const { calls, looks } = await watch(
    t,
    await open(t, url),
    { often: 'true', once: 'true' },
    { once: 3_600_000 },
  );
  await until(() => looks.count >= 5 && calls('often') >= 4, { what: 'five looks' });
  t.equal(calls('once'), 1);
});

t.test('a condition that fails hides nothing: every loop is woken until it works again', async (t) => {
  const database = await open(t, url);
  const { calls } = await watch(t, database, {
    idle: 'false',
    broken: 'EXISTS (SELECT FROM divisor WHERE 1 / n = 0)',
  });
  await until(() => calls('idle') >= 3 && calls('broken') >= 3, { what: 'loops that look by themselves' });
  await database.pool.query('UPDATE divisor SET n = 5');
  await until(() => calls('broken') > calls('idle'), { what: 'the condition to be looked at again' });
  const before = calls('idle');
  const broken = calls('broken');
  await until(() => calls('broken') >= broken + 3, { what: 'more looks' });
  t.equal(calls('idle'), before, 'and what is not due is not woken any more');
});

t.test('a database that goes away and returns', async (t) => {
  const postgres = await startPostgres(t);
  const database = await open(t, postgres.url);
  const { calls, looks } = await watch(t, database, { due: 'true', idle: 'false' });
  await until(() => calls('due') > 0, { what: 'a look' });
  await postgres.stop();
  await until(() => looks.failed >= 3, { what: 'looks that fail' });
  const before = calls('due');
  await until(() => looks.failed >= 6, { what: 'more of them' });
  t.equal(calls('due'), before, 'loops are not woken for a Postgres that is away');
  await postgres.start();
  await until(() => calls('due') > before, { what: 'a look at the database that is back' });
  t.equal(calls('idle'), 0);
});

t.test('a watch that is closed does not look', async (t) => {
  const { looks, dues } = await watch(t, await open(t, url), { due: 'true' });
  await until(() => looks.count > 0, { what: 'a look' });
  t.throws(() => dues.add({ name: 'late', condition: 'true', onDue: () => {} }), /late was added after/);
  await dues.close();
  const { count } = looks;
  await new Promise(setImmediate);
  t.equal(looks.count, count);
  await new DueWatch({ database: await open(t, url), log }).close();
});

/** Looks every 10 ms for conditions by name. */
async function watch(
  t: Teardown,
  database: Database,
  conditions: Readonly<Record<string, string>>,
  paces: Readonly<Record<string, number>> = {},
) {
  const looks = { count: 0, failed: 0, statements: new Set<string>() };
  const counting: Querier = {
    async query(statement, ...values) {
      looks.statements.add(statement.name);
      try {
        return await database.query(statement, ...values);
      } catch (error) {
        looks.failed++;
        throw error;
      } finally {
        looks.count++;
      }
    },
  };
  const dues = new DueWatch({ database: counting, log, lookEveryMs: 10 });
  t.teardown(() => dues.close());
  const called = new Map<string, number>();
  for (const [name, condition] of Object.entries(conditions)) {
    const everyMs = paces[name];
    const due: Due = {
      name,
      condition,
      onDue: () => called.set(name, (called.get(name) ?? 0) + 1),
      ...(everyMs !== undefined && { everyMs }),
    };
    dues.add(due);
  }
  dues.start();
  return { dues, looks, calls: (name: string) => called.get(name) ?? 0 };
}

async function open(t: Teardown, url: string): Promise<Database> {
  const database = await openDatabase({ url, log, patienceMs: 60_000 });
  t.teardown(() => database.close());
  return database;
}
