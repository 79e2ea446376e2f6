/**
 * Which users a caller knows, by both settings of the account (docs/contract.md#who-knows-whom): a
 * user that the caller does not know is answered like one that does not exist.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Account } from '@parley/protocol/resources/account.ts';
import type { MessagingGroup } from '@parley/protocol/resources/actor.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { Block, Participant } from '@parley/protocol/resources/participant.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../gateway/fixture.ts';
import { borrowTestApp, type CallOptions, callsAt } from '../support/app.ts';
import { until } from '../support/until.ts';
import { personWith } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada } = demo.users;
const { call, refusal } = callsAt(app, NEWEST_VERSION);

const PEOPLE = '/v1/messaging/people';
const CONVERSATIONS = '/v1/messaging/conversations';
const MEMBER = ['messaging:read', 'messaging:create', 'messaging:update', 'notifications:create'] as const;
const reader = await personWith(app, MEMBER);
const companion = await personWith(app, MEMBER);
const stranger = await personWith(app, MEMBER);
const administrator = await personWith(app, [...MEMBER, 'users:read']);
const own = (id: string) => `own-${id}`;
for (const { id } of [companion, stranger]) {
  await change('PATCH', `/v1/users/${id}`, { body: { external_id: own(id) } });
}
const room = await start([reader.id, companion.id]);
await change('POST', `${CONVERSATIONS}/${room}/participants`, { body: asAgent(demo.agent.actor_id) });
const { id: roster } = (
  await change<MessagingGroup>('POST', '/v1/messaging/groups', {
    body: { name: 'Known', members: [stranger.id, companion.id, demo.agent.id] },
  })
).body;
const { id: ofReader } = (
  await change<MessagingGroup>('POST', '/v1/messaging/groups', { token: reader.token, body: { name: 'Own' } })
).body;
const agent = await app.tokenOf(demo.agent.actor_id);

/** Requests of a member that name a user, by its id or an external id. */
const NAMING: readonly [what: string, ask: (id: string) => [method: string, path: string, body?: object]][] =
  [
    ['a person', (id) => ['GET', `/v1/messaging/people/${encodeURIComponent(id)}`]],
    ['presence', (id) => ['GET', `/v1/messaging/presence?actor_ids[]=${id}`]],
    ['actors', (id) => ['GET', `/v1/messaging/actors?actor_ids[]=${id}`]],
    ['a group conversation', (id) => ['POST', CONVERSATIONS, { type: 'group', participants: [user(id)] }]],
    ['an agent of that id', (id) => ['POST', CONVERSATIONS, { type: 'group', participants: [asAgent(id)] }]],
    [
      'a direct message',
      (id) => ['POST', CONVERSATIONS, { type: 'direct_message', participants: [user(id)] }],
    ],
    [
      'a conversation with an own id',
      (id) => ['PUT', `${CONVERSATIONS}/ext:put`, { type: 'group', participants: [user(id)] }],
    ],
    ['a topic', (id) => ['POST', CONVERSATIONS, { type: 'group', topic: { type: 'actor', id } }]],
    ['a participant', (id) => ['POST', `${CONVERSATIONS}/${room}/participants`, user(id)]],
    ['an assignee', (id) => ['PATCH', `${CONVERSATIONS}/${room}`, { assignee_id: id }]],
    ['a mention', (id) => ['POST', `${CONVERSATIONS}/${room}/messages`, message({ mentions: [id] })]],
    [
      'a link',
      (id) => [
        'POST',
        `${CONVERSATIONS}/${room}/messages`,
        message({ link_resource_type: 'actor', link_resource_id: id }),
      ],
    ],
    [
      'an attachment',
      (id) => [
        'POST',
        `${CONVERSATIONS}/${room}/messages`,
        message({ attachments: [{ kind: 'resource', resource_type: 'actor', resource_id: id }] }),
      ],
    ],
    ['a group', (id) => ['POST', '/v1/messaging/groups', { name: randomUUID(), members: [id] }]],
    ['members', (id) => ['PATCH', `/v1/messaging/groups/${ofReader}`, { members: [id] }]],
    ['an author', (id) => ['GET', `/v1/messaging/search?q=said&author_id=${id}`]],
    ['cases of', (id) => ['GET', `${CONVERSATIONS}?assignee_id=${id}`]],
    ['conversations about', (id) => ['GET', `${CONVERSATIONS}?topic_type=actor&topic_id=${id}`]],
    ['notifications by', (id) => ['GET', `/v1/messaging/notifications?sender_ids[]=${id}`]],
    ['a view', (id) => ['POST', '/v1/messaging/views', { name: randomUUID(), filters: { assignee_id: id } }]],
    [
      'a recipient',
      (id) => [
        'POST',
        '/v1/messaging/notifications',
        { category: 'system.broadcast', title: 'Ahoy', recipient_ids: [id] },
      ],
    ],
    ['a block', (id) => ['POST', `/v1/messaging/actors/${encodeURIComponent(id)}/actions/block`]],
  ];

