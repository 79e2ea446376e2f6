/** The SDK against the real gateway, over a network that breaks. */

import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import {
  type Client,
  type ClientError,
  type ConnectionEnd,
  connect,
  type Message,
  type SubscribeOptions,
} from '../index.ts';
import { openNetwork } from './network.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { group, direct } = demo.conversations;

t.test('each message once and in order, over connections that are cut while others send', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const client = open(t, network.url);
  const messages: Message[] = [];
  const subscription = client.subscribe(group, {
    afterSequence: 0,
    onMessage: (message) => messages.push(message),
  });
  await until(() => client.state === 'live', { what: 'live' });

  const sender = open(t, app.baseUrl);
  let cuts = 0;
  let before = client.state;
  client.on('state', (state) => {
    if (before === 'live') cuts += 1;
    before = state;
  });
  for (let round = 1; round <= 4; round++) {
    const sends = Array.from({ length: 15 }, (_, n) => sender.send(group, `round ${round}, ${n}`));
    if (round > 1) network.cut();
    await Promise.all(sends);
    await until(() => messages.length >= 15 * round, { what: `round ${round}` });
    await until(() => client.state === 'live', { what: 'live again' });
  }
  t.equal(cuts, 3);
  t.strictSame(
    messages.map(({ sequence }) => sequence),
    Array.from({ length: 60 }, (_, index) => index + 1),
  );
  t.equal(new Set(messages.map(({ body }) => body)).size, 60);
  t.equal(subscription.completeThrough, 60);
  t.match(messages[0], { sender: { name: 'Demo' } });
});

t.test('a feed that fell too far behind is an event of its own, and nothing else is lost', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const client = open(t, network.url, demo.users.ada.access_token);
  const stales: number[] = [];
  const bodies: (string | null)[] = [];
  client.on('stale', () => stales.push(bodies.length));
  client.subscribe(direct, { onMessage: ({ body }) => bodies.push(body) });
  await until(() => client.state === 'live', { what: 'live', timeoutMs: 60_000 });
  // Only rows: no event announces them while the connection is open.
  await app.database.query(INSERT_NOTIFICATIONS, demo.account_id, demo.users.ada.id);
  network.cut();
  await open(t, app.baseUrl).send(direct, 'meanwhile');
  await until(() => bodies.includes('meanwhile'), { what: 'the message', timeoutMs: 60_000 });
  await until(() => stales.length > 0, { what: 'the stale feed' });
  await until(() => client.state === 'live', { what: 'live again' });
  t.equal(stales.length, 1);
});

t.test('a backlog, changes, and events that others may not see', async (t) => {
  const client = open(t, app.baseUrl);
  const { messages, updates, ends } = record();
  client.subscribe(group, { backlog: 2, ...messages.handlers, ...updates.handlers });
  await until(() => client.state === 'live', { what: 'live' });
  t.strictSame(messages.seen(), [59, 60]);
  const late: (number | null)[] = [];
  client.subscribe(group, { afterSequence: 57, onMessage: ({ sequence }) => late.push(sequence) });
  const sent = await client.send(group, { body: 'ahoy', client_message_id: 'the same' });
  await until(() => messages.seen().length === 3, { what: 'its own message' });
  await until(() => late.length === 4, { what: 'all of it, for the second subscription' });
  t.strictSame(late, [58, 59, 60, 61]);
  t.equal(
    (await client.send(group, { body: 'ahoy', client_message_id: 'the same' })).id,
    sent.id,
    'sent once',
  );
  await app.call('PATCH', `/v1/messaging/messages/${sent.id}`, { body: { body: 'aye' } });
  await until(() => updates.list.length === 1, { what: 'the change' });
  t.match(updates.list, [{ id: sent.id, body: 'aye', sequence: 61 }]);

  client.subscribe('cnv_nothing', { onMessage() {}, ...ends.handlers });
  await until(() => ends.list.length === 1, { what: 'the refusal' });
  t.match(ends.list, [{ code: 'resource_not_found' }]);
  await t.rejects(client.send('cnv_nothing', 'ahoy'), { name: 'ParleyError', status: 404 });
  await t.rejects(client.request('typing', { conversation_id: 'cnv_nothing', state: 'start' }), {
    name: 'ParleyError',
  });
});

