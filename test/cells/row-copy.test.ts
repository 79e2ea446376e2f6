/** Rows that differ when an account is opened at the target. */

import t, { type Test } from 'tap';
import { HOOKS } from '../../src/app/features.ts';
import { Cell } from '../../src/features/cells/cell.ts';
import { RowCopy } from '../../src/features/cells/row-copy.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const ID = 'acc_moving';
const TABLE = 'conversation_activity';

t.test('rows that the target has written meanwhile are those of the source in the end', async (t) => {
  await withCells(t, async (source, target) => {
    const copy = await RowCopy.open(source, target, TABLE, { by: 'account_id' });
    await write(source, 'cnv_changed', 1);
    await write(source, 'cnv_written', 2);
    await write(source, 'cnv_deleted', 3);
    const pass = () => source.transaction((tx) => copy.copy(tx, target, ID));
    t.equal(await pass(), 3);
    // Rows may be copied again for as long as an older transaction runs anywhere in the server.
    await until(async () => (await pass()) === 0, { what: 'a pass that finds nothing' });
    await write(source, 'cnv_changed', 4);
    await write(source, 'cnv_new', 5);
    await remove(source, 'cnv_deleted');
    await write(target, 'cnv_written', 6);
    await write(target, 'cnv_stray', 7);
    await source.transaction((there) => target.transaction((here) => copy.finish(there, here, ID)));
    t.strictSame(await read(target), await read(source));
    t.strictSame(await read(target), ['cnv_changed 4', 'cnv_new 5', 'cnv_written 2']);
  });
});

t.test('names that either cell has folded meanwhile are no difference', async (t) => {
  await withCells(t, async (source, target) => {
    for (const cell of [source, target]) {
      await cell.run(`INSERT INTO accounts (id, name) VALUES ('${ID}', 'Moving')`);
    }
    const copy = await RowCopy.open(source, target, 'entities', { by: 'account_id' });
    await source.run(`INSERT INTO entities (id, account_id, name) VALUES ('ent_1', '${ID}', 'Müller')`);
    t.equal(await source.transaction((tx) => copy.copy(tx, target, ID)), 1);
    const pass = () => source.transaction((tx) => copy.copy(tx, target, ID));
    await until(async () => (await pass()) === 0, { what: 'a pass that finds nothing' });
    await target.run(`UPDATE entities SET folded = 'muller'`);
    const finish = () =>
      source.transaction((there) => target.transaction((here) => copy.finish(there, here, ID)));
    t.equal(await finish(), 0);
    await target.run(`UPDATE entities SET name = 'Muller'`);
    t.equal(await finish(), 1, 'a name is');
  });
});

async function withCells(t: Test, run: (source: Cell, target: Cell) => Promise<void>): Promise<void> {
  const [source, target] = await Promise.all([openCell(t), openCell(t)]);
  await source((there) => target((here) => run(there, here)));
}

async function openCell(t: Test): Promise<(run: (cell: Cell) => Promise<void>) => Promise<void>> {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log: createLog('silent') });
  t.teardown(() => database.close());
  return (run) =>
    database.withoutTimeLimit((kysely) => kysely.connection().execute((one) => run(new Cell(one, HOOKS))));
}

function write(cell: Cell, id: string, sequence: number): Promise<void> {
  return cell.run(`
    INSERT INTO ${TABLE}
    VALUES ('${id}', '${ID}', now(), ${sequence}, NULL, 0, now(), 0, NULL, 0, 0, false, now())
    ON CONFLICT (conversation_id) DO UPDATE SET last_sequence = excluded.last_sequence`);
}

function remove(cell: Cell, id: string): Promise<void> {
  return cell.run(`DELETE FROM ${TABLE} WHERE conversation_id = '${id}'`);
}

async function read(cell: Cell): Promise<string[]> {
  const rows = await cell.query(READ);
  return rows.map(({ row }) => row);
}

const READ = statement<[], { row: string }>('test-read-activity')`
  SELECT conversation_id || ' ' || last_sequence AS row FROM conversation_activity ORDER BY 1`;
