/** The op `resume` (docs/realtime.md#catching-up). */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { testRedisUrl } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { Ground } from './fixture.ts';
import { created, cursorOf, eventOf, Missed, range, resume, timelineOf } from './missed.ts';

const limits = { subscriptions: 20, requestsPerSecond: 1_000 };
const ground = await Ground.start(t, { limits });
const other = await Ground.start(t, { beside: ground, limits });
const missed = new Missed(ground);
const { demo, database } = ground;
const { group, direct, case: supportCase } = demo.conversations;
const { ada, grace, vera } = demo.users;

t.test('gaps of every size are filled on another node, which carries on from there', async (t) => {
  const cursor = await cursorOf(await ground.ready());
  const gaps = [0, 1, 999, 1_000, 1_001, 10_000];
  const ids = await Promise.all(
    gaps.map(async (gap) => {
      const id = await missed.newConversation();
      await ground.storeMessages(id, 5 + gap);
      return id;
    }),
  );
  const client = await other.ready();
  const frames = await resume(client, cursor, Object.fromEntries(ids.map((id) => [id, 5])));
  for (const [index, id] of ids.entries()) {
    const gap = gaps[index]!;
    const head = 5 + gap;
    const ofThis = timelineOf(frames, id);
    if (gap > 1_000) {
      const resync = { type: 'resync', conversation_id: id, reason: 'too_many', head_sequence: head };
      t.strictSame(ofThis, [resync], `${gap}: nothing of them`);
    } else {
      t.strictSame(created(ofThis), range(6, head), `${gap}`);
      t.equal(ofThis.length, gap + 1);
      t.strictSame(ofThis.at(-1), { type: 'caught_up', conversation_id: id, sequence: head });
    }
  }
  t.match(frames.at(-1), { type: 'resumed', cursor: String });
  t.equal(frames.filter(({ type }) => type === 'resumed').length, 1);

  for (const [index, id] of ids.entries()) {
    await ground.publish(id, { event: 'message.created', sequence: 5 + gaps[index]! + 1 });
  }
  await client.request('ping');
  const last = ids.map((id) => created(timelineOf(client.frames, id)).at(-1));
  t.strictSame(last, [6, 7, 1_005, 1_006, undefined, undefined], 'live where it was caught up');
  client.close();
});

t.test('over Redis: a node that goes and comes back, and one beside it', async (t) => {
  const redisUrl = await testRedisUrl(t);
  const node = { beside: ground, redisUrl };
  const id = await missed.newConversation();
  await ground.storeMessages(id, 5);
  let cursor: unknown;
  let seen = 0;
  await t.test('subscribed, and receives no events', async (t) => {
    const client = await (await Ground.start(t, node)).ready();
    cursor = (await client.frame('ready')).cursor;
    const { result } = await client.request('subscribe', { conversation_id: id });
    seen = Number(result?.head_sequence);
    t.equal(seen, 5);
    t.strictSame(created(client.frames), []);
    client.close();
  });
  for (const sequence of [6, 7, 8]) await missed.insertMessage(id, { id: newId('message'), sequence });
  const nodes = [await Ground.start(t, node), await Ground.start(t, node)] as const;
  const clients = await Promise.all(nodes.map((each) => each.ready()));
  for (const client of clients) {
    const frames = await resume(client, cursor, { [id]: seen });
    t.strictSame(created(frames), [6, 7, 8]);
    t.match(timelineOf(frames, id).at(-1), { type: 'caught_up', sequence: 8 });
  }
  // Out of order, and from either node.
  await nodes[1].publish(id, { event: 'message.created', sequence: 10 });
  await nodes[0].publish(id, { event: 'message.created', sequence: 9 });
  for (const client of clients) {
    await client.frame(({ sequence }) => sequence === 10);
    t.strictSame(created(client.frames), [6, 7, 8, 9, 10]);
    client.close();
  }
});

