/**
 * Ids of the account's own application instead of ours: in paths, bodies and queries
 * (docs/contract.md#own-ids).
 */

import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../gateway/fixture.ts';
import { borrowTestApp, callsAt, refusalOf } from '../support/app.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, vera } = demo.users;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
type Made = { readonly id: string; readonly actor_id: string };

const named = (id: string, externalId: string) =>
  database.kysely
    .updateTable(id.startsWith('cnv') ? 'conversations' : 'actors')
    .set({ external_id: externalId })
    .where('id', '=', id)
    .execute();

const group = (await call<Made>('POST', '/v1/messaging/groups', { body: { name: 'Night shift' } })).body;
const place = (
  await call<Made>('POST', '/v1/messaging/conversations', {
    body: { type: 'group', title: 'Order 17', participants: [{ type: 'user', actor_id: vera.id }] },
  })
).body;
await named(ada.id, 'ada');
await named(vera.id, 'v/e r%a');
await named(group.actor_id, 'shift');
await named(place.id, 'order-17');

t.test('a path takes an external id, percent-decoded once', async (t) => {
  const read = async (path: string) => (await call<Made>('GET', path)).body.id;
  t.equal(await read('/v1/users/ext:ada'), ada.id);
  t.equal(await read('/v1/users/ext%3Av%2Fe%20r%25a'), vera.id);
  t.equal(await read('/v1/messaging/groups/ext:shift'), group.id);
  t.equal(await read('/v1/messaging/conversations/ext:order-17'), place.id);
  for (const wrong of ['ext:v%252Fe%20r%25a', 'ext:ADA', 'ext:', 'ext:shift', 'EXT:ada']) {
    t.equal(await refusal('GET', `/v1/users/${wrong}`), '404 resource_not_found id', wrong);
  }
});

t.test('a body takes one wherever it names these kinds, and repetitions are found', async (t) => {
  const made = await call<Made & { members: Made[] }>('POST', '/v1/messaging/groups?include[]=members', {
    body: { name: 'Day shift', members: ['ext:ada', 'ext:v/e r%a'] },
  });
  t.same(
    made.body.members.map(({ id }) => id),
    [ada.id, vera.id],
  );
  t.equal(
    await refusal('POST', '/v1/messaging/groups', { body: { name: 'X', members: ['ext:ada', ada.id] } }),
    '422 validation_failed members[1]',
  );
  t.equal(
    await refusal('POST', '/v1/messaging/groups', { body: { name: 'X', members: [ada.id, 'ext:bob'] } }),
    '404 resource_not_found members[1]',
  );
  const participants = '/v1/messaging/conversations/ext:order-17/participants';
  t.equal(await refusal('POST', participants, { body: { type: 'user', actor_id: 'ext:ada' } }), '201');
  t.equal(
    await refusal('POST', participants, { body: { type: 'agent', actor_id: 'ext:ada' } }),
    '404 resource_not_found actor_id',
  );
  const sent = await call<{ mentions: string[] } & Made>(
    'POST',
    '/v1/messaging/conversations/ext:order-17/messages',
    { body: { client_message_id: '1', body: 'Hello', mentions: ['ext:ada'] } },
  );
  t.equal(sent.status, 201);
});

t.test('an id whose kind is in the field beside it', async (t) => {
  const link = (type: string, id: string) => ({
    body: { client_message_id: `${type} ${id}`, link_resource_type: type, link_resource_id: id },
  });
  const messages = `/v1/messaging/conversations/${place.id}/messages`;
  const sent = await call<{ resource_id: string }>('POST', messages, link('actor', 'ext:shift'));
  t.equal(sent.body.resource_id, group.actor_id);
  t.equal(
    await refusal('POST', messages, link('entity', 'ext:shift')),
    '404 resource_not_found link_resource_id',
  );
  const topic = { topic: { type: 'actor', id: 'ext:ada' } };
  const changed = await call<{ topic_id: string }>('PATCH', '/v1/messaging/conversations/ext:order-17', {
    body: topic,
  });
  t.equal(changed.body.topic_id, ada.id);
});

