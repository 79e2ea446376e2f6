import pg from 'pg';
import t from 'tap';
import { startNode } from '../support/node.ts';
import { startPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';

async function checkpoint(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('CHECKPOINT');
  await client.end();
}

for (const fault of ['killed', 'hung'] as const) {
  t.test(`Postgres ${fault}: a transient 503, sockets stay, and all is well afterwards`, async (t) => {
    const postgres = await startPostgres(t);
    const node = await startNode(t, { databaseUrl: postgres.url });
    const conversationId = node.demo.conversations.group;
    const listener = await node.listen(conversationId);
    t.equal((await node.send(conversationId, { client_message_id: 'before' })).status, 201);

    // The test's server acknowledges before it writes; what has been acknowledged is to survive here.
    await checkpoint(postgres.url);
    if (fault === 'killed') await postgres.kill();
    else await postgres.hang();
    // Under the same id again and again, as a client does: one of them may be the one that is committed.
    const refused = await until(
      async () => {
        const answer = await node.send(conversationId, { client_message_id: 'during' });
        return answer.status === 503 ? answer : undefined;
      },
      { what: 'a refusal', timeoutMs: 15_000 },
    );
    t.match(refused.body, { error: { code: 'service_unavailable', is_transient: true } });
    t.ok(refused.headers.get('retry-after'));
    t.equal((await fetch(`${node.baseUrl}/healthz`)).status, 200, 'the process is up');
    t.equal((await fetch(`${node.baseUrl}/readyz`)).status, 503, 'and not ready');

    if (fault === 'killed') await postgres.start();
    else await postgres.resume();
    await until(
      async () => (await node.send(conversationId, { client_message_id: 'during' })).status === 201,
      { what: 'service', timeoutMs: 15_000 },
    );
    await until(() => listener.created().length === 2, { what: 'both messages on the same socket' });
    t.same(
      listener.sequences(),
      (await node.page(conversationId)).map(({ sequence }) => sequence),
    );
    t.equal(listener.closeCode, undefined);
    t.equal((await fetch(`${node.baseUrl}/readyz`)).status, 200);
  });
}
