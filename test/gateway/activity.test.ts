/**
 * Typing, read positions and presence over sockets (docs/realtime.md#events), and how these events
 * are shed (docs/realtime.md#guarantees, 4).
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { until } from '../support/until.ts';
import { type Client, Ground, type ReceivedFrame } from './fixture.ts';
import { RawSocket } from './raw-socket.ts';

const ground = await Ground.start(t, { limits: { presenceMs: 600, requestsPerSecond: 100 } });
const { demo } = ground;
const { group, direct, case: supportCase } = demo.conversations;
const { ada, grace, vera } = demo.users;

t.test('typing reaches the team, at most once a second, and stops behind a start alone', async (t) => {
  const [writer, reader] = [await follower(group, grace.access_token), await follower(group)];
  for (const state of ['stop', 'start', 'start', 'stop', 'stop', 'start']) {
    const reply = await writer.request('typing', { conversation_id: group, state });
    t.strictSame(reply.result, {});
  }
  await passed(group, reader);
  const [first] = eventsOf(reader, 'typing');
  t.strictSame(first, {
    type: 'event',
    event: 'typing',
    conversation_id: group,
    at: first?.at,
    data: { actor_id: grace.id, state: 'start' },
  });
  t.strictSame(dataOf(reader, 'typing'), [
    { actor_id: grace.id, state: 'start' },
    { actor_id: grace.id, state: 'stop' },
  ]);
  t.strictSame(dataOf(writer, 'typing'), dataOf(reader, 'typing'), "the actor's own sockets among them");
  for (const client of [writer, reader]) client.close();
});

t.test("a customer's typing and reading reach the team, and never the other way round", async (t) => {
  const customer = await follower(supportCase, demo.customer.access_token);
  const agent = await follower(supportCase);
  const { actor } = (await customer.frame('ready')) as unknown as { actor: { id: string } };
  await ground.storeMessages(supportCase, 2);
  t.ok((await customer.request('typing', { conversation_id: supportCase, state: 'start' })).ok);
  t.ok((await agent.request('typing', { conversation_id: supportCase, state: 'start' })).ok);
  t.ok((await customer.request('presence', { status: 'online' })).ok);
  t.match(
    await customer.request('mark_read', { conversation_id: supportCase, sequence: 1 }),
    {
      error: { code: 'validation_failed', param: 'sequence' },
    },
    'internal ones are none that it may see',
  );
  await until(() => dataOf(agent, 'presence').length === 1, { what: 'presence' });
  t.strictSame(dataOf(agent, 'typing'), [
    { actor_id: actor.id, state: 'start' },
    { actor_id: ada.id, state: 'start' },
  ]);
  t.strictSame(dataOf(agent, 'presence'), [{ actor_id: actor.id, status: 'online' }]);
  await customer.request('ping');
  t.strictSame(
    customer.frames.filter(({ type }) => type === 'event'),
    [],
  );
  for (const client of [customer, agent]) client.close();
});

t.test('typing needs the right to send, and events reach only followers of the conversation', async (t) => {
  const reader = await follower(group, vera.access_token);
  t.match(await reader.request('typing', { conversation_id: group, state: 'start' }), {
    error: { code: 'insufficient_permissions' },
  });
  t.match(await reader.request('typing', { conversation_id: direct, state: 'start' }), {
    error: { code: 'resource_not_found', param: 'conversation_id' },
  });
  for (const [op, fields, error] of [
    ['typing', { conversation_id: group }, { code: 'missing_field', param: 'state' }],
    ['typing', { conversation_id: group, state: 'on' }, { code: 'validation_failed', param: 'state' }],
    ['presence', { status: 'offline' }, { code: 'validation_failed', param: 'status' }],
    ['presence', {}, { code: 'missing_field', param: 'status' }],
    ['mark_read', { conversation_id: group }, { code: 'missing_field', param: 'sequence' }],
    ['mark_read', { conversation_id: group, sequence: -1 }, { code: 'validation_failed', param: 'sequence' }],
  ] as const) {
    t.match(await reader.request(op, fields), { ok: false, error }, `${op} ${JSON.stringify(fields)}`);
  }
  reader.close();
});

t.test('mark_read moves the position like the endpoint, and publishes it to the team', async (t) => {
  const [reader, other] = [await follower(direct, grace.access_token), await follower(direct)];
  await ground.storeMessages(direct, 3);
  const mark = async (sequence: number) =>
    (await reader.request('mark_read', { conversation_id: direct, sequence })).result;
  t.strictSame(await mark(2), { unread: 1 });
  t.strictSame(await mark(1), { unread: 1 }, 'never back');
  t.strictSame(await mark(3), { unread: 0 });
  t.match(await reader.request('mark_read', { conversation_id: direct, sequence: 4 }), {
    error: { code: 'validation_failed', param: 'sequence' },
  });
  await passed(direct, other);
  const [first] = eventsOf(other, 'read');
  t.strictSame(first, {
    type: 'event',
    event: 'read',
    conversation_id: direct,
    at: first?.at,
    data: { actor_id: grace.id, sequence: 2 },
  });
  t.strictSame(dataOf(other, 'read'), [
    { actor_id: grace.id, sequence: 2 },
    { actor_id: grace.id, sequence: 3 },
  ]);

  const stranger = await ground.ready(vera.access_token);
  const hidden = await stranger.request('mark_read', { conversation_id: direct, sequence: 1 });
  const absent = await stranger.request('mark_read', { conversation_id: 'cnv_nothere', sequence: 1 });
  t.strictSame(hidden.error, absent.error);
  t.match(absent, { error: { code: 'resource_not_found', param: 'conversation_id' } });
  for (const client of [reader, other, stranger]) client.close();
});

t.test(
  'presence: the conversations of the socket, later subscribers, and offline after the last socket',
  async (t) => {
    const [first, second] = [
      await follower(group, grace.access_token),
      await ground.ready(grace.access_token),
    ];
    const watcher = await follower(group);
    await first.request('presence', { status: 'away' });
    await until(() => dataOf(watcher, 'presence').length === 1, { what: 'away' });
    await second.request('presence', { status: 'online' });
    await second.request('subscribe', { conversation_id: group });
    await until(() => dataOf(watcher, 'presence').length === 2, { what: 'online' });

    const late = await follower(group, vera.access_token);
    await late.frame(({ event }) => event === 'presence');
    const types = late.frames.map(({ type, event }) => event ?? type);
    t.strictSame(types, ['hello', 'ready', 'reply', 'caught_up', 'presence'], 'right behind caught_up');
    t.strictSame(dataOf(late, 'presence'), [{ actor_id: grace.id, status: 'online' }]);

    second.close();
    first.close();
    await until(() => dataOf(watcher, 'presence').at(-1)?.status === 'offline', { what: 'offline' });
    const [event] = eventsOf(watcher, 'presence');
    t.strictSame(event, {
      type: 'event',
      event: 'presence',
      conversation_id: group,
      at: event?.at,
      data: { actor_id: grace.id, status: 'away' },
    });
    for (const client of [watcher, late]) client.close();
  },
);

t.test('a reader with too much queued gets no ephemeral events until it has drained', async (t) => {
  // Room for durable events, so that the reader is not closed instead.
  const roomy = await Ground.start(t, { limits: { durableBytes: 64_000_000, presenceMs: 60_000 } });
  const { group } = roomy.demo.conversations;
  const slow = await RawSocket.open(roomy.port, roomy.headers());
  slow.frame(1, JSON.stringify({ type: 'subscribe', id: 's', conversation_id: group }));
  await until(() => slow.texts.length === 4, { what: 'caught_up' });
  const fast = await follower(group, roomy.demo.users.grace.access_token, roomy);
  slow.socket.pause();
  // The kernel takes what it can before anything is queued here.
  for (let n = 0; n < 1_000; n++) {
    await roomy.publish(group, { event: 'draft.created', team: { text: 'x'.repeat(16_000) } });
    if (n % 8 === 0) await nextTurn();
  }
  for (let number = 0; number < 200; number++) {
    await roomy.publish(group, { event: 'message.delta', team: { number } });
    await nextTurn();
  }
  await fast.request('presence', { status: 'online' });
  await until(() => dataOf(fast, 'presence').length === 1, { what: 'presence' });
  t.equal(dataOf(fast, 'message.delta').length, 200, 'others get every one');
  slow.socket.resume();
  const got = (event: string) => slow.texts.filter((text) => text.includes(`"event":"${event}"`)).length;
  await until(() => got('presence') === 1, { what: 'what it has to know of those it missed' });
  t.equal(got('draft.created'), 1_000, 'of durable events every one');
  t.equal(got('message.delta'), 0);
  await roomy.publish(group, { event: 'message.delta', team: { number: 200 } });
  await until(() => got('message.delta') === 1, { what: 'what comes from then on' });
  slow.socket.destroy();
  fast.close();
});

async function follower(conversationId: string, token?: string, on = ground): Promise<Client> {
  const client = await on.ready(token);
  await client.request('subscribe', { conversation_id: conversationId });
  await client.frame('caught_up');
  return client;
}

function eventsOf({ frames }: Client, event: string): ReceivedFrame[] {
  return frames.filter((frame) => frame.event === event);
}

function dataOf(client: Client, event: string) {
  return eventsOf(client, event).map(({ data }) => data);
}

/** Resolves when everything that was published before has reached the client. */
async function passed(conversationId: string, client: Client): Promise<void> {
  await ground.publish(conversationId, { event: 'message.delta', team: { last: true } });
  await client.frame(({ data }) => data?.last === true);
}