/** Those that take users alone. */
const OF_USERS = new Set(['presence', 'a recipient']);

/** Callers that know every user. */
const SEEING = { key: demo.api_key, admin: ada.access_token, administrator: administrator.token };

t.test('the setting: everyone unless it is set, for admins and keys', async (t) => {
  const get = (version: string) =>
    call<Account>('GET', '/v1/account', { headers: { 'Service-Version': version } });
  t.equal((await get(NEWEST_VERSION)).body.people, 'everyone');
  t.notOk('people' in (await get('1.3.harbor')).body);
  const refusals: [body: object, options: CallOptions, expected: string][] = [
    [{ people: 'nobody' }, {}, '422 validation_failed people'],
    [{ people: null }, {}, '400 missing_field people'],
    [{ people: 'shared' }, { token: reader.token }, '403 insufficient_permissions null'],
    [{ people: 'shared' }, { token: demo.customer.access_token }, '403 insufficient_permissions null'],
    [
      { people: 'shared' },
      { headers: { Authorization: undefined } },
      '401 invalid_credentials Authorization',
    ],
  ];
  for (const [body, options, expected] of refusals) {
    t.equal(await refusal('PATCH', '/v1/account', { body, ...options }), expected);
  }
  await set('shared');
  const audit = await call<List<object>>('GET', '/v1/account/audit?action=account.updated');
  t.match(audit.body.data[0], { details: { people: 'shared' } });
});

t.test('shared: a stranger is answered like nobody', async (t) => {
  await set('shared');
  for (const [what, ask] of NAMING) {
    for (const token of [reader.token, agent]) {
      const nobody = await answered(ask, newId('actor'), token);
      t.strictSame(await answered(ask, stranger.id, token), nobody, `${what}: by id`);
      const named = await answered(ask, 'ext:nobody', token);
      t.strictSame(await answered(ask, `ext:${own(stranger.id)}`, token), named, `${what}: by its own id`);
    }
    if (OF_USERS.has(what)) continue;
    const nobody = await answered(ask, newId('actor'), reader.token);
    t.strictNotSame(await answered(ask, demo.agent.actor_id, reader.token), nobody, `${what}: an agent`);
  }
  t.notOk((await idsOf(reader.token)).includes(stranger.id));
  t.notOk((await idsOf(agent)).includes(stranger.id), 'an agent sees no more');
});

t.test('shared: companions, agents and oneself are there', async (t) => {
  await set('shared');
  t.strictSame((await idsOf(reader.token)).sort(), [companion.id, demo.agent.actor_id].sort());
  const names = await call<List<Person>>('GET', `${PEOPLE}?q=Somebody`, { token: reader.token });
  t.strictSame(
    names.body.data.map(({ id }) => id),
    [companion.id],
    'a search',
  );
  for (const id of [companion.id, `ext:${own(companion.id)}`, demo.agent.actor_id, reader.id]) {
    t.equal(await refusal('GET', `${PEOPLE}/${encodeURIComponent(id)}`, { token: reader.token }), '200', id);
  }
  for (const [what, ask] of NAMING) {
    const nobody = await answered(ask, newId('actor'), reader.token);
    t.strictNotSame(await answered(ask, companion.id, reader.token), nobody, what);
  }
});