t.test('on a node that is behind the previous one, no message arrives again', async (t) => {
  const redis = new URL(await testRedisUrl(t));
  const link = await FaultProxy.start({
    target: { host: redis.hostname, port: Number(redis.port || 6379) },
    faults: { holdMs: () => 0 },
  });
  t.teardown(() => link.close());
  const near = await Ground.start(t, { beside: ground, redisUrl: redis.href, limits });
  redis.hostname = '127.0.0.1';
  redis.port = String(link.port);
  const far = await Ground.start(t, { beside: ground, redisUrl: redis.href, limits });
  const id = await missed.newConversation();
  await ground.storeMessages(id, 5);
  // It keeps the stream open there.
  const resident = await far.ready();
  await resident.request('subscribe', { conversation_id: id, after_sequence: 5 });
  await resident.frame('caught_up');
  const client = await near.ready();
  const { cursor } = await client.frame('ready');
  await client.request('subscribe', { conversation_id: id, after_sequence: 5 });
  const send = async (sequence: number) => {
    await missed.insertMessage(id, { id: newId('message'), sequence });
    await near.publish(id, { event: 'message.created', sequence });
  };

  // Lost on the way to the other node, which reads them when it notices.
  link.faults.holdMs = ({ channel }) => (channel.includes(id) ? Number.POSITIVE_INFINITY : 0);
  for (const sequence of [6, 7, 8]) await send(sequence);
  await client.frame(({ sequence }) => sequence === 8);
  client.close();
  const resumed = await far.ready();
  const subscribed = await far.ready();
  const frames = await resume(resumed, cursor, { [id]: 8 });
  t.strictSame(timelineOf(frames, id), [{ type: 'caught_up', conversation_id: id, sequence: 8 }]);
  const reply = await subscribed.request('subscribe', { conversation_id: id, after_sequence: 8 });
  t.match(reply.result, { head_sequence: 8 });
  link.faults.holdMs = () => 0;
  await send(9);
  for (const reader of [resident, resumed, subscribed]) await reader.frame(({ sequence }) => sequence === 9);
  t.strictSame(created(resident.frames), [6, 7, 8, 9]);
  for (const reader of [resumed, subscribed]) t.strictSame(created(reader.frames), [9]);
  for (const reader of [resident, resumed, subscribed]) reader.close();
});

t.test('a resume that missed nothing delivers nothing', async (t) => {
  const client = await ground.ready();
  const { cursor } = await client.frame('ready');
  const reply = await client.request('resume', { cursor, conversations: {} });
  t.strictSame(reply, { type: 'reply', id: 'r1', ok: true, result: {} });
  t.match(await client.frame('resumed'), { cursor: String });
  client.close();
});

t.test('missed changes reach the team, and a customer those that it may see', async (t) => {
  const cursor = await cursorOf(await ground.ready());
  const [shown, hidden, tombstone] = [newId('message'), newId('message'), newId('message')];
  await missed.insertMessage(supportCase, { id: shown, sequence: 1, visibility: 'external' });
  await missed.insertMessage(supportCase, { id: hidden, sequence: 2 });
  await missed.insertMessage(supportCase, { id: tombstone, sequence: 3, visibility: 'external' });
  const draft = newId('message');
  await missed.insertMessage(supportCase, {
    id: draft,
    status: 'draft',
    visibility: 'external',
  });
  await missed.change(`messages SET body = 'edited', edited_at = now()`, `id IN ('${shown}', '${hidden}')`);
  await missed.change(`messages SET deleted_at = now()`, `id = '${tombstone}'`);
  await missed.change(`conversations SET title = 'Renamed'`, `id = '${supportCase}'`);
  const of = (actorId: string) => `conversation_id = '${supportCase}' AND actor_id = '${actorId}'`;
  await missed.addedNow(demo.customer.participant_id);
  await missed.change(`participants SET notifications = 'muted'`, of(ada.id));
  await missed.change(`participants SET membership = 'removed'`, of(grace.id));

  const team = await other.ready();
  const ofTeam = await resume(team, cursor, { [supportCase]: 3 });
  t.strictSame(
    ofTeam
      .filter(({ event }) => event?.startsWith('message'))
      .map(({ event, sequence, data }) => [event, sequence, data?.id]),
    [
      ['message.updated', 1, shown],
      ['message.updated', 2, hidden],
      ['message.updated', 3, tombstone],
    ],
  );
  t.match(eventOf(ofTeam, 'draft.updated'), { data: { id: draft, outcome: null } });
  t.match(eventOf(ofTeam, 'conversation.updated'), { data: { id: supportCase, title: 'Renamed' } });
  const participants = ofTeam.filter(({ event }) => event?.startsWith('participant.'));
  t.match(participants, [
    { event: 'participant.added', data: { id: demo.customer.participant_id } },
    { event: 'participant.updated', data: { actor: { id: ada.id }, notifications: 'muted' } },
    { event: 'participant.removed', data: { actor: { id: grace.id } } },
  ]);
  t.match(
    ofTeam.find(({ data }) => data?.id === tombstone),
    { data: { body: null, deleted_at: String } },
  );
  t.match(
    ofTeam.filter(({ type, conversation_id: id }) => type !== 'event' || id === supportCase).slice(-2),
    [{ type: 'caught_up', conversation_id: supportCase, sequence: 3 }, { type: 'resumed' }],
  );

  const customer = await other.ready(demo.customer.access_token);
  const ofCustomer = await resume(customer, cursor, { [supportCase]: 1 });
  t.strictSame(
    ofCustomer.map(({ type, event, sequence, data }) => [event ?? type, sequence, data?.id, data?.author]),
    [
      ['message.updated', 1, shown, null],
      ['message.created', 3, tombstone, null],
      ['caught_up', 3, undefined, undefined],
      ['conversation.added', undefined, supportCase, undefined],
      ['resumed', undefined, undefined, undefined],
    ],
    'a change of what is replayed comes with it',
  );
  team.close();
  customer.close();
});

