/**
 * A node starts on a database that was restored from a dump, or has moved.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import pg from 'pg';
import t from 'tap';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { createLog } from '../../src/platform/log.ts';
import { startNode } from '../support/node.ts';
import { startPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const postgres = await startPostgres(t);
const admin = await connect(t, postgres.url);

t.test(
  'a restored database: no row is ahead of its transactions, and cursors of before are refused',
  async (t) => {
    await admin.query('CREATE DATABASE original');
    const original = await startNode(t, { databaseUrl: urlOf('original') });
    const conversationId = original.demo.conversations.group;
    const { body } = await original.send(conversationId);
    await original.call('PATCH', `/v1/messaging/messages/${body.id}`, { body: 'edited' });
    const newest = original.at(NEWEST_VERSION);
    await newest.call('PUT', `/v1/messaging/messages/${body.id}/reactions/%F0%9F%91%8D`);
    await newest.call('POST', `/v1/messaging/messages/${body.id}/actions/pin`);
    const { cursor, socket } = await original.listen(conversationId);
    // A node that stops gives its sockets ten seconds.
    socket.terminate();
    await original.kill('SIGTERM');

    // What a restored dump is: the same rows in a database of its own, with transactions that are
    // not reached yet.
    await admin.query('CREATE DATABASE restored TEMPLATE original');
    const restored = await connect(t, urlOf('restored'));
    const tables = await streamedTables(restored);
    for (const table of tables) {
      await restored.query(`UPDATE ${table} SET changed_in = '1000000000000' WHERE changed_in IS NOT NULL`);
    }
    await restored.query(`
    INSERT INTO agent_runs (id, account_id, agent_id, actor_id, trigger_type, trigger_key, status, changed_in)
    SELECT 'run_1', account_id, 'agt_1', id, 'manual', 'once', 'completed', '1000000000000' FROM actors LIMIT 1`);
    const contents = await rowsOf(restored, tables, "to_jsonb(r) - 'changed_in'");
    t.ok(
      [...contents.values()].every((rows) => rows.length > 0),
      'there are rows in every table',
    );

    const node = await startNode(t, { databaseUrl: urlOf('restored'), dataDir: original.dataDir });
    for (const table of tables) {
      const { rows } = await restored.query(
        `SELECT FROM ${table} WHERE changed_in >= pg_snapshot_xmin(pg_current_snapshot())`,
      );
      t.equal(rows.length, 0, `${table}: every row is in the past`);
    }
    t.same(
      await rowsOf(restored, tables, "to_jsonb(r) - 'changed_in'"),
      contents,
      'nothing else of them changed',
    );

    const refused = await node.listen(conversationId);
    const conversations = { [conversationId]: body.sequence };
    refused.socket.send(JSON.stringify({ id: 'r', type: 'resume', cursor, conversations }));
    await until(() => refused.closeCode !== undefined, { what: 'the end of the socket' });
    t.equal(refused.closeCode, CLOSE_CODES.cursor_invalid.code);
    const fresh = await node.listen(conversationId);
    const back = await node.listen(conversationId, {
      cursor: fresh.cursor,
      afterSequence: Number(body.sequence),
    });
    const events = back.frames.flatMap(({ event }) => event ?? []);
    t.same(
      events.filter((event) => event !== 'notification.created'),
      [],
      'a cursor of now brings no change of before',
    );
    for (const { socket } of [fresh, back]) socket.terminate();

    const versions = await rowsOf(restored, tables, 'r.xmin');
    await node.kill('SIGTERM');
    await startNode(t, { databaseUrl: urlOf('restored'), dataDir: original.dataDir });
    t.same(await rowsOf(restored, tables, 'r.xmin'), versions, 'another start rewrites none');
  },
);

t.test('tables that were restored into the same database', async (t) => {
  await admin.query('CREATE DATABASE same');
  const database = await openDatabase({ url: urlOf('same'), log: createLog('silent') });
  t.teardown(() => database.close());
  const client = await connect(t, urlOf('same'));
  const migrated = () => migrate(database, INDEXES, createLog('silent'));
  const isAhead = async () => {
    const { rows } = await client.query(
      'SELECT changed_in > pg_current_xact_id() AS ahead FROM conversations',
    );
    return rows[0].ahead;
  };
  await migrated();
  await client.query(`
    INSERT INTO accounts (id, name) VALUES ('acc_1', 'Restored');
    INSERT INTO conversations (id, account_id, type, changed_in) VALUES ('cnv_1', 'acc_1', 'group', '1000000000000')`);
  await migrated();
  t.equal(await isAhead(), true, 'tables are not read while nothing was restored');
  await client.query(`
    ALTER TABLE settings RENAME TO dropped;
    CREATE TABLE settings (LIKE dropped INCLUDING ALL);
    INSERT INTO settings SELECT * FROM dropped;
    DROP TABLE dropped`);
  const second = await openDatabase({ url: urlOf('same'), log: createLog('silent') });
  t.teardown(() => second.close());
  await Promise.all([migrated(), migrate(second, INDEXES, createLog('silent'))]);
  t.equal(await isAhead(), false);
});

function urlOf(database: string): string {
  const url = new URL(postgres.url);
  url.pathname = `/${database}`;
  return url.href;
}

async function connect(t: Teardown, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

async function streamedTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'changed_in'`);
  return rows.map(({ name }) => name);
}

/** What `shown` (SQL over `r`) is of each row, by table. */
async function rowsOf(
  client: pg.Client,
  tables: readonly string[],
  shown: string,
): Promise<ReadonlyMap<string, object[]>> {
  const found = new Map<string, object[]>();
  for (const table of tables) {
    const { rows } = await client.query(
      `SELECT ${shown} AS shown FROM ${table} r ORDER BY to_jsonb(r) - 'changed_in'`,
    );
    found.set(table, rows);
  }
  return found;
}