t.test('changes from while no client could connect', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const client = open(t, network.url);
  const { messages, updates } = record();
  let stale = 0;
  const onStale = () => {
    stale += 1;
  };
  client.subscribe(group, { ...messages.handlers, ...updates.handlers, onStale });
  await until(() => client.state === 'live', { what: 'live' });
  const { id } = await client.send(group, 'before');
  await until(() => messages.seen().length === 1, { what: 'the message' });
  network.target = 'http://127.0.0.1:1';
  network.cut();
  await until(() => client.state === 'offline', { what: 'offline' });
  await app.call('PATCH', `/v1/messaging/messages/${id}`, { body: { body: 'edited' } });
  network.target = app.baseUrl;
  // With what else was changed since the cursor.
  const edit = await until(() => updates.list.find((message) => message.id === id), { what: 'the edit' });
  t.equal(edit.body, 'edited');
  t.equal(stale, 0, 'nothing has to be loaded anew');
});

t.test('a key, an account or a version that is none: which of them it is', async (t) => {
  for (const [overrides, reason, code, closed] of [
    [{ token: 'parley_nobody' }, 'credential_rejected', 'invalid_credentials', 4202],
    [{ account: demo.other_account.account_id }, 'account_rejected', 'resource_not_found', 4202],
    [{ version: '0.9.harbor' }, 'version_rejected', 'api_version_invalid', 4401],
  ] as const) {
    const client = connect({
      url: app.baseUrl,
      account: demo.account_id,
      token: demo.api_key,
      ...overrides,
    });
    t.teardown(() => client.close());
    const errors: ClientError[] = [];
    client.on('error', (error) => errors.push(error));
    const end = await new Promise<ConnectionEnd>((resolve) => client.on('end', resolve));
    t.match(errors, [{ reason, willRetry: false, error: { code } }]);
    t.match(end, { code: closed, error: { code } });
  }
});

t.test('presence is declared again on a new connection, and typing waits for one', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const [ada, grace] = [demo.users.ada, demo.users.grace];
  const watcher = open(t, app.baseUrl, grace.access_token);
  const events: EventOf[] = [];
  watcher.subscribe(group, { onMessage() {}, onEvent: (event) => events.push(event) });
  await until(() => watcher.state === 'live', { what: 'live' });

  const client = open(t, network.url, ada.access_token);
  client.subscribe(group, { onMessage() {} });
  // Before there is a connection.
  const declared = client.request('presence', { status: 'away' });
  await client.request('typing', { conversation_id: group, state: 'start' });
  await declared;
  const of = (event: EventOf['event'], state: object) => () =>
    events.some((one) => one.event === event && isMatch(one.data, { actor_id: ada.id, ...state }));
  await until(of('presence', { status: 'away' }), { what: 'presence' });
  await until(of('typing', { state: 'start' }), { what: 'typing' });

  network.target = 'http://127.0.0.1:1';
  network.cut();
  await until(() => client.state === 'offline', { what: 'offline' });
  events.length = 0;
  const late = client.request('typing', { conversation_id: group, state: 'start' }, { timeoutMs: 60_000 });
  network.target = app.baseUrl;
  await late;
  await until(of('typing', { state: 'start' }), { what: 'typing behind the break' });
  // A new reader receives the current presence, which contains only what the new connection has
  // declared.
  const newcomer = open(t, app.baseUrl);
  const shown: EventOf[] = [];
  newcomer.subscribe(group, { onMessage() {}, onEvent: (event) => shown.push(event) });
  await until(() => shown.some((one) => one.event === 'presence' && one.data.status === 'away'), {
    what: 'presence on the new connection',
  });
});

function open(t: Teardown, url: string, token = demo.api_key): Client {
  const client = connect({ url, account: demo.account_id, token, mostWaitMs: 200 });
  t.teardown(() => client.close());
  return client;
}

function record() {
  const messages: Message[] = [];
  const updates: Message[] = [];
  const ends: unknown[] = [];
  return {
    messages: {
      seen: () => messages.map(({ sequence }) => sequence),
      handlers: { onMessage: (message) => messages.push(message) } satisfies SubscribeOptions,
    },
    updates: { list: updates, handlers: { onUpdate: (message: Message) => updates.push(message) } },
    ends: { list: ends, handlers: { onEnd: (why: unknown) => ends.push(why) } },
  };
}

function isMatch(value: object, wanted: Readonly<Record<string, unknown>>): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...value };
  return Object.entries(wanted).every(([name, field]) => fields[name] === field);
}

/** More changes of a feed than a resume replays. */
const INSERT_NOTIFICATIONS = {
  name: 'insert-many-notifications',
  text: `
    INSERT INTO notifications (id, account_id, recipient_id, category, title, sender_type, changed_in)
    SELECT notification_id(now(), gen_random_uuid()::text, $2), $1, $2, 'system.broadcast', 'Tide', 'system', pg_current_xact_id()
    FROM generate_series(1, 1001)`,
};
