/**
 * How the SDK changes over between transports, with a server and a proxy that do as the test says.
 */

import t, { type Test } from 'tap';
import { until } from '../../../test/support/until.ts';
import {
  type Client,
  type ClientError,
  type ClientState,
  type ConnectionEnd,
  type ConnectOptions,
  connect,
  type KeyValueStorage,
  type SubscribeOptions,
} from '../index.ts';
import { ManualTiming } from './manual-timing.ts';
import { messageFrame } from './scripted-request.ts';
import { ScriptedServer } from './scripted-server.ts';

/** Waits of the SDK, in milliseconds; random ones are halved by ManualTiming. */
const FIRST_FRAME = 5_000;
const GATHERING = 25;
const APART = 200;
const RETRY = 125;
const SILENCE = 35_000;
const CLIMB = 30_000;

t.test('upgrades that are refused: a stream at once', async (t) => {
  const { server, client, live, seen, pass } = await open(t, { upgrades: 'refused' });
  const first = await server.request(1);
  t.match(first.headers, { authorization: 'Bearer token', 'service-account': 'acc_1' });
  t.strictSame(first.body, { subscribe: [] });
  await pass(GATHERING);
  const second = await server.request(2);
  t.strictSame(second.body, {
    subscribe: [{ conversation_id: 'cnv_1' }],
    cursor: 'req_1',
    conversations: {},
  });
  await until(() => first.closed, { what: 'the end of the first stream' });
  await live();
  t.equal(client.transport, 'stream');
  for (const sequence of [1, 2, 3]) second.say(messageFrame(sequence));
  t.strictSame(await seen(3), [1, 2, 3]);
  t.strictSame(server.tried, ['websocket', 'stream', 'stream']);
});

t.test('a proxy that never answers an upgrade', async (t) => {
  const { server, client, live, pass } = await open(t, { upgrades: 'ignored' });
  await until(() => server.tried.length === 1, { what: 'the upgrade' });
  await pass(FIRST_FRAME);
  await pass(GATHERING);
  await live();
  t.equal(client.transport, 'stream');
});

t.test('two sockets that are cut early', async (t) => {
  const { server, client, live, pass, errors } = await open(t);
  server.welcome = (socket) => socket.cut();
  await pass(RETRY);
  await pass(GATHERING);
  await live();
  t.equal(client.transport, 'stream');
  t.strictSame(server.tried.slice(0, 3), ['websocket', 'websocket', 'stream']);
  t.strictSame(
    errors.map(({ reason, willRetry }) => [reason, willRetry]),
    [['network', true]],
  );
});

t.test('sockets that the server itself closes are no sign of a proxy', async (t) => {
  const { server, pass } = await open(t);
  server.welcome = (socket) => socket.close(4000, 'going_away');
  for (const wait of [RETRY, 250, 500, 1_000]) await pass(wait);
  await until(() => server.tried.length === 5, { what: 'the fifth socket' });
  t.strictSame(new Set(server.tried), new Set(['websocket']));
});

t.test('sockets that a stopping node refuses are no sign of a proxy', async (t) => {
  const { server, client, live, pass } = await open(t);
  await live();
  server.upgrades = 'refused';
  const first = await server.socket(1);
  first.say({ type: 'goaway', reconnect_in_ms: 700, deadline_ms: 60_000, reason: 'stopping' });
  for (const wait of [700, RETRY, 250]) await pass(wait);
  await until(() => server.tried.length === 4, { what: 'three moves' });
  t.strictSame(new Set(server.tried), new Set(['websocket']));
  t.equal(client.state, 'live');
});

t.test('a stream that is held back: polls', async (t) => {
  const { server, client, live, seen, pass } = await open(t, { upgrades: 'refused' });
  server.respond = (request) => request.transport === 'poll' && request.acknowledge();
  await server.request(1);
  await pass(FIRST_FRAME);
  t.strictSame((await server.request(2)).body, { subscribe: [], wait_ms: 0 });
  await pass(GATHERING);
  t.match((await server.request(3)).body, { subscribe: [{ conversation_id: 'cnv_1' }], wait_ms: 0 });
  await live();
  t.equal(client.transport, 'poll');
  await pass(APART);
  const waiting = await server.request(4);
  t.strictSame(waiting.body, {
    subscribe: [],
    cursor: 'req_3',
    conversations: { cnv_1: 0 },
    wait_ms: 25_000,
  });
  waiting.acknowledge([messageFrame(1), messageFrame(2)]);
  t.strictSame(await seen(2), [1, 2]);
  await pass(APART);
  t.match((await server.request(5)).body, { cursor: 'req_4', conversations: { cnv_1: 2 } });
  t.strictSame(server.tried.slice(0, 3), ['websocket', 'stream', 'poll']);
});

