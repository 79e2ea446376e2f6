/**
 * The node that handles an outbox row: its writer while it lives, then the sweep that takes it
 * over.
 */

import t from 'tap';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { InFlightRows } from '../../src/platform/db/queue/in-flight-rows.ts';
import { takeOverdue } from '../../src/platform/db/queue/outbox.ts';
import { OverdueRows } from '../../src/platform/db/queue/outbox-worker.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { log, NO_LISTENERS } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const { url } = await createTestDatabase(t);
const database = await openDatabase({ url, log });
t.teardown(() => database.close());
t.beforeEach(() => database.pool.query('DELETE FROM outbox'));

/** Writes a row; `dueAt` is SQL. */
async function write(dueAt = 'clock_timestamp()'): Promise<number> {
  const { rows } = await database.pool.query(
    `INSERT INTO outbox (topic, payload, due_at) VALUES ('happened', '{}', ${dueAt}) RETURNING id`,
  );
  return Number(rows[0].id);
}

/** Whether a row was renewed, which happens 250 ms after its beginning at the earliest. */
async function isRenewed(id: number): Promise<boolean> {
  const { rows } = await database.pool.query(
    `SELECT due_at > created_at + interval '100 ms' AS renewed FROM outbox WHERE id = $1`,
    [id],
  );
  return rows[0].renewed;
}

const LONG_OVERDUE = `clock_timestamp() - interval '1 hour'`;
const NONE_IN_FLIGHT = { has: () => false };

t.test('a sweep takes what stays overdue while it looks', async (t) => {
  const old = await write(LONG_OVERDUE);
  const atOnce = await write(`'-infinity'`);
  const leased = await write(`clock_timestamp() + interval '1 hour'`);
  const here = await write(LONG_OVERDUE);
  const overdue = new OverdueRows(database, { has: (id) => id === here });
  t.match(await overdue.take(10), [{ id: atOnce, topic: 'happened', attempts: 1 }]);
  const taken = await until(
    async () => {
      const rows = await overdue.take(10);
      return rows.length > 0 ? rows : undefined;
    },
    { what: 'the row that stays overdue' },
  );
  t.match(taken, [{ id: old, attempts: 1 }]);
  t.equal(taken.length, 1, 'and none that this node handles');
  t.strictSame(await takeOverdue(database, [old, atOnce, leased]), [], 'each is leased now');
});

t.test('a sweep takes as many as it may, those that have waited longest first', async (t) => {
  const [third, first, second] = [
    await write(`clock_timestamp() - interval '1 hour'`),
    await write(`clock_timestamp() - interval '3 hours'`),
    await write(`clock_timestamp() - interval '2 hours'`),
  ];
  const overdue = new OverdueRows(database, NONE_IN_FLIGHT);
  const taken: number[] = [];
  await until(
    async () => {
      const rows = await overdue.take(2);
      t.ok(rows.length <= 2);
      taken.push(...rows.map(({ id }) => id));
      return taken.length === 3;
    },
    { what: 'all three' },
  );
  t.strictSame([inAnyOrder(taken.slice(0, 2)), taken[2]], [inAnyOrder([first, second]), third]);
});

t.test('a row in flight is renewed, and stays with its node until it is released', async (t) => {
  const inFlight = new InFlightRows({ database, listeners: NO_LISTENERS, log });
  t.teardown(() => inFlight.close());
  const [slow, failed] = [await write(), await write()];
  for (const id of [slow, failed]) inFlight.begin(id);
  inFlight.release([failed]);
  const other = new OverdueRows(database, NONE_IN_FLIGHT);
  const taken: number[] = [];
  const sweep = async () => {
    for (const { id } of await other.take(10)) taken.push(id);
    return taken;
  };
  await until(() => isRenewed(slow), { what: 'a renewal' });
  t.notOk(await isRenewed(failed));
  await until(async () => (await sweep()).length > 0, { what: 'the row that failed' });
  // A row that is younger, and that no node renews, is taken: the other one would have been by
  // then.
  const younger = await write();
  await until(async () => (await sweep()).includes(younger), { what: 'a younger row' });
  t.strictSame(taken, [failed, younger]);
  t.ok(inFlight.has(slow));

  inFlight.release([slow]);
  await until(async () => (await sweep()).includes(slow), { what: 'the row that was released' });
});

t.test('a renewal leaves a longer lease as it is, and a row that is done is gone', async (t) => {
  const inFlight = new InFlightRows({ database, listeners: NO_LISTENERS, log });
  t.teardown(() => inFlight.close());
  const [leased, slow] = [await write(`clock_timestamp() + interval '1 hour'`), await write()];
  for (const id of [leased, slow]) inFlight.begin(id);
  await until(() => isRenewed(slow), { what: 'a renewal' });
  const { rows } = await database.pool.query(
    `SELECT due_at > clock_timestamp() + interval '50 minutes' AS kept FROM outbox WHERE id = $1`,
    [leased],
  );
  t.strictSame(rows, [{ kept: true }]);

  inFlight.done([leased, slow], inFlight.revision);
  await until(() => !inFlight.has(slow), { what: 'the removal' });
  t.equal((await database.pool.query('SELECT FROM outbox')).rowCount, 0);
});