t.test('shared: admins, administrators and keys see everyone, customers and others nobody', async (t) => {
  await set('shared');
  for (const [who, token] of Object.entries(SEEING)) {
    t.ok((await idsOf(token)).includes(stranger.id), who);
    t.equal(await refusal('GET', `${PEOPLE}/${stranger.id}`, { token }), '200', who);
    for (const path of [`presence?actor_ids[]=${stranger.id}`, `actors?actor_ids[]=${stranger.id}`]) {
      const { body } = await call<List<object>>('GET', `/v1/messaging/${path}`, { token });
      t.equal(body.data.length, 1, `${who}: ${path}`);
    }
  }
  const customer = { token: demo.customer.access_token };
  t.equal(await refusal('GET', PEOPLE, customer), '403 insufficient_permissions null');
  const { other_account: other } = demo;
  const elsewhere = { headers: { 'Service-Account': other.account_id }, token: other.api_key };
  t.equal(await refusal('GET', `${PEOPLE}/${stranger.id}`, elsewhere), '404 resource_not_found id');
});

t.test('shared: a roster shows and adds those alone that the caller knows', async (t) => {
  await set('shared');
  const members = async (token: string) => {
    const path = `/v1/messaging/groups/${roster}?include[]=members`;
    return (await change<MessagingGroup>('GET', path, { token })).body.members!.map(({ id }) => id);
  };
  t.strictSame(await members(reader.token), [companion.id, demo.agent.actor_id]);
  t.strictSame(await members(demo.api_key), [stranger.id, companion.id, demo.agent.actor_id]);
  const body = { type: 'group', group_id: roster };
  const { body: begun } = await change<Conversation>('POST', CONVERSATIONS, { token: reader.token, body });
  t.strictSame(
    (await participants(begun.id)).map(({ actor_id }) => actor_id).sort(),
    [reader.id, companion.id, demo.agent.actor_id].sort(),
  );
});

t.test('shared: users know each other from when they share a conversation until they do not', async (t) => {
  await set('shared');
  const other = await personWith(app, MEMBER);
  const knows = async () => (await idsOf(reader.token)).includes(other.id);
  t.notOk(await knows());
  await change('POST', `${CONVERSATIONS}/${room}/participants`, { body: user(other.id) });
  t.ok(await knows(), 'added by a key');
  await change('POST', `${CONVERSATIONS}/${room}/actions/hide`, { token: other.token });
  t.ok(await knows(), 'hidden from its own list');
  const { body: sent } = await change<ChatMessage>('POST', `${CONVERSATIONS}/${room}/messages`, {
    token: other.token,
    body: message({ mentions: [reader.id] }),
  });
  const sender = async () => {
    const path = '/v1/messaging/notifications?include[]=sender';
    const { body } = await change<List<Notification>>('GET', path, { token: reader.token });
    return body.data.find(({ message_id }) => message_id === sent.id)?.sender?.id;
  };
  await until(async () => (await sender()) === other.id, { what: 'the notification' });
  const mine = (await participants(room)).find(({ actor_id }) => actor_id === other.id)!;
  await change('DELETE', `${CONVERSATIONS}/${room}/participants/${mine.id}`, { token: other.token });
  t.notOk(await knows(), 'left');
  t.equal(await sender(), undefined, 'nor is it shown by a notification');
  const shown = await change<ChatMessage>('GET', `/v1/messaging/messages/${sent.id}?include[]=sender`, {
    token: reader.token,
  });
  t.equal(shown.body.sender?.id, other.id, 'what it wrote names it');
  await start([reader.id, other.id], 'direct_message');
  t.ok(await knows(), 'a direct message');
});

