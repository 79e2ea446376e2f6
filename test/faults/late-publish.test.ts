/** A node commits while its link to Redis is away: the change is published late, and every client receives it. */

import pg from 'pg';
import t from 'tap';
import { startLinks } from '../support/link-faults.ts';
import { type Listener, startNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const { url: databaseUrl } = await createTestDatabase(t);
const redis = await startRedis(t);
const [link] = await startLinks(t, { redis, seed: 1, count: 1 });
const env = { PARLEY_SOCKET_HEARTBEAT_MS: '200' };
const [writer, reader] = await Promise.all([
  startNode(t, { databaseUrl, redisUrl: `redis://127.0.0.1:${link!.port}`, env }),
  startNode(t, { databaseUrl, redisUrl: redis.url, env }),
]);

t.test(
  'a client without a socket when a deletion is published late receives it when it resumes',
  async (t) => {
    const conversationId = reader.demo.conversations.group;
    const sql = new pg.Client({ connectionString: databaseUrl });
    await sql.connect();
    t.teardown(() => sql.end());
    const isOutboxEmpty = async () => (await sql.query('SELECT FROM outbox')).rowCount === 0;
    const stays = await reader.listen(conversationId);
    const leaves = await reader.listen(conversationId);
    const sent = await writer.send(conversationId);
    const id = String(sent.body.id);
    // From then on each node knows of the other.
    await until(() => [stays, leaves].every((listener) => listener.created().length > 0), {
      what: 'the message',
    });
    await until(isOutboxEmpty, { what: 'its effects' });

    // When a node falls silent, the others read what it may have published. Here that is over before the deletion.
    const repaired = await reader.metric('parley_repaired_streams_total');
    link!.refuse();
    await until(async () => (await reader.metric('parley_repaired_streams_total')) > repaired, {
      what: 'the repair of what the silent node may have published',
    });
    // As if the sweeps of the silent node took each row first, and failed, for as long as the test needs.
    await sql.query("ALTER TABLE outbox ALTER due_at SET DEFAULT clock_timestamp() + interval '1 hour'");
    const deleted = await writer.call('DELETE', `/v1/messaging/messages/${id}`);
    t.equal(deleted.status, 200);
    const { heartbeats } = leaves;
    // Longer than the ten seconds by which every cursor is older than what was delivered.
    await until(() => leaves.heartbeats > heartbeats + 75, { what: '15 s of heartbeats' });
    t.same(deletions(leaves), [], 'it is not published yet');
    leaves.socket.terminate();

    link!.accept();
    await sql.query('ALTER TABLE outbox ALTER due_at SET DEFAULT clock_timestamp()');
    await sql.query("UPDATE outbox SET due_at = clock_timestamp() - interval '1 minute'");
    await until(() => deletions(stays).length > 0, { what: 'the deletion on the socket that stayed' });
    await until(isOutboxEmpty, { what: 'all that the deletion causes' });
    const { cursor } = leaves;
    const back = await reader.listen(conversationId, { cursor, afterSequence: Number(sent.body.sequence) });
    t.same(deletions(back), [id]);
    t.ok(
      back.frames.some(({ event, data }) => event === 'notification.updated' && data?.status === 'dismissed'),
      'so is its notification',
    );
    for (const { socket } of [stays, back]) socket.terminate();
  },
);

/** The messages that the listener was sent as deleted. */
function deletions({ frames }: Listener): unknown[] {
  return frames
    .filter(({ event, data }) => event === 'message.updated' && typeof data?.deleted_at === 'string')
    .map(({ data }) => data!.id);
}
