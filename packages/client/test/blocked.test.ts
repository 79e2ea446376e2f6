/** The SDK against a real node, over streams and polls, through proxies that block sockets. */

import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import t, { type Test } from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { type Block, BlockingProxy } from '../../../test/support/blocking-proxy.ts';
import { historyProblems } from '../../../test/support/check-delivery.ts';
import { storedMessages } from '../../../test/support/stored-messages.ts';
import { until } from '../../../test/support/until.ts';
import { type Client, connect, type Message, type Transport } from '../index.ts';

const app = await borrowTestApp(t);
const { group, direct } = app.demo.conversations;
const { ada, grace } = app.demo.users;

/** Polls are named, because it takes seconds to find out that a stream does not arrive. */
const WAYS: readonly (readonly [Block, Transport, only?: readonly Transport[]])[] = [
  ['open', 'websocket'],
  ['refusing', 'stream'],
  ['stripping', 'stream'],
  ['buffering', 'poll', ['poll']],
  ['mute', 'poll', ['poll']],
];
const HTTP_WAYS = WAYS.filter(([block]) => block === 'refusing' || block === 'buffering');

t.test('each message once and in order, and each change', async (t) => {
  for (const way of WAYS) {
    const reader = await read(t, way);
    const bodies = Array.from({ length: 20 }, (_, n) => `ahoy ${n}`);
    const [first] = await Promise.all(bodies.map((body) => post(reader.id, body)));
    await reader.isComplete(t, 20);
    await app.call('PATCH', `/v1/messaging/messages/${first!.id}`, { body: { body: 'edited' } });
    await until(() => reader.updates.includes('edited'), { what: 'the edit' });
    await reader.isComplete(t, 20);
    reader.client.close();
  }
});

t.test('one conversation after the other is opened, while messages arrive in all of them', async (t) => {
  for (const way of HTTP_WAYS) {
    const reader = await read(t, way);
    const opened: { readonly id: string; readonly bodies: (string | null)[] }[] = [];
    for (let n = 0; n < 5; n++) {
      const one = { id: await createGroup(`Pier ${n}`), bodies: [] as (string | null)[] };
      opened.push(one);
      await post(one.id, 'before');
      reader.client.subscribe(one.id, { backlog: n % 2, onMessage: ({ body }) => one.bodies.push(body) });
      await post(reader.id, `meanwhile ${n}`);
      await until(() => reader.client.state === 'live', { what: 'live with one more' });
      await Promise.all(opened.map(({ id }) => post(id, `behind ${n}`)));
    }
    await until(() => opened.every(({ bodies }) => bodies.includes('behind 4')), { what: 'all of them' });
    for (const [n, { bodies }] of opened.entries()) {
      const behind = [0, 1, 2, 3, 4].slice(n).map((round) => `behind ${round}`);
      t.strictSame(bodies, n % 2 === 1 ? ['before', ...behind] : behind);
    }
    await reader.isComplete(t, 5);
    reader.client.close();
  }
});

t.test('typing, presence and read positions reach others', async (t) => {
  for (const way of HTTP_WAYS) {
    const [block] = way;
    const watcher = open(t, app.baseUrl, { token: grace.access_token });
    const events: EventOf[] = [];
    watcher.subscribe(group, { onMessage() {}, onEvent: (event) => events.push(event) });
    await until(() => watcher.state === 'live', { what: 'the watcher' });
    const { client } = await read(t, way, group);
    const has = (event: EventOf['event'], fields: Readonly<Record<string, unknown>>) =>
      until(
        () => events.some((one) => one.event === event && isMatch(one.data, { actor_id: ada.id, ...fields })),
        {
          what: `${event} ${JSON.stringify(fields)}`,
        },
      );
    await client.request('typing', { conversation_id: group, state: 'start' });
    await has('typing', { state: 'start' });
    const { sequence } = await post(group, `${block}, to be read`, grace.access_token);
    t.match(await client.request('mark_read', { conversation_id: group, sequence }), { unread: 0 });
    await has('read', { sequence });
    await client.request('presence', { status: 'away' });
    await has('presence', { status: 'away' });
    client.close();
    watcher.close();
  }
});