t.test("the actor's own feed: notifications, conversations joined and left", async (t) => {
  const cursor = await cursorOf(await ground.ready(grace.access_token));
  const joined = await missed.newConversation(grace.id);
  const left = await missed.newConversation(grace.id);
  await ground.setMember(left, grace.id, false);
  const [{ id: notification } = { id: '' }] = await database.query(
    statement<[accountId: string, recipientId: string], { id: string }>('test-notify')`
    INSERT INTO notifications (id, account_id, recipient_id, category, title, created_at, updated_at)
        VALUES (notification_id(now(), 'ahoy', $2), $1, $2, 'chat.message', 'Ahoy', now(), now()) RETURNING id`,
    demo.account_id,
    grace.id,
  );
  const client = await other.ready(grace.access_token);
  const frames = await resume(client, cursor, {});
  t.match(
    frames.find(({ data }) => data?.id === joined),
    { event: 'conversation.added' },
  );
  t.match(
    frames.find(({ data }) => data?.id === left),
    { event: 'conversation.removed' },
  );
  t.match(
    frames.find(({ data }) => data?.id === notification),
    { event: 'notification.created' },
  );

  const stranger = await other.ready(vera.access_token);
  const ofStranger = await resume(stranger, cursor, {});
  t.notOk(ofStranger.some(({ data }) => [joined, left, notification].includes(String(data?.id))));
  client.close();
  stranger.close();
});

t.test('a right that is gone looks like a conversation that never was', async (t) => {
  const secret = await missed.newConversation(vera.id);
  const cursor = await cursorOf(await ground.ready(vera.access_token));
  await ground.storeMessages(secret, 3);
  await ground.setMember(secret, vera.id, false);
  const client = await other.ready(vera.access_token);
  const unknown = newId('conversation');
  const frames = await resume(client, cursor, { [secret]: 0, [unknown]: 0, [group]: 0 });
  t.strictSame(
    frames.filter(({ type }) => type === 'resync'),
    [
      { type: 'resync', conversation_id: secret, reason: 'revoked' },
      { type: 'resync', conversation_id: unknown, reason: 'revoked' },
    ],
  );
  t.equal(frames.filter((frame) => frame.conversation_id === secret).length, 1, 'nothing else of it');
  t.match(timelineOf(frames, group), [{ type: 'caught_up', sequence: 0 }], 'the others are not held up');

  const stranger = await other.open({
    ...ground.headers(demo.other_account.api_key),
    'Service-Account': demo.other_account.account_id,
  });
  await stranger.frame('ready');
  t.match(await resume(stranger, cursor, { [group]: 0 }), [
    { type: 'resync', conversation_id: group, reason: 'revoked' },
    { type: 'resumed' },
  ]);
  client.close();
  stranger.close();
});

