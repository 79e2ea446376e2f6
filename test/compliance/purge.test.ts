/**
 * The effects of a purge, and the numbers of a conversation afterwards
 * (src/features/compliance/DECISIONS.md#numbers-after-a-purge).
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { HOOKS } from '../../src/app/features.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { purgeConversation, purgePrefix } from '../../src/features/compliance/purge.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { startNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { storedText } from '../support/stored-text.ts';
import { createGround, log, numbers, openWritePath, outgoing } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const { url: databaseUrl } = await createTestDatabase(t);
const redis = await startRedis(t);
const nodes = [
  await startNode(t, { databaseUrl, redisUrl: redis.url }),
  await startNode(t, { databaseUrl, redisUrl: redis.url }),
] as const;
const database = await openDatabase({ url: databaseUrl, log, hooks: HOOKS });
t.teardown(() => database.close());
// `messages.purged` is new in this version.
for (const { demo } of nodes) Object.assign(demo, { service_version: NEWEST_VERSION });
const { users } = nodes[0].demo;

t.test('purged to empty, and Redis wiped: numbers go on behind the last one, over both nodes', async (t) => {
  const id = await conversationOf(5);
  t.match(await purge(id, 5), { messages: 5 });
  await redis.flushall();
  const [sent, unread] = await Promise.all([nodes[1].send(id), ownView(id)]);
  t.equal(sent.body.sequence, 6);
  t.equal(unread.unread, 0);
  const others = await Promise.all([0, 1, 0, 1].map((index) => nodes[index]!.send(id)));
  t.strictSame(
    others.map(({ body }) => Number(body.sequence)).sort((a, b) => a - b),
    [7, 8, 9, 10],
  );
  t.match(await purge(id, 10), { messages: 5 });
  t.strictSame(await nodes[0].page(id), []);
  const { body } = await nodes[0].send(id);
  t.equal(body.sequence, 11);
});

t.test('pages of a conversation begin behind its purged prefix', async (t) => {
  const id = await conversationOf(6);
  await purge(id, 4);
  const path = `/v1/messaging/conversations/${id}/messages`;
  for (const query of ['limit=2', 'limit=50', 'after_sequence=0&limit=2', 'after_sequence=2&limit=50']) {
    const { body } = await nodes[1].call('GET', `${path}?${query}`);
    t.strictSame((body.data as { sequence: number }[]).map(({ sequence }) => sequence).sort(), [5, 6], query);
    t.match(body.page_info, { has_next_page: false }, query);
  }
  const { body } = await nodes[0].call('GET', `${path}?before_sequence=5`);
  t.strictSame(body.data, []);
  const reader = users.grace.access_token;
  t.equal((await ownView(id, reader)).unread, 2, 'purged messages are not unread');
  const marked = await nodes[0].call(
    'POST',
    `/v1/messaging/conversations/${id}/actions/mark-read`,
    { sequence: 6 },
    reader,
  );
  t.equal(marked.status, 200);
  t.equal((await ownView(id, reader)).unread, 0);
  await purge(id, 6);
  const again = await nodes[0].call(
    'POST',
    `/v1/messaging/conversations/${id}/actions/mark-read`,
    { sequence: 6 },
    reader,
  );
  t.equal(again.status, 200);
});

t.test('a reply stays when its original is purged', async (t) => {
  const id = await conversationOf(1);
  const [first] = await nodes[0].page(id);
  const { body: reply } = await nodes[0].send(id, { reply_to_id: first!.id });
  await purge(id, 1);
  const { body } = await nodes[1].call('GET', `/v1/messaging/messages/${reply.id}?include[]=reply_to`);
  t.match(body, { id: reply.id, reply_to: null });
  t.equal((await nodes[1].call('GET', `/v1/messaging/messages/${first!.id}`)).status, 404);
});

t.test('open sockets receive the event, later ones are told to load again', async (t) => {
  const id = await conversationOf(6);
  const [live, away] = [await nodes[1].listen(id, { afterSequence: 0 }), await nodes[0].listen(id)];
  const ready = await until(() => away.frames.find(({ type }) => type === 'ready'), { what: 'a cursor' });
  away.socket.terminate();
  await purge(id, 4);
  const isPurged = ({ event }: { readonly event?: string }) => event === 'messages.purged';
  const purged = await until(() => live.frames.find(isPurged), { what: 'the event' });
  t.strictSame(purged.data, { conversation_id: id, through_sequence: 4 });

  // The announcement may still be on its way to a node.
  for (const [node, afterSequence] of [
    [nodes[0], 0],
    [nodes[1], 3],
  ] as const) {
    await until(
      async () => {
        const late = await node.listen(id, { afterSequence });
        const end = await until(
          () => late.frames.find(({ type }) => type === 'caught_up' || type === 'resync'),
          { what: 'an end' },
        );
        late.socket.terminate();
        return end.type === 'resync' && end.reason === 'too_old' && end.head_sequence === 6;
      },
      { what: `too_old after ${afterSequence}` },
    );
  }
  const exact = await nodes[0].listen(id, { afterSequence: 4 });
  await until(() => exact.frames.some(({ type }) => type === 'caught_up'), { what: 'the rest' });
  t.strictSame(
    exact.frames.filter(({ event }) => event === 'message.created').map(({ sequence }) => sequence),
    [5, 6],
  );

  const cursor = String(ready.cursor);
  const before = await nodes[1].listen(id, { afterSequence: 2, cursor });
  const refused = await until(() => before.frames.find(({ type }) => type === 'resync'), { what: 'resync' });
  t.match(refused, { reason: 'too_old', head_sequence: 6 });
  const behind = await nodes[1].listen(id, { afterSequence: 6, cursor });
  await until(() => behind.frames.some(({ type }) => type === 'resumed'), { what: 'resumed' });
  t.match(behind.frames.find(isPurged), { data: { through_sequence: 4 } }, 'missed, and read again');

  const { body: sent } = await nodes[0].send(id);
  for (const listener of [live, exact, behind]) {
    await until(() => listener.frames.some(({ data }) => data?.id === sent.id), { what: 'a live message' });
    listener.socket.terminate();
  }
  before.socket.terminate();
});

t.test('everything of the messages goes, but not of a conversation on hold', async (t) => {
  const { id } = (
    await nodes[0].call(
      'POST',
      '/v1/messaging/conversations',
      {
        type: 'group',
        participants: [{ type: 'user', actor_id: users.grace.id }],
      },
      users.ada.access_token,
    )
  ).body;
  const secret = `secret-${randomUUID()}`;
  const conversationId = String(id);
  const path = `/v1/messaging/conversations/${conversationId}`;
  const hold = (legal_hold: string) =>
    nodes[0].call('POST', `${path}/actions/set-legal-hold`, { legal_hold });
  const keyed = { ...nodes[0].headers(users.ada.access_token), 'Idempotency-Key': randomUUID() };
  const clientMessageId = randomUUID();
  const send = () =>
    fetch(`${nodes[0].baseUrl}${path}/messages`, {
      method: 'POST',
      headers: keyed,
      body: JSON.stringify({
        body: secret,
        client_message_id: clientMessageId,
        attachments: [{ kind: 'link', url: `https://example.org/${secret}` }],
      }),
    });
  const answer = await send();
  t.equal(answer.status, 201);
  const sent = (await answer.json()) as { id: string };
  await hold('held');
  await nodes[0].call(
    'PATCH',
    `/v1/messaging/messages/${sent.id}`,
    { body: `${secret} edited` },
    users.ada.access_token,
  );
  await database.kysely
    .insertInto('agent_runs')
    .values({
      id: newId('agentRun'),
      account_id: nodes[0].demo.account_id,
      agent_id: nodes[0].demo.agent.id,
      actor_id: nodes[0].demo.agent.actor_id,
      trigger_type: 'chat',
      trigger_key: sent.id,
      status: 'completed',
      completed_at: new Date().toISOString(),
      input: JSON.stringify({ text: secret }),
      conversation_id: conversationId,
      trigger_message_id: sent.id,
    })
    .execute();
  const places = await until(
    async () => {
      const found = await storedText(database, secret);
      return found.includes('public.notifications.body') ? found : undefined;
    },
    { what: 'a notification' },
  );
  t.ok(
    places.includes('public.message_revisions.body') && places.includes('public.idempotency_keys.response'),
  );
  t.equal(await database.transaction((tx) => purgePrefix(tx, conversationId, 1)), undefined, 'held');
  t.equal(await database.transaction((tx) => purgeConversation(tx, conversationId)), undefined, 'held');
  const held = await storedText(database, secret);
  t.strictSame(
    places.filter((place) => !held.includes(place)),
    [],
  );

  await hold('released');
  t.match(await purge(conversationId, 1), { messages: 1, files: 0, notifications: 1 });
  t.strictSame(await storedText(database, secret), []);
  const repeated = await send();
  t.equal(repeated.status, 410, 'the stored answer went too, and nothing is sent again');
});

t.test('a whole conversation goes in batches', async (t) => {
  const id = await conversationOf(3);
  const secret = `secret-${randomUUID()}`;
  await nodes[0].send(
    id,
    { body: secret, scheduled_at: new Date(Date.now() + 3_600_000).toISOString() },
    users.ada.access_token,
  );
  for (let more = true; more; ) {
    const step = await database.transaction((tx) => purgeConversation(tx, id));
    more = step!.more;
  }
  t.strictSame(await storedText(database, secret), []);
  const left = await database.kysely
    .selectFrom('messages')
    .select('id')
    .where('conversation_id', '=', id)
    .execute();
  t.strictSame(left, []);
  t.equal((await nodes[1].send(id)).body.sequence, 4);
});

t.test('sends beside a purge keep their places', async (t) => {
  const id = await conversationOf(4);
  const listener = await nodes[1].listen(id);
  await until(() => listener.frames.some(({ type }) => type === 'caught_up'), { what: 'a live socket' });
  const sends = Array.from({ length: 40 }, async (_, index) => {
    const { body } = await nodes[index % 2]!.send(id);
    return Number(body.sequence);
  });
  const purges = [1, 2, 3, 4].map((through) => purge(id, through));
  const sequences = (await Promise.all([...sends, ...purges])).filter((one) => typeof one === 'number');
  t.strictSame(
    sequences.sort((a, b) => a - b),
    Array.from({ length: 40 }, (_, index) => index + 5),
  );
  t.equal((await nodes[0].page(id)).length, 40, 'none of them is gone');
  await until(() => listener.frames.filter(({ event }) => event === 'message.created').length === 40, {
    what: 'all of them',
  });
  listener.socket.terminate();
});

t.test('a counter that was set back behind a purge gives no number twice', async (t) => {
  const ground = await createGround(t);
  const engine = new MemoryEngine<Frame>();
  const { writePath, timeline } = openWritePath(ground, engine);
  for (let n = 0; n < 5; n++) await writePath.append(outgoing(ground));
  await ground.database.transaction((tx) => purgePrefix(tx, ground.conversationId, 5));
  const restored = new MemoryEngine<Frame>();
  await restored.reserve([{ stream: ground.conversationId, count: 1, floor: 0 }]);
  const after = openWritePath(ground, restored);
  const { row } = await after.writePath.append(outgoing(ground));
  t.equal(row.sequence, 6);
  await restored.reserve([{ stream: ground.conversationId, count: 1, floor: 6 }]);
  const another = new MemoryEngine<Frame>();
  await another.reserve([{ stream: ground.conversationId, count: 1, floor: 1 }]);
  const locked = await openWritePath(ground, another).lockedWrites.enter(ground.conversationId, async () =>
    outgoing(ground),
  );
  t.equal(locked.row.sequence, 7);
  t.strictSame(
    (await numbers(ground)).map(({ sequence, status }) => `${sequence} ${status}`),
    ['6 sent', '7 sent'],
    'no void below the purge',
  );
  t.match(await timeline.standings([ground.conversationId]), [{ head: 7, settled: 7 }]);
  t.equal((await timeline.read({ conversationId: ground.conversationId, after: 0, upTo: 7 })).length, 2);
  t.equal(await timeline.settle({ conversationId: ground.conversationId, after: 0, upTo: 7 }), false);
  await ground.database.transaction((tx) => purgePrefix(tx, ground.conversationId, 7));
  t.match(await timeline.standings([ground.conversationId]), [{ head: 7, settled: 7 }], 'of an empty one');
});

/** A group of ada, grace and the key, with that many messages. */
async function conversationOf(count: number): Promise<string> {
  const { body } = await nodes[0].call('POST', '/v1/messaging/conversations', {
    type: 'group',
    participants: [users.ada, users.grace].map(({ id }) => ({ type: 'user', actor_id: id })),
  });
  const id = String(body.id);
  for (let n = 0; n < count; n++) await nodes[n % 2]!.send(id);
  return id;
}

function purge(conversationId: string, through: number) {
  return database.transaction((tx) => purgePrefix(tx, conversationId, through));
}

async function ownView(id: string, token?: string) {
  const { body } = await nodes[0].call('GET', `/v1/messaging/conversations/${id}`, undefined, token);
  return body as { unread: number };
}
