/**
 * A node of the version before, which searches blocks of messages, beside one of this version,
 * which searches entries of messages: both find what either has, and neither finds what is gone.
 *
 * Without influence: OPERATION, PAGES, ANSWERS, packages/client, src/features/cells,
 * src/features/identity, src/features/import, src/features/mail, src/features/platform-events,
 * src/api/documents/pages, src/core/documents, src/platform/outbound.
 */

import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { FEATURES } from '../../src/app/features.ts';
import { noteFeatures } from '../../src/app/left-out.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { checkOutEarlier } from '../support/earlier-checkout.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { startPostgres } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

/** The last commit before messages had entries. */
const EARLIER = '516a10cb';
/** One that both nodes know. */
const VERSION = '1.2.harbor';

const checkout = await checkOutEarlier(t, EARLIER);
const { url: databaseUrl } = await startPostgres(t);
const redis = await startRedis(t);
const options = { databaseUrl, redisUrl: redis.url };
const before = (await startNode(t, { ...options, earlier: checkout })).at(VERSION);
const conversationId = before.demo.conversations.group;
const database = await openDatabase({ url: databaseUrl, log });
t.teardown(() => database.close());
const old = await send(before, 'corvette of before');
await until(async () => (await rowsOf('search_changes')) === 0, { what: 'its blocks' });
const current = (await startNode(t, options)).at(VERSION);
const nodes = [before, current];

t.test('while the entries are filled, all is found by way of the blocks', async (t) => {
  await until(isFilled, { what: 'entries of everything' });
  await rest('1 hour');
  await database.pool.query('DELETE FROM search_entries');
  await database.pool.query(`UPDATE search_state SET filled_through = ''`);
  await everyNodeFinds(t, 'corvette', [old]);
  const { body } = await current.call('GET', '/v1/messaging/search?type=conversations&q=grace');
  t.ok((body.data as unknown[]).length > 0);
  await rest('0 s');
  await until(isFilled, { what: 'entries of everything' });
  await everyNodeFinds(t, 'corvette', [old]);
});

t.test('what is sent, edited and redacted on either node', async (t) => {
  const sent = [old];
  for (const node of nodes) sent.push(await send(node, 'corvette beside'));
  await everyNodeFinds(t, 'corvette', sent);
  await allIndexed();
  await everyNodeFinds(t, 'corvette', sent);
  t.equal(await textsWith('corvette'), 2, 'in both indexes');

  for (const [n, node] of nodes.entries()) {
    const path = `/v1/messaging/messages/${sent[n + 1]}`;
    const { ada } = node.demo.users;
    const edited = await node.call('PATCH', path, { body: `frigate ${n}` }, ada.access_token);
    t.equal(edited.status, 200, JSON.stringify(edited.body));
    await everyNodeFinds(t, 'corvette', [old, ...sent.slice(n + 2)]);
  }
  const { status } = await before.call('POST', `/v1/messaging/messages/${old}/actions/redact`, {
    reason: 'spam',
  });
  t.equal(status, 200);
  t.equal(await textsWith('corvette'), 0, 'at the commit');
  await allIndexed();
  t.equal(await textsWith('corvette'), 0);
  await everyNodeFinds(t, 'corvette', []);
  await everyNodeFinds(t, 'frigate', sent.slice(1));
});

t.test(
  'without a node of the version before nothing is noted for it; one that comes back finds all',
  async (t) => {
    await before.kill('SIGTERM');
    await database.pool.query(
      `UPDATE settings SET created_at = created_at - interval '4 min' WHERE name = 'feature_search'`,
    );
    await noteFeatures(database, FEATURES);
    const brig = await send(current, 'brig');
    await allIndexed();
    t.equal(await rowsOf('search_changes'), 0);

    const again = (await startNode(t, { ...options, earlier: checkout, dataDir: before.dataDir })).at(
      VERSION,
    );
    nodes[0] = again;
    await until(async () => (await found(again, 'brig')).includes(brig), { what: 'the message in a block' });
    const schooner = await send(current, 'schooner');
    await everyNodeFinds(t, 'schooner', [schooner]);
  },
);

async function everyNodeFinds(t: Test, q: string, ids: readonly string[]): Promise<void> {
  for (const node of nodes) t.strictSame(await found(node, q), [...ids].sort(), q);
}

async function found(node: TestNode, q: string): Promise<string[]> {
  const { status, body } = await node.call('GET', `/v1/messaging/search?q=${q}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body.data as { message: { id: string } }[]).map(({ message }) => message.id).sort();
}

async function send(node: TestNode, body: string): Promise<string> {
  const fields = { body, client_message_id: randomUUID() };
  const answer = await node.send(conversationId, fields, node.demo.users.ada.access_token);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return String(answer.body.id);
}

async function isFilled(): Promise<boolean> {
  return (await rowsOf('search_state WHERE filled_through IS NULL')) === 1;
}

async function rest(time: string): Promise<void> {
  await database.pool.query('UPDATE search_state SET next_part_at = now() + $1::interval', [time]);
}

/** Resolves when both indexes have everything that was committed. */
async function allIndexed(): Promise<void> {
  const waiting =
    '(SELECT FROM outbox UNION ALL SELECT FROM search_changes UNION ALL SELECT FROM search_notes) w';
  await until(async () => (await rowsOf(waiting)) === 0, { what: 'both indexes' });
}

/** Returns in how many indexes the word is. */
async function textsWith(word: string): Promise<number> {
  const counts = await Promise.all(
    ['search_blocks', 'search_entries'].map((table) => rowsOf(`${table} WHERE terms::text LIKE '%${word}%'`)),
  );
  return counts.filter((count) => count > 0).length;
}

async function rowsOf(rows: string): Promise<number> {
  const { rows: counted } = await database.pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${rows}`,
  );
  return counted[0]!.count;
}