t.test('streams that fall silent behind their first frames: not for ever', async (t) => {
  const { server, client, live, pass } = await open(t, { upgrades: 'refused' });
  await pass(GATHERING);
  await live();
  // No heartbeat came, and the budget is spent on the upgrade that was refused.
  await pass(SILENCE);
  await until(() => client.transport === 'poll', { what: 'polls' });
  t.strictSame(server.tried.slice(0, 4), ['websocket', 'stream', 'stream', 'poll']);
});

t.test('a stream that worked is opened again, twice', async (t) => {
  const { server, client, seen, pass } = await openStream(t);
  const second = await server.request(2);
  second.say({ type: 'ping', t: 1, cursor: 'a heartbeat', heads: {} });
  second.say(messageFrame(1));
  await seen(1);
  server.respond = (request) => request.transport === 'poll' && request.acknowledge();
  await pass(SILENCE);
  await pass(RETRY);
  await server.request(3);
  await pass(FIRST_FRAME);
  await pass(250);
  await server.request(4);
  await pass(FIRST_FRAME);
  await until(() => client.transport === 'poll', { what: 'polls' });
  t.strictSame(server.tried.slice(1), ['stream', 'stream', 'stream', 'stream', 'poll']);
});

t.test('no server at all: the next round begins with a socket, after a wait', async (t) => {
  const { server, client, pass, live } = await open(t, { upgrades: 'refused' });
  server.respond = (request) => request.cut();
  await pass(RETRY);
  await pass(250);
  await until(() => server.tried.length === 9, { what: 'three rounds' });
  const round = ['websocket', 'stream', 'poll'];
  t.strictSame(server.tried, [...round, ...round, ...round]);
  server.upgrades = 'passed';
  await pass(500);
  await live();
  t.equal(client.transport, 'websocket');
});

t.test('a server that lacks the routes, or a proxy that answers for it', async (t) => {
  const refusals: readonly [status: number, code?: string][] = [
    [404, 'resource_not_found'],
    [404],
    [405, 'method_not_allowed'],
    [403],
    [200],
  ];
  for (const refusal of refusals) {
    const { server, client, live, pass } = await open(t, { upgrades: 'refused' });
    server.respond = (request) => request.refuse(...refusal);
    await until(() => server.tried.length === 3, { what: 'all of them' });
    server.upgrades = 'passed';
    await pass(RETRY);
    await live();
    t.equal(client.transport, 'websocket', refusal.join(' '));
  }
});

t.test('subscriptions of one moment are one request, from where the one before ended', async (t) => {
  const { server, client, live, pass } = await openStream(t);
  const second = await server.request(2);
  second.say({ type: 'ping', t: 1, cursor: 'a heartbeat', heads: {} });
  second.say(messageFrame(1));
  const got: (number | null)[] = [];
  const other = client.subscribe('cnv_2', {
    afterSequence: 7,
    onMessage: ({ sequence }) => got.push(sequence),
  });
  client.subscribe('cnv_3', { onMessage() {} });
  await until(() => client.state === 'catching_up', { what: 'catching up' });
  await pass(GATHERING);
  const third = await server.request(3);
  t.match(third.body, {
    subscribe: [{ conversation_id: 'cnv_2', after_sequence: 7 }, { conversation_id: 'cnv_3' }],
    conversations: { cnv_1: /^[01]$/ },
  });
  await until(() => second.closed, { what: 'the end of the second stream' });
  await live();
  third.say(messageFrame(8, 'cnv_2'));
  await until(() => got.length === 1, { what: 'its message' });

  other.unsubscribe();
  await pass(GATHERING);
  const fourth = await server.request(4);
  t.strictSame(Object.keys(fourth.body.conversations ?? {}).sort(), ['cnv_1', 'cnv_3']);
  t.strictSame(fourth.body.subscribe, []);
  t.equal(fourth.body.cursor, 'req_3');
});