t.test('shared: an admin that is no member types and is present unseen', async (t) => {
  for (const people of ['everyone', 'shared'] as const) {
    await set(people);
    const quiet = await start([reader.id, companion.id]);
    const [follower, admin, fence] = await Promise.all(
      [reader.token, ada.access_token, companion.token].map((token) => follow(token, quiet)),
    );
    for (const client of [admin!, fence!]) {
      await client.request('presence', { status: 'online' });
      await client.request('typing', { conversation_id: quiet, state: 'start' });
    }
    await change('POST', `${CONVERSATIONS}/${quiet}/actions/typing`, {
      token: ada.access_token,
      body: { state: 'start' },
    });
    await change('POST', `${CONVERSATIONS}/${quiet}/actions/typing`, {
      token: companion.token,
      body: { state: 'stop' },
    });
    for (const event of ['presence', 'typing']) {
      await follower!.frame((frame) => frame.event === event && frame.data?.actor_id === companion.id);
    }
    await follower!.frame((frame) => frame.event === 'typing' && frame.data?.state === 'stop');
    const seen = follower!.frames.filter(({ data }) => data?.actor_id === ada.id).map(({ event }) => event);
    const expected = people === 'everyone' ? ['presence', 'typing', 'typing'] : [];
    t.strictSame(seen.sort(), expected, people);
    await change('POST', `${CONVERSATIONS}/${quiet}/participants`, { body: user(ada.id) });
    const again = await follow(ada.access_token, quiet);
    await again.request('presence', { status: 'away' });
    await follower!.frame((frame) => frame.event === 'presence' && frame.data?.actor_id === ada.id);
    for (const client of [follower!, admin!, fence!, again]) client.close();
  }
});

t.test('shared: an admin that is present when that changes is shown or hidden at once', async (t) => {
  await set('everyone');
  const quiet = await start([reader.id, companion.id]);
  const [follower, admin, fence] = await Promise.all(
    [reader.token, ada.access_token, companion.token].map((token) => follow(token, quiet)),
  );
  const seen = (status: string, actorId: string) =>
    follower!.frame(({ event, data }) => {
      return event === 'presence' && data?.status === status && data.actor_id === actorId;
    });
  for (const client of [admin!, fence!]) await client.request('presence', { status: 'online' });
  await Promise.all([seen('online', ada.id), seen('online', companion.id)]);
  await set('shared');
  await seen('offline', ada.id);
  const late = await follow(reader.token, quiet);
  await late.frame(({ event, data }) => event === 'presence' && data?.actor_id === companion.id);
  t.notOk(
    late.frames.some(
      ({ event, data }) => event === 'presence' && data?.status === 'online' && data.actor_id === ada.id,
    ),
  );
  follower!.frames.length = 0;
  await change('POST', `${CONVERSATIONS}/${quiet}/participants`, { body: user(ada.id) });
  await seen('online', ada.id);
  const mine = (await participants(quiet)).find(({ actor_id }) => actor_id === ada.id)!;
  follower!.frames.length = 0;
  await change('DELETE', `${CONVERSATIONS}/${quiet}/participants/${mine.id}`, { token: ada.access_token });
  await seen('offline', ada.id);
  t.notOk(follower!.frames.some(({ data }) => data?.status === 'offline' && data.actor_id === companion.id));
  for (const client of [follower!, admin!, fence!, late]) client.close();
});

t.test('shared: a block of a user whom one no longer knows is listed and lifted', async (t) => {
  await set('everyone');
  const block = (move: string, id: string, token = reader.token) =>
    refusal('POST', `/v1/messaging/actors/${id}/actions/${move}`, { token });
  t.equal(await block('block', stranger.id), '201');
  await set('shared');
  const { body } = await change<List<Block>>('GET', '/v1/messaging/blocks', { token: reader.token });
  const [own, ...others] = body.data.filter(({ actor }) => actor.id === stranger.id);
  t.match(own, { scope: 'direct', blocked_by: { id: reader.id } });
  t.strictSame(others, []);
  t.equal(await block('unblock', stranger.id, companion.token), '404 resource_not_found id', 'of another');
  t.equal(await block('unblock', stranger.id), '200');
  t.equal(await block('unblock', stranger.id), '404 resource_not_found id');
  const again = await change<List<Block>>('GET', '/v1/messaging/blocks', { token: reader.token });
  t.notOk(again.body.data.some(({ actor }) => actor.id === stranger.id));
});

