/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import t from 'tap';
import { startNode } from '../../support/node.ts';
import { startPostgres } from '../../support/postgres.ts';
import { until } from '../../support/until.ts';

const postgres = await startPostgres(t);
const node = await startNode(t, { databaseUrl: postgres.url });
const conversationId = node.demo.conversations.group;
const statusOf = async (path: string) => (await fetch(`${node.baseUrl}${path}`)).status;

for (const fault of ['killed', 'hung'] as const) {
  t.test(`Postgres ${fault}: a transient 503, sockets stay, and all is well afterwards`, async (t) => {
    const listener = await node.listen(conversationId);
    const send = (what: string) =>
      node.send(conversationId, { client_message_id: `${what} it was ${fault}` });
    t.equal((await send('before')).status, 201);

    if (fault === 'killed') await postgres.kill();
    else await postgres.hang();
    // Under the same id again and again, as a client does: one of them may be the one that is
    // committed.
    const caught = send('while');
    await until(async () => (await statusOf('/readyz')) === 503, { what: 'the node to notice' });
    const refused = await send('while');
    t.equal(refused.status, 503);
    t.match(refused.body, { error: { code: 'service_unavailable', is_transient: true } });
    t.ok(refused.headers.get('retry-after'));
    t.equal(await statusOf('/healthz'), 200, 'the process is up');
    t.equal(await statusOf('/readyz'), 503, 'and not ready');

    if (fault === 'killed') await postgres.start();
    else await postgres.resume();
    t.ok([201, 503].includes((await caught).status), 'what it met is answered too');
    await until(async () => (await send('while')).status === 201, { what: 'service' });
    // Each connection returns by itself: a send may succeed a moment before a read does.
    await until(async () => (await statusOf('/readyz')) === 200, { what: 'all connections' });
    await until(() => listener.created().length === 2, { what: 'both messages on the same socket' });
    const stored = (await node.page(conversationId)).map(({ sequence }) => sequence);
    t.same(listener.sequences(), stored.slice(-2));
    t.equal(listener.closeCode, undefined);
  });
}

t.test(
  'ten kills under load lose nothing acknowledged where the server does not wait for its disk',
  async (t) => {
    t.same(await ask('SHOW synchronous_commit'), [{ synchronous_commit: 'off' }]);
    const acknowledged: string[] = [];
    let isStopped = false;
    t.teardown(() => {
      isStopped = true;
    });
    const sendOn = async () => {
      while (!isStopped) {
        const answer = await node.send(conversationId).catch(() => undefined);
        if (answer?.status === 201) acknowledged.push(String(answer.body.id));
        else await pause(50);
      }
    };
    const sending = Promise.all(Array.from({ length: 8 }, sendOn));
    for (let kill = 1; kill <= 10; kill++) {
      const goal = acknowledged.length + 50;
      await until(() => acknowledged.length >= goal, { what: `${goal} sends` });
      const before = [...acknowledged];
      await postgres.kill();
      await postgres.start();
      const stored = new Set((await ask('SELECT id FROM messages')).map(({ id }) => id));
      const lost = before.filter((id) => !stored.has(id));
      t.same(lost, [], `kill ${kill}`);
    }
    isStopped = true;
    await sending;
  },
);

async function ask(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