t.test('what arrives twice over two streams is passed on once, in order', async (t) => {
  const updates: (string | null)[] = [];
  const onUpdate = ({ body }: { readonly body: string | null }) => updates.push(body);
  const { server, client, live, seen, pass } = await openStream(t, { handlers: { onUpdate } });
  const second = await server.request(2);
  for (const sequence of [1, 2]) second.say(messageFrame(sequence));
  const edit = editFrame(1, 'edited');
  second.say(edit);
  await until(() => updates.length === 1, { what: 'the edit' });
  server.respond = (request) =>
    request.acknowledge([messageFrame(2), messageFrame(3), edit, messageFrame(4)]);
  client.subscribe('cnv_2', { onMessage() {} });
  await pass(GATHERING);
  t.match((await server.request(3)).body, { cursor: 'req_2', conversations: { cnv_1: 2 } });
  t.strictSame(await seen(4), [1, 2, 3, 4]);
  await live();
  t.strictSame(updates, ['edited']);
});

t.test('a heartbeat while a stream still catches up: its cursor is not taken', async (t) => {
  const { server, client, live, pass } = await openStream(t);
  server.respond = (request) => {
    request.acknowledge();
    request.say({ type: 'ping', t: 1, cursor: 'after all', heads: {} });
  };
  client.subscribe('cnv_2', { onMessage() {} });
  await pass(GATHERING);
  await live();
  const third = await server.request(3);
  server.respond = (request) => {
    // The replies and what is missing are still to come.
    request.say({
      type: 'hello',
      connection_id: '',
      server_time: '',
      heartbeat_ms: 25_000,
      max_frame_bytes: 1,
    });
    request.say({ type: 'ping', t: 2, cursor: 'too far', heads: { cnv_1: 9 } });
    request.say({ type: 'caught_up', conversation_id: 'cnv_1', sequence: 0 });
    request.say({ type: 'ping', t: 3, cursor: 'too far', heads: {} });
  };
  client.subscribe('cnv_3', { onMessage() {} });
  await pass(GATHERING);
  const fourth = await server.request(4);
  t.match([third.body.cursor, fourth.body.cursor], [/./, 'after all']);
  server.respond = (request) => request.acknowledge();
  fourth.cut();
  await pass(RETRY);
  await pass(GATHERING);
  await live();
  const last = server.requests.at(-1)!;
  t.equal(last.body.cursor, 'after all');
});

t.test('a cut stream is resumed on the next one', async (t) => {
  const { server, live, states, seen, pass } = await openStream(t);
  const second = await server.request(2);
  second.say({ type: 'ping', t: 1, cursor: 'a heartbeat', heads: {} });
  second.say(messageFrame(1));
  await seen(1);
  states.length = 0;
  second.cut();
  await pass(RETRY);
  await pass(GATHERING);
  await live();
  const third = await server.request(4);
  t.strictSame(third.body, {
    subscribe: [],
    cursor: 'a heartbeat',
    conversations: { cnv_1: 1 },
  });
  t.strictSame(states, ['offline', 'connecting', 'catching_up', 'live']);
});

t.test('a stream that the server ends: by the code of its close frame', async (t) => {
  const { server, client, live, pass, ends, stale } = await openStream(t);
  const close = (code: number, reason = '') => {
    const stream = server.requests.at(-1)!;
    stream.say({ type: 'close', code, reason });
    stream.end();
  };
  close(4101, '{"retry_after_ms":4000}');
  await pass(4_000 + RETRY);
  await pass(GATHERING);
  await live();
  close(4300);
  await pass(RETRY);
  await pass(GATHERING);
  await live();
  t.equal(stale(), 1);
  t.match(server.requests.at(-1)!.body, { subscribe: [{ conversation_id: 'cnv_1', after_sequence: 0 }] });
  close(4403, 'forbidden');
  await until(() => ends.length === 1, { what: 'the end' });
  t.equal(ends[0]?.code, 4403);
  t.equal(client.transport, null);
});

