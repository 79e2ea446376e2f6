/**
 * The people a caller may write to, and their presence over all nodes (docs/contract.md#people).
 */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ActorPresence, Person } from '@parley/protocol/resources/person.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { type CallOptions, callsAt, refusalOf, startTestApp } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';
import { startNode } from '../support/node.ts';
import { startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { personWith, walk } from './fixture.ts';

const redis = await startRedis(t);
const VERSION = '1.2.harbor';
const app = await startTestApp(t, { REDIS_URL: redis.url });
const { call } = callsAt(app, VERSION);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const other = await startNode(t, { databaseUrl: app.databaseUrl, redisUrl: redis.url });
const PEOPLE = '/v1/messaging/people';
const PRESENCE = '/v1/messaging/presence';
const FORBIDDEN = '403 insufficient_permissions null';

t.test('people: every field and no other, without users:read, by name, but oneself', async (t) => {
  const { body } = await call<List<Person>>('GET', PEOPLE, { token: vera.access_token });
  const person = (id: string, type: Person['type'], name: string, handle: string | null) => ({
    id,
    object: 'person',
    type,
    name,
    handle,
    avatar_url: null,
    presence: type === 'user' ? 'offline' : null,
  });
  t.strictSame(body.data, [
    person(ada.id, 'user', 'Ada Lovelace', ada.email),
    person(demo.agent.actor_id, 'agent', 'Assistant', null),
    person(grace.id, 'user', 'Grace Hopper', grace.email),
  ]);
  t.equal((await call<List<Person>>('GET', PEOPLE)).body.data.length, 4, 'a key is nobody among them');
  t.strictSame(await names('q=HOPP'), ['Grace Hopper']);
  t.strictSame(await names(`search=${encodeURIComponent(ada.email)}`), ['Ada Lovelace'], 'by handle');
  t.strictSame(await names('q=%25'), [], 'no wildcards');
  const carl = await database.kysely
    .selectFrom('actors')
    .select('name')
    .where('customer', '=', true)
    .execute();
  for (const { name } of carl)
    t.strictSame(await names(`q=${encodeURIComponent(name!)}`), [], 'no customers');
});

t.test('actors by their ids: every field and no other, in the order of the request', async (t) => {
  const { call } = callsAt(app, '1.3.harbor');
  const ACTORS = '/v1/messaging/actors';
  const look = async (ids: readonly string[], options: CallOptions = {}) =>
    (await call<List<Actor>>('GET', `${ACTORS}?${ids.map((id) => `actor_ids[]=${id}`).join('&')}`, options))
      .body.data;
  const fields = { object: 'actor', handle: null, avatar_url: null, role: null };
  const { actor_id: agent } = demo.agent;
  const { actor_id: customer } = demo.customer;
  const byVera = { token: vera.access_token };
  t.strictSame(await look([grace.id, newId('actor'), agent, grace.id, 'x'], byVera), [
    { ...fields, id: grace.id, type: 'user', name: 'Grace Hopper', handle: grace.email },
    { ...fields, id: agent, type: 'agent', name: 'Assistant' },
  ]);
  const person = await personWith(app, ['messaging:read']);
  await call('POST', `/v1/users/${person.id}/actions/deactivate`);
  t.equal((await look([person.id], byVera)).length, 1, 'former ones too');
  t.strictSame(
    (await look([customer], { token: ada.access_token })).map(({ id }) => id),
    [customer],
    'a customer to those that see the account',
  );
  const { token } = await personWith(app, ['messaging:read']);
  t.strictSame(await look([customer], { token }), [], 'and to those that share a case with it');
  const elsewhere = {
    headers: { 'Service-Account': demo.other_account.account_id },
    token: demo.other_account.api_key,
  };
  t.strictSame(await look([grace.id], elsewhere), [], 'no other account');
  const refusals: [query: string, options: CallOptions, expected: string][] = [
    ['', byVera, '400 parameter_missing actor_ids[]'],
    [
      `actor_ids[]=${Array.from({ length: 101 }, (_, n) => `act_${n}`).join('&actor_ids[]=')}`,
      byVera,
      '400 parameter_invalid actor_ids[]',
    ],
    [`actor_ids[]=${grace.id}`, { token: demo.customer.access_token }, FORBIDDEN],
    [
      `actor_ids[]=${grace.id}`,
      { headers: { 'Service-Version': '1.2.harbor' } },
      '400 api_version_too_old Service-Version',
    ],
  ];
  for (const [query, options, expected] of refusals) {
    t.equal(refusalOf(await call('GET', `${ACTORS}?${query}`, options)), expected);
  }
});

t.test('people who cannot act are not among them', async (t) => {
  const person = await personWith(app, ['messaging:read']);
  await call('PATCH', `/v1/users/${person.id}`, { body: { name: 'Zoe Zephyr' } });
  t.strictSame(await names('q=zephyr'), ['Zoe Zephyr']);
  await call('POST', `/v1/users/${person.id}/actions/deactivate`);
  t.strictSame(await names('q=zephyr'), []);
  const { id } = demo.agent;
  await call('PATCH', `/v1/ai/agents/${id}`, { body: { status: 'inactive' } });
  t.strictSame(await names('q=assistant'), [], 'nor an inactive agent');
  await call('PATCH', `/v1/ai/agents/${id}`, { body: { status: 'active' } });
});

t.test('people in pages, both ways, in the order of their names, one account each', async (t) => {
  const { role_id: roleId } = await database.kysely
    .selectFrom('actors')
    .select('role_id')
    .where('id', '=', vera.id)
    .executeTakeFirstOrThrow();
  const order = ['pager A', 'Pager b', 'pager C', 'Pager c', 'pager D'];
  const ids = await database.transaction(async (tx) => {
    const made = new Map<string, string>();
    for (const name of order.toReversed()) {
      const email = newAddress();
      const { user } = await createUser(tx, { accountId: demo.account_id, name, email, roleId: roleId! });
      made.set(name, user.id);
    }
    return made;
  });
  const listed = (await call<List<Person>>('GET', `${PEOPLE}?q=pager`)).body.data;
  t.strictSame(
    listed.map(({ name }) => name?.toLowerCase()),
    order.map((name) => name.toLowerCase()),
  );
  const [first, ...rest] = listed.map(({ id }) => id);
  t.equal(first, ids.get('pager A'));
  const walked = { ...app, call: (method: string, at: string) => call(method, at) } as unknown as typeof app;
  t.strictSame(await walk(walked, `${PEOPLE}?q=pager&limit=2`), {
    forth: [first, ...rest],
    back: [first, ...rest],
  });
  const theirs = await call<List<Person>>('GET', `${PEOPLE}?q=pager`, {
    token: demo.other_account.api_key,
    headers: { 'Service-Account': demo.other_account.account_id },
  });
  t.strictSame(theirs.body.data, []);
  for (const [query, expected] of [
    ['limit=0', '400 parameter_invalid limit'],
    ['cursor=x', '400 parameter_invalid cursor'],
    ['type=user', '400 parameter_unknown type'],
  ]) {
    t.equal(await refusal(`${PEOPLE}?${query}`), expected);
  }
});

t.test('presence: of sockets of every node, best first, offline a while after the last', async (t) => {
  const strangers = [newId('actor'), demo.agent.actor_id, demo.customer.participant_id];
  const ids = [grace.id, ...strangers, ada.id, grace.id];
  const query = ids.map((id) => `actor_ids[]=${id}`).join('&');
  const { body } = await call<List<ActorPresence>>('GET', `${PRESENCE}?${query}`, {
    token: vera.access_token,
  });
  t.strictSame(
    body.data,
    [grace.id, ada.id].map((actor_id) => ({ object: 'actor_presence', actor_id, status: 'offline' })),
    'of users of the account, in the order of the request, each once',
  );
  const [phone, laptop] = [await open(other.baseUrl, 'away'), await open(app.baseUrl, 'online')];
  await shows(grace.id, 'online');
  laptop.close();
  await shows(grace.id, 'away');
  t.strictSame((await call<List<Person>>('GET', `${PEOPLE}?q=hopper`)).body.data[0]?.presence, 'away');
  phone.close();
  t.equal(await statusOf(grace.id), 'away', 'still there for a while');
  await database.query({ name: 'age', text: 'UPDATE presences SET until = clock_timestamp()' } as never);
  await shows(grace.id, 'offline');
});

t.test('presence ends with a node that was killed, and outlives a crash of Postgres', async (t) => {
  const doomed = await startNode(t, { databaseUrl: app.databaseUrl, redisUrl: redis.url });
  await open(doomed.baseUrl, 'online');
  await shows(grace.id, 'online');
  await doomed.kill('SIGKILL');
  t.equal(await statusOf(grace.id), 'online', 'until its time is over');
  await database.query({
    name: 'late',
    text: 'UPDATE presence_nodes SET until = clock_timestamp()',
  } as never);
  await shows(grace.id, 'offline');

  const socket = await open(app.baseUrl, 'away');
  await shows(grace.id, 'away');
  await database.query({ name: 'crash', text: 'TRUNCATE presences, presence_nodes' } as never);
  // Any change makes the node write, as the next of its rounds would.
  socket.send(JSON.stringify({ type: 'presence', id: '2', status: 'online' }));
  await shows(grace.id, 'online');
});

t.test('who may ask, and for how many', async (t) => {
  const none = { token: (await personWith(app, ['users:read'])).token };
  for (const path of [PEOPLE, `${PRESENCE}?actor_ids[]=${ada.id}`]) {
    t.equal(await refusal(path, none), FORBIDDEN);
    t.equal(await refusal(path, { token: demo.customer.access_token }), FORBIDDEN);
  }
  t.equal(await refusal(PRESENCE), '400 parameter_missing actor_ids[]');
  const many = Array.from({ length: 101 }, () => `actor_ids[]=${ada.id}`).join('&');
  t.equal(await refusal(`${PRESENCE}?${many}`), '400 parameter_invalid actor_ids[]');
  t.equal(await refusal(`${PRESENCE}?actor_ids[]=${'a'.repeat(65)}`), '400 parameter_invalid actor_ids[]');
  const theirs = {
    token: demo.other_account.api_key,
    headers: { 'Service-Account': demo.other_account.account_id },
  };
  const { body } = await call<List<ActorPresence>>('GET', `${PRESENCE}?actor_ids[]=${ada.id}`, theirs);
  t.strictSame(body.data, [], 'another account learns nothing');
});

async function names(query: string): Promise<(string | null)[]> {
  return (await call<List<Person>>('GET', `${PEOPLE}?${query}`)).body.data.map(({ name }) => name);
}

async function statusOf(id: string): Promise<string | undefined> {
  return (await call<List<ActorPresence>>('GET', `${PRESENCE}?actor_ids[]=${id}`)).body.data[0]?.status;
}

function shows(id: string, status: string): Promise<unknown> {
  return until(async () => (await statusOf(id)) === status, { what: status, timeoutMs: 60_000 });
}

async function refusal(path: string, options: CallOptions = {}): Promise<string> {
  return refusalOf(await call('GET', path, options));
}

/** A socket of Grace that has declared this status. */
async function open(baseUrl: string, status: string): Promise<WebSocket> {
  const headers = {
    Authorization: `Bearer ${await app.tokenOf(grace.id)}`,
    'Service-Version': VERSION,
    'Service-Account': demo.account_id,
  };
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/realtime`, { headers });
  t.teardown(() => socket.terminate());
  socket.on('error', () => {});
  await new Promise((resolve) => {
    socket.on('message', (data) => JSON.parse(String(data)).type === 'ready' && resolve(undefined));
  });
  socket.send(JSON.stringify({ type: 'presence', id: '1', status }));
  return socket;
}
