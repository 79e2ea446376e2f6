import pg from 'pg';
import t, { type Test } from 'tap';
import * as baseline from '../../migrations/0048_incomplete.ts';
import * as withoutBlocks from '../../migrations/0050_search_without_blocks.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { createLog } from '../../src/platform/log.ts';
import { createEmptyDatabase, startPostgres, WAITING_LOCKS } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const server = await startPostgres(t);
const FIRST = { '0048_incomplete': baseline };
const BOTH = { ...FIRST, '0050_search_without_blocks': withoutBlocks };

t.test('what waits in the former tables stays noted, and what they had goes', async (t) => {
  const { database, run } = await open(t, 'with_blocks');
  await migrate(database, { built: {}, dropped: [] }, log, { getMigrations: async () => FIRST });
  // As beside a node that reads blocks.
  await run(`UPDATE settings SET value = 'there' WHERE name = 'feature_search'`);
  await insertMessage(run);
  await run(`INSERT INTO search_blocks VALUES ('cnv_1', 1, 16, 'acc_1', 1, now(), now(), '{}', 'ahoy')`);
  await run(`UPDATE messages SET body = 'other'`);
  await run(`INSERT INTO search_changes (actor_ids) VALUES ('{act_1}')`);
  const noted = async () =>
    (await run('SELECT DISTINCT unnest(entry_ids) AS id FROM search_notes ORDER BY id')).map(({ id }) => id);
  t.strictSame(await noted(), ['msg_1']);
  t.equal((await run('SELECT FROM search_changes')).length, 3);

  await migrate(database, { built: {}, dropped: [] }, log, { getMigrations: async () => BOTH });
  t.strictSame(await noted(), ['msg_1']);
  t.equal((await run('SELECT FROM search_changes')).length, 0);
  const left = await run(
    `SELECT relname AS name FROM pg_class WHERE relname LIKE 'search\\_%' AND relkind IN ('r', 'v') UNION ALL
     SELECT proname FROM pg_proc WHERE prosrc ~ 'search_(blocks|progress)' ORDER BY name`,
  );
  t.strictSame(
    left.map(({ name }) => name),
    ['search_changes', 'search_entries', 'search_notes', 'search_state', 'search_unfilled'],
  );
  t.strictSame(await run(`SELECT name FROM settings WHERE name LIKE 'feature_%'`), []);
});

t.test('an edit that the migration holds up is noted behind it', async (t) => {
  const { database, run } = await open(t, 'with_edits');
  await migrate(database, { built: {}, dropped: [] }, log, { getMigrations: async () => FIRST });
  await insertMessage(run);
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const last = {
    async up() {
      reached.resolve();
      await gate.promise;
    },
  };
  const migrations = { ...BOTH, '9999_last': last };
  const done = migrate(database, { built: {}, dropped: [] }, log, { getMigrations: async () => migrations });
  await reached.promise;
  const edit = run(`UPDATE messages SET body = 'other'`);
  await until(async () => (await database.pool.query(WAITING_LOCKS)).rowCount === 1, {
    what: 'the edit waits',
  });
  gate.resolve();
  await Promise.all([done, edit]);
  t.strictSame(await run('SELECT entry_ids FROM search_notes'), [{ entry_ids: ['msg_1'] }]);
});

t.test('entries are filled again only when every transaction that left out a note has ended', async (t) => {
  const { database, run, connect } = await open(t, 'left_out');
  await migrate(database, { built: {}, dropped: [] }, log, { getMigrations: async () => BOTH });
  await insertMessage(run);
  await run(`INSERT INTO settings (name, value) VALUES ('feature_search_entries', 'left out')`);
  const sender = await connect();
  await sender.query('BEGIN');
  await sender.query(`UPDATE messages SET body = 'other'`);
  const back = run(`UPDATE settings SET value = 'there' WHERE name = 'feature_search_entries'`);
  await until(async () => (await database.pool.query(WAITING_LOCKS)).rowCount === 1, { what: 'it waits' });
  await sender.query('COMMIT');
  await back;
  t.strictSame(await run('SELECT entry_ids FROM search_notes'), []);
  t.strictSame(await run('SELECT filled_through FROM search_state'), [{ filled_through: '' }]);
});

type Run = (text: string) => Promise<Record<string, unknown>[]>;

async function insertMessage(run: Run): Promise<void> {
  await run(
    `INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body)
     VALUES ('msg_1', 'acc_1', 'cnv_1', 1, 'chat', 'sent', 'external', 'ahoy')`,
  );
}

/** Returns an empty database of that name. */
async function open(t: Test, name: string) {
  const url = await createEmptyDatabase(server, name);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  const connect = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    t.teardown(() => client.end());
    return client;
  };
  const client = await connect();
  const run: Run = async (text) => (await client.query(text)).rows;
  return { database, run, connect };
}