t.test('refusals of a request are those of a socket', async (t) => {
  for (const [status, code, reason] of [
    [401, 'invalid_credentials', 'credential_rejected'],
    [402, 'payment_required', 'account_rejected'],
    [403, 'insufficient_permissions', 'forbidden'],
    [400, 'api_version_invalid', 'version_rejected'],
  ] as const) {
    const { server, ends, errors } = await open(t, { options: { transports: ['stream'] } });
    server.respond = (request) => request.refuse(status, code);
    await until(() => ends.length === 1, { what: `the end after ${code}` });
    t.match(errors.at(-1), { reason, willRetry: false, error: { code } });
  }
  const busy = await open(t, { options: { transports: ['stream'] } });
  busy.server.respond = (request) => request.refuse(503, 'service_unavailable', { retryAfterS: 3 });
  await busy.pass(3_000 + RETRY);
  t.match(busy.errors, [{ reason: 'server_busy', willRetry: true }]);
  const refused = await open(t, { options: { transports: ['poll'] } });
  refused.server.respond = (request) =>
    request.refuse(404, 'resource_not_found', { param: 'Service-Account' });
  await until(() => refused.ends.length === 1, { what: 'the end' });
  t.match(refused.errors, [{ reason: 'account_rejected' }]);
});

t.test('a refusal that is none of the socket protocol is no lost network', async (t) => {
  const { server, client, live, pass, errors } = await open(t, {
    options: { transports: ['stream', 'poll'] },
  });
  server.respond = (request) => {
    if (request.transport === 'stream') request.refuse(404);
    else request.acknowledge();
  };
  await pass(GATHERING);
  await live();
  t.equal(client.transport, 'poll', 'a proxy may refuse the one and pass the other');
  t.match(errors, [{ reason: 'protocol', willRetry: true, message: 'status 404' }]);
});

t.test('a refused token is replaced', async (t) => {
  let tokens = 0;
  const getToken = () => `token${++tokens}`;
  const { server, live, pass } = await open(t, {
    options: { transports: ['stream'], token: undefined, getToken },
  });
  server.respond = (request) => {
    if (request.headers.authorization === 'Bearer token1') request.refuse(401, 'expired_token');
    else request.acknowledge();
  };
  await pass(RETRY);
  await pass(GATHERING);
  await live();
  t.equal(server.requests.at(-1)!.headers.authorization, 'Bearer token2');
});

t.test('a token that expires is replaced by another stream, once', async (t) => {
  let asked = 0;
  const getToken = () => (++asked === 1 ? 'token1' : 'token2');
  const { server, live, pass, seen } = await openStream(t, { options: { token: undefined, getToken } });
  const second = await server.request(2);
  second.say({ type: 'auth_expiring', expires_at: '' });
  await pass(GATHERING);
  const third = await server.request(3);
  t.equal(third.headers.authorization, 'Bearer token2');
  await live();
  // The application has no other token yet: it is not asked for one again and again.
  for (const sequence of [1, 2]) {
    third.say({ type: 'auth_expiring', expires_at: '' });
    third.say(messageFrame(sequence));
    await seen(sequence);
  }
  t.equal(server.requests.length, 3);
  t.equal(asked, 3);
});

t.test('typing and read positions go over REST, presence with the next stream', async (t) => {
  const { server, client, pass } = await openStream(t);
  const called: [path: string, body: object][] = [];
  server.rest = (path, body) => {
    called.push([path, body]);
    return { unread: 3 };
  };
  await client.request('typing', { conversation_id: 'cnv_1', state: 'start' });
  t.match(await client.request('mark_read', { conversation_id: 'cnv_1', sequence: 7 }), { unread: 3 });
  t.strictSame(called, [
    ['/v1/messaging/conversations/cnv_1/actions/typing', { state: 'start' }],
    ['/v1/messaging/conversations/cnv_1/actions/mark-read', { sequence: 7 }],
  ]);
  await client.request('presence', { status: 'away' });
  await pass(GATHERING);
  t.equal((await server.request(3)).body.presence, 'away');
});

t.test('a refused subscription ends alone', async (t) => {
  const { server, client, live, pass, seen } = await openStream(t);
  const ended: unknown[] = [];
  server.respond = (request) => {
    request.say({ type: 'reply', id: 'resume', ok: true, result: {} });
    const error = { code: 'resource_not_found', message: 'none', is_transient: false, param: null };
    request.say({ type: 'reply', id: 'cnv_none', ok: false, error });
    request.say({ type: 'caught_up', conversation_id: 'cnv_1', sequence: 0 });
    request.say({ type: 'resumed', cursor: 'here' });
  };
  client.subscribe('cnv_none', { onMessage() {}, onEnd: (why) => ended.push(why) });
  await pass(GATHERING);
  await until(() => ended.length === 1, { what: 'its end' });
  t.match(ended, [{ code: 'resource_not_found' }]);
  await live();
  (await server.request(3)).say(messageFrame(1));
  await seen(1);
});

