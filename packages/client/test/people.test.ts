/**
 * The people of the SDK against the real server: names behind ids, presence, and the own profile.
 */

import type { Actor } from '@parley/protocol/resources/actor.ts';
import t from 'tap';
import { Conversations } from '../../../test/conversations/fixture.ts';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { ParleyError } from '../errors/parley-error.ts';
import { type Client, type ConnectOptions, connect } from '../index.ts';
import { KnownPeople } from '../people/known-people.ts';
import { SYSTEM_TIMING } from '../timing/timing.ts';
import { openNetwork } from './network.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);

t.test('an id has its name as soon as it is read, and many are asked for at once', async (t) => {
  const paths: string[] = [];
  const client = open(t, grace.access_token, {
    fetch: (input, init) => {
      paths.push(String(input));
      return fetch(input, init);
    },
  });
  const learned: string[] = [];
  client.actors.onLearned((id) => learned.push(id));
  const ids = [ada.id, vera.id, demo.agent.actor_id, 'act_nobody'];
  t.strictSame(
    ids.map((id) => client.actors.get(id)),
    ids.map(() => undefined),
  );
  await until(() => client.actors.get(demo.agent.actor_id), { what: 'the names' });
  t.match(client.actors.get(ada.id), { name: 'Ada Lovelace', type: 'user', object: 'actor' });
  t.match(client.actors.get(vera.id), { name: 'Vera Rubin' });
  for (const id of ids.slice(0, 3)) t.ok(learned.includes(id));
  await until(() => client.actor, { what: 'the caller' });
  t.match(client.actors.get(grace.id), { name: 'Grace Hopper' }, 'the caller needs no request');
  t.equal(paths.filter((path) => path.includes('/v1/messaging/actors?')).length, 1);
  t.equal(client.actors.get('act_nobody'), undefined);
  t.equal(paths.filter((path) => path.includes('/v1/messaging/actors?')).length, 1, 'nor asked for again');
});

t.test('what passes is learned: answers, events, and a new name', async (t) => {
  const client = open(t);
  const { conversation, customer } = await conversations.createCase();
  await conversations.add(conversation.id, { type: 'user', actor_id: grace.id });
  await client.conversations.get(conversation.id, ['participants']);
  t.match(client.actors.get(customer.actor!.id), { name: 'Cleo' });
  client.subscribe(conversation.id, { onMessage() {} });
  await until(() => client.state === 'live', { what: 'live' });
  await open(t, ada.access_token).updateMe({ name: 'Ada King' });
  await until(() => client.actors.get(ada.id)?.name === 'Ada King', { what: 'the new name' });
});

t.test('a customer that the caller has nothing to do with stays unknown', async (t) => {
  const { customer } = await conversations.createCase();
  const [member, admin] = [open(t), open(t, ada.access_token)];
  admin.actors.get(customer.actor!.id);
  await until(() => admin.actors.get(customer.actor!.id), { what: 'the customer' });
  const { data } = await member.fetch<{ data: Actor[] }>(
    `/v1/messaging/actors?actor_ids[]=${customer.actor!.id}&actor_ids[]=${vera.id}`,
  );
  t.match(data, [{ id: vera.id }]);
  t.equal(data.length, 1);
  const outside = open(t, demo.customer.access_token);
  await t.rejects(outside.fetch(`/v1/messaging/actors?actor_ids[]=${vera.id}`), {
    code: 'insufficient_permissions',
  });
});

t.test('it is bounded, and a server without the request is asked once', async (t) => {
  let asked = 0;
  const people = new KnownPeople({
    timing: SYSTEM_TIMING,
    fetch: () => {
      asked += 1;
      return Promise.reject(
        new ParleyError('resource_not_found', 'There is no such endpoint.', { status: 404 }),
      );
    },
  });
  const actor = (id: string): Actor => {
    return { id, object: 'actor', type: 'user', name: id, handle: null, avatar_url: null, role: null };
  };
  for (let n = 0; n < 2_500; n++) people.learn(actor(`act_${n}`));
  t.match(people.get('act_2499'), { name: 'act_2499' });
  t.equal(people.get('act_0'), undefined, 'the first ones are forgotten');
  await until(() => asked === 1, { what: 'the request' });
  await new Promise((resolve) => setImmediate(resolve));
  people.get('act_1');
  await until(() => true, { what: 'a moment' });
  t.equal(asked, 1);
});

t.test('presence: what the server knows, then what is declared', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const watcher = open(t, grace.access_token, {}, network.url);
  const presence = watcher.presence([ada.id, vera.id, 'act_nobody']);
  t.teardown(() => presence.close());
  t.equal(presence.snapshot.status, 'loading');
  await until(() => presence.snapshot.status === 'ready', { what: 'the presence' });
  t.strictSame(
    [...presence.snapshot.presence],
    [
      [ada.id, 'offline'],
      [vera.id, 'offline'],
    ],
  );
  watcher.subscribe(demo.conversations.group, { onMessage() {} });
  await until(() => watcher.state === 'live', { what: 'live' });
  const client = open(t, ada.access_token);
  client.subscribe(demo.conversations.group, { onMessage() {} });
  await client.setPresence('away');
  await until(() => presence.snapshot.presence.get(ada.id) === 'away', { what: 'away' });
  const before = presence.snapshot;
  await client.setPresence('online');
  await until(() => presence.snapshot.presence.get(ada.id) === 'online', { what: 'online' });
  t.not(presence.snapshot, before);
  const second = watcher.presence([ada.id]);
  t.teardown(() => second.close());
  await until(() => second.snapshot.presence.get(ada.id) === 'online', { what: 'what is known already' });
  await t.rejects(watcher.setPresence('offline' as 'away'), { name: 'ParleyError' });
});

t.test('the own picture is uploaded and cleared', async (t) => {
  const client = open(t);
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
    'base64',
  );
  const { actor } = await client.updateMe({ avatar: new File([png], 'me.png', { type: 'image/png' }) });
  t.match(actor.avatar_url, /^http/);
  t.equal(client.actors.get(grace.id)?.avatar_url, actor.avatar_url);
  t.equal((await client.updateMe({ avatar: null })).actor.avatar_url, null);
  t.equal((await client.me()).actor.name, 'Grace Hopper');
  await t.rejects(client.updateMe({ name: '' }), { name: 'ParleyError', param: 'name' });
});

function open(
  t: Teardown,
  token = grace.access_token,
  options: Partial<ConnectOptions> = {},
  url = app.baseUrl,
): Client {
  const client = connect({ url, account: demo.account_id, token, mostWaitMs: 200, ...options });
  t.teardown(() => client.close());
  return client;
}