t.test('a second resume, and one of what is subscribed already', async (t) => {
  const id = await missed.newConversation();
  await ground.storeMessages(id, 5);
  const client = await ground.ready();
  const { cursor } = await client.frame('ready');
  await client.request('subscribe', { conversation_id: id, after_sequence: 2 });
  t.match(await client.request('resume', { cursor, conversations: { [id]: 1 } }), {
    error: { code: 'resource_conflict', param: 'conversations' },
  });
  const [first, second] = await Promise.all([
    client.request('resume', { cursor, conversations: { [id]: 5, [direct]: 0 } }),
    client.request('resume', { cursor, conversations: { [id]: 5, [direct]: 0 } }),
  ]);
  t.ok(first.ok && second.ok);
  const firstEnds = client.frames.findIndex(({ type }) => type === 'resumed');
  t.ok(firstEnds !== -1 && client.frames.indexOf(second) > firstEnds, 'one at a time');
  await until(() => client.frames.filter(({ type }) => type === 'resumed').length === 2, { what: 'both' });
  t.strictSame(created(client.frames), [3, 4, 5], 'each message once');
  const { cursor: next } = client.frames.findLast(({ type }) => type === 'resumed')!;
  await ground.publish(id, { event: 'message.created', sequence: 6 });
  t.match(timelineOf(await resume(client, next, { [id]: 5 }), id), [{ type: 'caught_up' }]);
  t.strictSame(created(client.frames), [3, 4, 5, 6], 'what came live is not replayed');
  t.match(await client.request('subscribe', { conversation_id: direct }), { ok: true });
  client.close();
});

t.test('more than a socket may have', async (t) => {
  const client = await ground.ready();
  const { cursor } = await client.frame('ready');
  const many = Object.fromEntries(range(1, 21).map((n) => [`cnv_${n}`, 0]));
  t.match(await client.request('resume', { cursor, conversations: many }), {
    ok: false,
    error: { code: 'limit_exceeded', quota: { limit: 20, used: 21 } },
  });
  t.match(await client.request('resume', { cursor, conversations: { [group]: -1 } }), {
    error: { code: 'validation_failed' },
  });
  client.close();
});

t.test('unsubscribing and subscribing during a resume', async (t) => {
  const [left, kept] = [await missed.newConversation(), await missed.newConversation()];
  await ground.storeMessages(left, 500);
  await ground.storeMessages(kept, 500);
  const client = await ground.ready();
  const { cursor } = await client.frame('ready');
  const resuming = resume(client, cursor, { [left]: 0, [kept]: 0 });
  const leaving = client.request('unsubscribe', { conversation_id: left });
  const subscribing = client.request('subscribe', { conversation_id: kept, after_sequence: 0 });
  const frames = await resuming;
  t.match(await leaving, { ok: true });
  t.match(await subscribing, { ok: true, result: { conversation_id: kept, head_sequence: 500 } });
  t.notOk(frames.some((frame) => frame.type === 'caught_up' && frame.conversation_id === left));
  t.strictSame(created(timelineOf(client.frames, kept)), range(1, 500));
  client.close();
});

t.test('a feed that is too far behind is named, and the conversations resume all the same', async (t) => {
  const conversationId = await missed.newConversation();
  await ground.storeMessages(conversationId, 5);
  for (const [count, isTooFar] of [
    [1_000, false],
    [1_001, true],
  ] as const) {
    const cursor = await cursorOf(await ground.ready());
    await database.query(INSERT_NOTIFICATIONS, demo.account_id, ada.id, count);
    const client = await other.ready(ada.access_token);
    const frames = await resume(client, cursor, { [conversationId]: 3 });
    t.strictSame(created(timelineOf(frames, conversationId)), [4, 5]);
    t.strictSame(
      frames.filter(({ type }) => type === 'resync'),
      isTooFar ? [{ type: 'resync', feed: true, reason: 'too_many' }] : [],
    );
    const replayed = frames.filter(({ event }) => event === 'notification.updated');
    t.equal(replayed.length, isTooFar ? 0 : count, `${count}`);
    t.equal(frames.at(-1)?.type, 'resumed');
    t.match(await client.request('ping'), { type: 'pong' }, 'the socket stays');
    client.close();
  }
});

const INSERT_NOTIFICATIONS = {
  name: 'insert-many-notifications',
  text: `
    INSERT INTO notifications (id, account_id, recipient_id, category, title, sender_type, created_at, updated_at, changed_in)
    SELECT notification_id(now(), gen_random_uuid()::text, $2), $1, $2, 'system.broadcast', 'Tide', 'system', now() - interval '1 day', now(),
      pg_current_xact_id()
    FROM generate_series(1, $3::int)`,
};