t.test('a conversation that is too far behind is paged over REST, and joined again', async (t) => {
  const { server, client, live, pass, seen, stale } = await openStream(t);
  let newest = 3;
  server.rest = (path) => {
    const after = Number(new URL(path, server.url).searchParams.get('after_sequence'));
    const data = Array.from({ length: newest - after }, (_, index) => dataOf(after + 1 + index));
    return { object: 'list', data, page_info: { has_next_page: false } };
  };
  (await server.request(2)).say({
    type: 'resync',
    conversation_id: 'cnv_1',
    reason: 'too_many',
    head_sequence: 3,
  });
  await pass(GATHERING);
  const third = await server.request(3);
  t.match(third.body, {
    subscribe: [{ conversation_id: 'cnv_1', after_sequence: 3 }],
    conversations: {},
  });
  t.strictSame(await seen(3), [1, 2, 3]);
  third.say(messageFrame(4));
  t.strictSame(await seen(4), [1, 2, 3, 4]);
  await live();
  t.equal(stale(), 0, 'nothing older was shown');

  newest = 6;
  server.respond = (request) => {
    request.say({ type: 'reply', id: 'resume', ok: true, result: {} });
    request.say({ type: 'resync', conversation_id: 'cnv_1', reason: 'too_many', head_sequence: 6 });
  };
  client.subscribe('cnv_2', { onMessage() {} });
  await pass(GATHERING);
  await until(() => stale() === 1, { what: 'changes that may be missing' });
  t.strictSame(await seen(6), [1, 2, 3, 4, 5, 6]);
});

t.test('a node that goes away: the next stream is there before the first one ends', async (t) => {
  const { server, states, seen, pass } = await openStream(t);
  const second = await server.request(2);
  second.say(messageFrame(1));
  await seen(1);
  states.length = 0;
  second.say({ type: 'goaway', reconnect_in_ms: 700, deadline_ms: 10_000, reason: 'stopping' });
  await pass(700);
  await server.request(3);
  second.say(messageFrame(2));
  await pass(GATHERING);
  const fourth = await server.request(4);
  fourth.say(messageFrame(3));
  t.strictSame(await seen(3), [1, 2, 3]);
  await until(() => second.closed, { what: 'the end of the first stream' });
  t.strictSame(states, []);
});

t.test('an answer to a poll that did not arrive as a whole counts as none', async (t) => {
  const { server, live, pass, seen } = await openPolls(t);
  const waiting = await server.request(3);
  waiting.cut();
  await pass(RETRY);
  await pass(GATHERING);
  await live();
  t.match(server.requests.at(-1)!.body, { cursor: 'req_2', conversations: { cnv_1: 0 } });
  await pass(APART);
  const next = await server.request(6);
  next.acknowledge([messageFrame(1)]);
  t.strictSame(await seen(1), [1]);
});

t.test('too many polls, and a node that is busy: the client waits and stays live', async (t) => {
  const { server, client, pass, seen, states } = await openPolls(t);
  states.length = 0;
  server.respond = () => {};
  (await server.request(3)).refuse(429, 'rate_limit_exceeded', { retryAfterS: 1 });
  await pass(1_000);
  (await server.request(4)).refuse(503, 'service_unavailable', { retryAfterS: 2 });
  await pass(2_000);
  const fifth = await server.request(5);
  t.match(fifth.body, { cursor: 'req_2' });
  fifth.answer([messageFrame(1)]);
  await seen(1);
  t.equal(client.state, 'live');
  t.strictSame(states, []);
});