t.test('polls follow a conversation by its external id', async (t) => {
  const poll = (id: string) => ({ body: { subscribe: [{ conversation_id: id }], wait_ms: 0 } });
  const token = vera.access_token;
  const answer = await call<{ frames: { type: string; conversation_id: string }[] }>(
    'POST',
    '/v1/realtime/poll',
    { ...poll('ext:order-17'), token },
  );
  t.ok(
    answer.body.frames.some((frame) => frame.conversation_id === place.id),
    answer.text,
  );
  const twice = {
    subscribe: [{ conversation_id: place.id }, { conversation_id: 'ext:order-17' }],
    wait_ms: 0,
  };
  const both = await call<typeof answer.body>('POST', '/v1/realtime/poll', { body: twice, token });
  const caughtUp = both.body.frames.filter(({ type }) => type === 'caught_up');
  t.match(caughtUp, [{ conversation_id: place.id }], 'by both of its names it is followed once');
});

t.test('sockets of the new version alone show it', async (t) => {
  const open = async (version: string) => {
    const headers = {
      Authorization: `Bearer ${vera.access_token}`,
      'Service-Account': demo.account_id,
      'Service-Version': version,
    };
    const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
    t.teardown(() => client.close());
    await client.frame('ready');
    client.send({ type: 'subscribe', id: 's', conversation_id: place.id });
    await client.frame('caught_up');
    return client;
  };
  const [older, newer] = [await open('1.2.harbor'), await open(NEWEST_VERSION)];
  await call('PATCH', `/v1/messaging/conversations/${place.id}`, { body: { title: 'Order 18' } });
  const updated = (client: Client) => client.frame((frame) => frame.event === 'conversation.updated');
  t.match((await updated(newer)).data, { external_id: 'order-17' });
  t.notMatch(JSON.stringify(await updated(older)), 'external_id');
});

t.test('a filter takes one, and refuses an unknown one', async (t) => {
  const list = '/v1/messaging/conversations';
  const read = async (query: string) =>
    (await call<{ data: Made[] }>('GET', `${list}?${query}`)).body.data.map(({ id }) => id);
  t.ok((await read('participant_id=ext:ada')).includes(place.id));
  t.same(await read('conversation_ids[]=ext:order-17'), [place.id]);
  t.equal(await refusal('GET', `${list}?participant_id=ext:bob`), '400 parameter_invalid participant_id');
});

t.test('an id that names several resources is a conflict', async (t) => {
  await named(group.actor_id, 'ada');
  const body = { client_message_id: '2', body: 'Hello', mentions: ['ext:ada'] };
  const path = `/v1/messaging/conversations/${place.id}/messages`;
  t.equal(await refusal('POST', path, { body }), '409 resource_conflict mentions[0]');
  t.equal(await refusal('GET', '/v1/users/ext:ada'), '200');
  await named(group.actor_id, 'shift');
});

t.test('another account and an older version do not have it', async (t) => {
  const { api_key: token, account_id } = demo.other_account;
  const headers = { 'Service-Account': account_id };
  const path = '/v1/messaging/conversations/ext:order-17';
  t.equal(await refusal('GET', path, { token, headers }), '404 resource_not_found id');
  t.equal(
    refusalOf(await app.call('GET', path, { headers: { 'Service-Version': '1.2.harbor' } })),
    '404 resource_not_found id',
  );
});

t.test('an Idempotency-Key belongs to what was sent', async (t) => {
  const headers = { 'Idempotency-Key': 'k1' };
  const body = { name: 'Shift K', members: ['ext:ada'] };
  const first = await call('POST', '/v1/messaging/groups', { body, headers });
  const again = await call('POST', '/v1/messaging/groups', { body, headers });
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  t.equal(again.text, first.text);
});
