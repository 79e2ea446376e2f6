/**
 * A node commits while its link to Redis is away: every client receives the change.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, src/contract/client, src/features/mail,
 * src/platform/outbound.
 */

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

t.test('a deletion by a node that is cut off reaches the readers of the other one, once', async (t) => {
  const conversationId = reader.demo.conversations.group;
  const sql = new pg.Client({ connectionString: databaseUrl });
  await sql.connect();
  t.teardown(() => sql.end());
  const isOutboxEmpty = async () => (await sql.query('SELECT FROM outbox')).rowCount === 0;
  const stays = await reader.listen(conversationId);
  const leaves = await reader.listen(conversationId);
  const { body } = await writer.send(conversationId);
  const id = String(body.id);
  await until(() => [stays, leaves].every((listener) => listener.created().length > 0), {
    what: 'the message',
  });
  await until(isOutboxEmpty, { what: 'its effects' });

  link!.refuse();
  const deleted = await writer.call('DELETE', `/v1/messaging/messages/${id}`);
  t.equal(deleted.status, 200);
  leaves.socket.terminate();
  await until(() => deletions(stays).length > 0, { what: 'the deletion, read from Postgres' });
  await until(isOutboxEmpty, { what: 'all that the deletion causes' });
  const { heartbeats, cursor } = stays;
  // Longer than the ten seconds by which every cursor is older than what was delivered.
  await until(() => stays.heartbeats > heartbeats + 75, { what: '15 s of heartbeats' });
  t.not(stays.cursor, cursor, 'cursors go on while a node is cut off');
  t.same(deletions(stays), [id], 'it is not sent again');

  const resumed = async (from: string) => {
    const back = await reader.listen(conversationId, { cursor: from, afterSequence: Number(body.sequence) });
    back.socket.terminate();
    return back;
  };
  const back = await resumed(leaves.cursor);
  t.same(deletions(back), [id], 'a client without a socket receives it when it resumes');
  t.ok(
    back.frames.some(({ event, data }) => event === 'notification.updated' && data?.status === 'dismissed'),
    'and that of its notification',
  );
  link!.accept();
  await until(async () => (await writer.metric('parley_engine_healthy')) === 1, { what: 'the link' });
  t.same(deletions(stays), [id]);
  t.same(deletions(await resumed(stays.cursor)), [], 'a later cursor is behind it');
  stays.socket.terminate();
});

/** The messages that the listener was sent as deleted. */
function deletions({ frames }: Listener): unknown[] {
  return frames
    .filter(({ event, data }) => event === 'message.updated' && typeof data?.deleted_at === 'string')
    .map(({ data }) => data!.id);
}