t.test('a poll that the server closes, and a node that stops', async (t) => {
  const { server, timing, pass, live, seen, errors } = await openPolls(t);
  const goaway = { type: 'goaway', reconnect_in_ms: 700, deadline_ms: 1_000, reason: 'stopping' };
  server.respond = () => {};
  (await server.request(3)).answer([goaway, messageFrame(1)], 'three');
  await seen(1);
  await pass(APART);
  const fourth = await server.request(4);
  t.match(fourth.body, { cursor: 'three' }, 'the next poll, and no other connection');
  t.notOk(timing.waits.includes(700));
  server.respond = (request) => request.acknowledge();
  fourth.answer([{ type: 'close', code: 4000, reason: 'going_away' }], 'four');
  await pass(RETRY);
  await pass(GATHERING);
  await live();
  t.match(server.requests.at(-1)!.body, { cursor: 'four', conversations: { cnv_1: 1 } });
  t.strictSame(
    errors.map(({ error }) => (error as ConnectionEnd).code),
    [1006],
    'but for the upgrade at the beginning, a node that stops is no error',
  );
});

t.test('a better transport that works again: the client moves, and misses nothing', async (t) => {
  const storage = stored();
  const { server, client, states, seen, pass } = await openStream(t, { options: { storage } });
  t.strictSame(
    [...storage.values].map(([, text]) => text.split(' ')[0]),
    ['stream'],
  );
  const stream = await server.request(2);
  stream.say(messageFrame(1));
  await seen(1);
  states.length = 0;
  await pass(CLIMB);
  await until(() => server.tried.at(-1) === 'websocket', { what: 'another try' });
  await until(() => server.tried.length === 4, { what: 'its refusal' });
  server.upgrades = 'passed';
  server.answer = (socket, frame) => {
    socket.acknowledge(frame, () => {
      for (const sequence of [2, 3]) {
        stream.say(messageFrame(sequence));
        socket.message(sequence);
      }
    });
  };
  await pass(2 * CLIMB);
  await until(() => client.transport === 'websocket', { what: 'the socket' });
  t.strictSame(await seen(3), [1, 2, 3]);
  await until(() => stream.closed, { what: 'the end of the stream' });
  (await server.socket(1)).message(4);
  t.strictSame(await seen(4), [1, 2, 3, 4]);
  t.strictSame(states, [], 'live all the time');
  t.strictSame([...storage.values], []);
});

t.test('better transports are tried less and less often, and behind a break as at first', async (t) => {
  const { server, pass, live, seen } = await openStream(t);
  const second = await server.request(2);
  second.say({ type: 'ping', t: 1, cursor: 'a heartbeat', heads: {} });
  second.say(messageFrame(1));
  await seen(1);
  for (const wait of [CLIMB, 2 * CLIMB, 4 * CLIMB]) {
    const { length } = server.tried;
    await pass(wait);
    await until(() => server.tried.length > length, { what: 'another try' });
  }
  second.cut();
  await pass(RETRY);
  await pass(GATHERING);
  await live();
  await pass(CLIMB);
  await until(() => server.tried.filter((transport) => transport === 'websocket').length === 5, {
    what: 'a try soon after the break',
  });
});

t.test('a node that goes away while a better transport is tried: that is not waited for', async (t) => {
  const { server, states, pass } = await openStream(t);
  server.upgrades = 'ignored';
  await pass(CLIMB);
  await until(() => server.tried.at(-1) === 'websocket', { what: 'another try' });
  states.length = 0;
  const second = await server.request(2);
  second.say({ type: 'goaway', reconnect_in_ms: 700, deadline_ms: 10_000, reason: 'stopping' });
  await pass(700);
  await pass(GATHERING);
  await server.request(4);
  await until(() => second.closed, { what: 'the end of the first stream' });
  t.strictSame(states, []);
});

t.test('what worked before is tried first, for a day', async (t) => {
  const storage = stored();
  const first = await openStream(t, { options: { storage } });
  first.client.close();
  const { server, client, live, pass } = await open(t, {
    options: { storage: rebased(storage, first.server.url) },
    upgrades: 'refused',
  });
  await pass(GATHERING);
  await live();
  t.equal(client.transport, 'stream');
  t.notOk(server.tried.includes('websocket'));
});