t.test('a caller that is refused, and one that loses a right', async (t) => {
  for (const way of HTTP_WAYS) {
    const [block, , transports] = way;
    const proxy = await BlockingProxy.start(t, app.baseUrl, block);
    const stranger = open(t, proxy.url, { token: 'parley_nobody', ...(transports && { transports }) });
    const end = await new Promise((resolve) => stranger.on('end', resolve));
    t.match(end, { code: 4202, error: { code: 'invalid_credentials' } });

    const reader = await read(t, way, await createGroup('Pier', [grace]), grace.access_token);
    const path = `/v1/messaging/conversations/${reader.id}`;
    const { body } = await app.call<Conversation>('GET', `${path}?include[]=participants`);
    const own = body.participants!.find(({ actor }) => actor?.id === grace.id)!;
    await app.call('DELETE', `${path}/participants/${own.id}`);
    await until(() => reader.ended.length === 1, { what: 'the end of the subscription' });
    t.strictSame(reader.ended, ['revoked']);
    reader.client.close();
  }
});

t.test('notifications arrive without any subscription', async (t) => {
  for (const [block, , transports] of HTTP_WAYS) {
    const proxy = await BlockingProxy.start(t, app.baseUrl, block);
    const client = open(t, proxy.url, transports && { transports });
    const ids: string[] = [];
    const bodies: (string | null)[] = [];
    client.on('notification.created', ({ id, body }) => {
      ids.push(id);
      bodies.push(body);
    });
    await until(() => client.state === 'live', { what: 'live' });
    for (const body of [`${block}, one`, `${block}, two`]) await post(direct, body, grace.access_token);
    await until(() => bodies.includes(`${block}, two`), { what: 'the notifications' });
    // A cursor is some seconds old, so notifications of that time may come first.
    t.strictSame(bodies.slice(-2), [`${block}, one`, `${block}, two`]);
    t.equal(new Set(ids).size, ids.length);
    client.close();
  }
});

function open(
  t: Test,
  url: string,
  options: { readonly token?: string; readonly transports?: readonly Transport[] } = {},
): Client {
  const defaults = { url, account: app.demo.account_id, token: ada.access_token, mostWaitMs: 200 };
  const client = connect({ ...defaults, ...options });
  t.teardown(() => client.close());
  return client;
}

/** A client that is live on that conversation, or on one of its own. */
async function read(
  t: Test,
  [block, transport, transports]: (typeof WAYS)[number],
  conversationId?: string,
  token = ada.access_token,
) {
  const proxy = await BlockingProxy.start(t, app.baseUrl, block);
  const id = conversationId ?? (await createGroup(`Pier of ${block}`));
  const client = open(t, proxy.url, { token, ...(transports && { transports }) });
  const messages: Message[] = [];
  const updates: (string | null)[] = [];
  const ended: unknown[] = [];
  client.subscribe(id, {
    afterSequence: 0,
    onMessage: (message) => messages.push(message),
    onUpdate: ({ body }) => updates.push(body),
    onStale: () => t.fail('it is stale'),
    onEnd: (why) => ended.push(why),
  });
  await until(() => client.state === 'live', { what: `live through ${block}` });
  t.equal(client.transport, transport);
  const isComplete = async (t: Test, count: number) => {
    await until(() => messages.length >= count, { what: `${count} messages; it has ${messages.length}` });
    const stored = (await storedMessages(app.databaseUrl, [id])).get(id)!;
    const got = messages.map(({ sequence, id }) => ({ sequence: sequence ?? 0, id }));
    t.equal(stored.length, count);
    t.strictSame(historyProblems(got, stored), [], block);
  };
  return { id, client, updates, ended, isComplete };
}

async function createGroup(title: string, members = [ada]): Promise<string> {
  const participants = members.map(({ id }) => ({ type: 'user', actor_id: id }));
  const { body } = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    body: { type: 'group', title, participants },
  });
  return body.id;
}

async function post(id: string, body: string, token = app.demo.api_key) {
  const path = `/v1/messaging/conversations/${id}/messages`;
  const { body: message } = await app.call<{ id: string; sequence: number }>('POST', path, {
    token,
    body: { body, client_message_id: `${id} ${body}` },
  });
  return message;
}

function isMatch(value: object, wanted: Readonly<Record<string, unknown>>): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...value };
  return Object.entries(wanted).every(([name, field]) => fields[name] === field);
}
