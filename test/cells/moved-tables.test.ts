/** Every table either moves with an account or stays for a reason. */

import t from 'tap';
import { MOVED_TABLES, rowsOf, STAYING_TABLES } from '../../src/features/cells/moved-tables.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase } from '../support/postgres.ts';

const OF_LIBRARIES = ['kysely_migration', 'kysely_migration_lock'];

const READ_TABLES = statement<[], { name: string }>('test-read-tables')`
  SELECT table_name AS name FROM information_schema.tables
  WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY name`;

t.test('all tables are named once', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log: createLog('silent') });
  t.teardown(() => database.close());
  const tables = (await database.query(READ_TABLES)).map(({ name }) => name);
  const named = [...Object.keys(MOVED_TABLES), ...Object.keys(STAYING_TABLES), ...OF_LIBRARIES];
  t.strictSame([...named].sort(), tables);
  for (const [table, moved] of Object.entries(MOVED_TABLES)) {
    const text = `SELECT FROM ${table} t ${rowsOf(moved)} AND (${moved.last ?? 'true'})`;
    await database.query(statement<[string]>(`test-rows-of-${table}`)(text), 'acc_none');
  }
  const order = Object.keys(MOVED_TABLES);
  for (const [table, { of }] of Object.entries(MOVED_TABLES)) {
    t.ok(of === undefined || order.indexOf(of) < order.indexOf(table), `${table} comes behind ${of}`);
  }
});
