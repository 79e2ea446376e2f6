/**
 * A node commits while Redis, or its link to it, is away: the change is published late, and every
 * client receives it.
 */

import pg from 'pg';
import t from 'tap';
import { RESOURCES_CHANGED } from '../../src/core/events/changes.ts';
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

    // When a node falls silent, the others read what it may have published. Here that is over
    // before the deletion.
    const repaired = await reader.metric('parley_repaired_streams_total');
    link!.refuse();
    await until(async () => (await reader.metric('parley_repaired_streams_total')) > repaired, {
      what: 'the repair of what the silent node may have published',
    });
    // As if the sweeps of the silent node took each row first, and failed, for as long as the test
    // needs.
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

t.test(
  'what a sweep cannot publish while Redis is away does not wait for the end of its lease',
  async (t) => {
    const sql = new pg.Client({ connectionString: databaseUrl });
    await sql.connect();
    t.teardown(() => sql.end());
    const listener = await reader.listen(reader.demo.conversations.group);
    // The link of the writer may still be on its way back from the test before.
    const { body } = await until(
      async () => {
        const sent = await writer.send(reader.demo.conversations.group);
        return sent.status === 201 ? sent : undefined;
      },
      { what: 'a send' },
    );
    const isOutboxEmpty = async () => (await sql.query('SELECT FROM outbox')).rowCount === 0;
    await until(isOutboxEmpty, { what: 'the effects of the message' });
    await sql.query(`
    CREATE TABLE outbox_history (topic text, was int, attempts int, lease_until timestamptz, at timestamptz);
    CREATE FUNCTION record_outbox() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO outbox_history VALUES (NEW.topic, OLD.attempts, NEW.attempts, OLD.due_at, clock_timestamp());
      RETURN NULL;
    END $$;
    CREATE TRIGGER history AFTER UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION record_outbox()`);
    t.teardown(() => sql.query('DROP TRIGGER history ON outbox'));
    const changesOfAttempts = async (by: 1 | -1) => {
      const { rows } = await sql.query<{ early: boolean }>(
        'SELECT at < lease_until AS early FROM outbox_history WHERE topic = $1 AND attempts = was + $2',
        [RESOURCES_CHANGED.name, by],
      );
      return rows;
    };

    await redis.stop();
    t.equal((await writer.call('DELETE', `/v1/messaging/messages/${body.id}`)).status, 200);
    await until(async () => (await changesOfAttempts(1)).length > 0, { what: 'a sweep that takes the row' });
    await redis.start();
    await until(() => deletions(listener).includes(body.id), { what: 'the deletion' });
    await until(isOutboxEmpty, { what: 'all that the deletion causes' });
    const givenBack = await changesOfAttempts(-1);
    t.ok(givenBack.length > 0, 'the lease was given back');
    t.notOk(
      givenBack.some(({ early }) => !early),
      'before its end',
    );
    listener.socket.terminate();
  },
);

/** The messages that the listener was sent as deleted. */
function deletions({ frames }: Listener): unknown[] {
  return frames
    .filter(({ event, data }) => event === 'message.updated' && typeof data?.deleted_at === 'string')
    .map(({ data }) => data!.id);
}