t.test('shared: a block of the team names nobody whom its reader does not know', async (t) => {
  await set('shared');
  const { case: ofCustomer } = demo.conversations;
  const at = `${CONVERSATIONS}/${ofCustomer}/participants`;
  await change('POST', at, { body: user(reader.id) });
  const block = `/v1/messaging/actors/${demo.customer.actor_id}/actions`;
  for (const [token, id] of [
    [reader.token, reader.id],
    [administrator.token, undefined],
  ] as const) {
    if (id === undefined) {
      await change('POST', at, { body: user(administrator.id) });
      const mine = (await participants(ofCustomer)).find(({ actor_id }) => actor_id === administrator.id)!;
      await change('POST', `${block}/block`, { token });
      await change('DELETE', `${at}/${mine.id}`, { token });
    } else await change('POST', `${block}/block`, { token });
    const { body } = await change<List<Block>>('GET', '/v1/messaging/blocks', { token: reader.token });
    t.match(body.data, [{ scope: 'account', actor: { id: demo.customer.actor_id } }]);
    t.equal(body.data[0]!.blocked_by?.id, id);
    await change('POST', `${block}/unblock`, { token: reader.token });
  }
});

t.test('everyone: every user is there', async (t) => {
  await set('everyone');
  t.ok((await idsOf(reader.token)).includes(stranger.id));
  for (const [what, ask] of NAMING) {
    const nobody = await answered(ask, newId('actor'), reader.token);
    if (what === 'a mention') continue;
    t.strictNotSame(await answered(ask, stranger.id, reader.token), nobody, what);
  }
});

function user(actor_id: string) {
  return { type: 'user', actor_id };
}

function asAgent(actor_id: string) {
  return { type: 'agent', actor_id };
}

function message(more: object) {
  return { client_message_id: randomUUID(), body: 'said', ...more };
}

async function start(ids: readonly string[], type: Conversation['type'] = 'group'): Promise<string> {
  const { body } = await change<Conversation>('POST', CONVERSATIONS, {
    body: {
      type,
      participants: ids.map((id, index) => ({
        ...user(id),
        ...(type === 'group' && index === 0 && { role: 'owner' }),
      })),
    },
  });
  return body.id;
}

async function participants(id: string): Promise<readonly Participant[]> {
  return (await change<List<Participant>>('GET', `${CONVERSATIONS}/${id}/participants`)).body.data;
}

/** The ids of the people that the caller is shown, without those of the demo account. */
async function idsOf(token: string): Promise<string[]> {
  const { body } = await change<List<Person>>('GET', `${PEOPLE}?limit=100`, { token });
  return body.data.map(({ id }) => id);
}

/** The answer to a request that names this id, in a form that is the same for all ids. */
async function answered(ask: (typeof NAMING)[number][1], id: string, token: string) {
  const [method, path, body] = ask(id);
  const { status, text } = await call(method, path, { token, body });
  const same = text.replaceAll(id, 'id').replaceAll(encodeURIComponent(id), 'id');
  return { status, text: same.replaceAll(/"(request_id|url)":"[^"]*"/g, '') };
}

async function follow(token: string, conversationId: string): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': NEWEST_VERSION,
    'Service-Account': demo.account_id,
  };
  const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => client.close());
  await client.frame('ready');
  await client.request('subscribe', { conversation_id: conversationId });
  await client.frame('caught_up');
  return client;
}

async function change<Body = object>(method: string, path: string, options: CallOptions = {}) {
  const answer = await call<Body>(method, path, options);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer;
}

/** Sets the setting; callers see it at once. */
async function set(people: Account['people']): Promise<void> {
  await change('PATCH', '/v1/account', { body: { people } });
  const isThere = async () => (await idsOf(reader.token)).includes(stranger.id) === (people === 'everyone');
  await until(isThere, { what: `the setting ${people}` });
}
