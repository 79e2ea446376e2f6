/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

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

    // The test's server acknowledges before it writes; what has been acknowledged is to survive
    // here.
    await checkpoint();
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

async function checkpoint(): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query('CHECKPOINT');
  await client.end();
}