t.test('transports that the application excludes, or that platform or version lack', async (t) => {
  const pinned = await open(t, { upgrades: 'refused', options: { transports: ['websocket'] } });
  for (const wait of [RETRY, 250, 500]) await pinned.pass(wait);
  await until(() => pinned.server.tried.length === 4, { what: 'four sockets' });
  t.strictSame(new Set(pinned.server.tried), new Set(['websocket']));

  const old = await open(t, { upgrades: 'refused', options: { version: '1.2.harbor' } });
  for (const wait of [RETRY, 250, 500]) await old.pass(wait);
  await until(() => old.server.tried.length === 4, { what: 'four sockets' });
  t.strictSame(new Set(old.server.tried), new Set(['websocket']));

  const { WebSocket } = globalThis;
  t.teardown(() => Object.assign(globalThis, { WebSocket }));
  Object.assign(globalThis, { WebSocket: undefined });
  const without = await open(t);
  await without.pass(GATHERING);
  await without.live();
  t.equal(without.client.transport, 'stream');
  t.notOk(without.server.tried.includes('websocket'));
  const defaults = { url: 'http://127.0.0.1:1', account: 'acc_1', token: 'token' };
  for (const transports of [[], ['pigeon'], ['websocket']]) {
    t.throws(() => connect({ ...defaults, transports: transports as never }), TypeError);
  }
});

interface Given {
  readonly upgrades?: ScriptedServer['upgrades'];
  readonly options?: { readonly [K in keyof ConnectOptions]?: ConnectOptions[K] | undefined };
  readonly handlers?: Partial<SubscribeOptions>;
}

/**
 * A client that is about to connect, with a subscription to `cnv_1`, in a time that stands still.
 */
async function open(t: Test, { upgrades = 'passed', options = {}, handlers = {} }: Given = {}) {
  const server = await ScriptedServer.start(t);
  server.upgrades = upgrades;
  const timing = new ManualTiming();
  const all = { url: server.url, account: 'acc_1', token: 'token', timing, ...options };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  const client: Client = connect(Object.fromEntries(given) as unknown as ConnectOptions);
  t.teardown(() => client.close());
  const [states, ends, errors, sequences]: [
    ClientState[],
    ConnectionEnd[],
    ClientError[],
    (number | null)[],
  ] = [[], [], [], []];
  let stales = 0;
  client.on('state', (state) => states.push(state));
  client.on('end', (end) => ends.push(end));
  client.on('error', (error) => errors.push(error));
  client.subscribe('cnv_1', {
    onMessage: ({ sequence }) => sequences.push(sequence),
    onStale: () => {
      stales += 1;
    },
    ...handlers,
  });
  /** Ends a wait of so many milliseconds once there is one. */
  const pass = async (ms: number) => {
    const what = () => `a wait of ${ms} ms; there are ${timing.waits}; tried ${server.tried}`;
    await until(() => timing.waits.includes(ms), { what: `a wait of ${ms} ms` }).catch(() => {
      throw new Error(what());
    });
    timing.end(ms);
  };
  const live = () => until(() => client.state === 'live', { what: `live; tried ${server.tried}` });
  const seen = async (count: number) => {
    await until(() => sequences.length >= count, { what: `${count} messages; got ${sequences}` });
    return sequences;
  };
  return { server, client, timing, states, ends, errors, live, seen, pass, stale: () => stales };
}

/** A client that is live over its second stream: upgrades are refused. */
async function openStream(t: Test, given: Given = {}) {
  const opened = await open(t, { upgrades: 'refused', ...given });
  await opened.pass(GATHERING);
  await opened.live();
  return opened;
}

/** A client that is live over polls, the third of which waits. */
async function openPolls(t: Test) {
  const opened = await open(t, { upgrades: 'refused', options: { transports: ['websocket', 'poll'] } });
  await opened.pass(GATHERING);
  await opened.live();
  await opened.pass(APART);
  await opened.server.request(3);
  return opened;
}

function stored(): KeyValueStorage & { readonly values: Map<string, string> } {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}

/** The storage as that of a page of any other server, with the same content. */
function rebased({ values }: ReturnType<typeof stored>, _url: string): KeyValueStorage {
  const [text = null] = values.values();
  return { getItem: () => text, setItem() {}, removeItem() {} };
}

function dataOf(sequence: number): object {
  return (messageFrame(sequence) as { readonly data: object }).data;
}

function editFrame(sequence: number, body: string): object {
  const at = '2026-11-21T07:00:00.000000Z';
  const data = { ...dataOf(sequence), body, updated_at: at };
  return { type: 'event', event: 'message.updated', conversation_id: 'cnv_1', at, data };
}
