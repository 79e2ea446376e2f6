/** Every table either moves with an account or stays for a reason. */

import t from 'tap';
import { HOOKS } from '../../src/app/features.ts';
import { rowsOf } from '../../src/core/resources/holdings.ts';
import { movedTables } from '../../src/features/cells/moved-tables.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase } from '../support/postgres.ts';

const MOVED = movedTables(HOOKS);

/** Tables that stay, each with the reason. */
const STAYING_TABLES: Readonly<Record<string, string>> = {
  client_packages: 'of the installation',
  inbox_due: 'as `outbox`',
  jobs: 'those of scheduled messages are added at the target (account-move.ts)',
  account_moves: 'says where the account is',
  operator_keys: 'of the installation: the programs of the target have theirs',
  operators: 'of the installation: the operators of the target name theirs',
  outbox: 'what is left of it is enqueued at the target (pending-events.ts)',
  presence_nodes: 'of nodes',
  presences: 'of nodes',
  search_changes: 'keeps nothing',
  search_notes: 'as `outbox`',
  search_state: 'of the installation',
  settings: 'of the installation',
};

const OF_LIBRARIES = ['kysely_migration', 'kysely_migration_lock'];

const READ_TABLES = statement<[], { name: string }>('test-read-tables')`
  SELECT table_name AS name FROM information_schema.tables
  WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY name`;

t.test('all tables are named once', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log: createLog('silent') });
  t.teardown(() => database.close());
  const tables = (await database.query(READ_TABLES)).map(({ name }) => name);
  const named = [...MOVED.map(([table]) => table), ...Object.keys(STAYING_TABLES), ...OF_LIBRARIES];
  t.strictSame([...named].sort(), tables);
  for (const [table, moved] of MOVED) {
    const text = `SELECT FROM ${table} t ${rowsOf(moved)} AND (${moved.last ?? 'true'})`;
    await database.query(statement<[string]>(`test-rows-of-${table}`)(text), 'acc_none');
  }
  const order = MOVED.map(([table]) => table);
  for (const [table, { of }] of MOVED) {
    t.ok(of === undefined || order.indexOf(of) < order.indexOf(table), `${table} comes behind ${of}`);
  }
});
