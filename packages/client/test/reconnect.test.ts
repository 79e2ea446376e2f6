/**
 * The SDK's reaction to connections that end, move or stall, with a server that does so on demand.
 */

import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import t, { type Test } from 'tap';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import {
  type Client,
  type ClientState,
  type ConnectionEnd,
  connect,
  type SocketConstructor,
  type SubscribeOptions,
  type Timing,
} from '../index.ts';
import { afterClose } from '../link/connection.ts';
import { Backoff } from '../link/pauses.ts';
import { ScriptedServer } from './scripted-server.ts';

t.test('a connection that breaks: another one, resumed from where the first ended', async (t) => {
  const { server, seen, states } = await follow(t);
  const first = await server.socket(1);
  for (const sequence of [1, 2]) first.message(sequence);
  await seen(2);
  server.answer = (socket, frame) => {
    socket.acknowledge(frame, () => {
      for (const sequence of [2, 3]) socket.message(sequence);
    });
  };
  first.cut();
  const second = await server.socket(2);
  t.match(await second.ask('resume'), { cursor: 'con_1', conversations: { cnv_1: 2 } });
  second.message(4);
  t.strictSame(await seen(4), [1, 2, 3, 4]);
  t.strictSame(states, ['catching_up', 'live', 'offline', 'connecting', 'catching_up', 'live']);

  second.say({ type: 'ping', t: 1, cursor: 'a heartbeat', heads: {} });
  await second.ask('pong');
  second.close(CLOSE_CODES.slow_consumer.code);
  t.match(await (await server.socket(3)).ask('resume'), {
    cursor: 'a heartbeat',
    conversations: { cnv_1: 4 },
  });
});

t.test('a node that goes away: the next connection is there before the first one ends', async (t) => {
  const { server, seen, states } = await follow(t);
  const first = await server.socket(1);
  first.message(1);
  await seen(1);
  server.answer = (socket, frame) => {
    if (frame.type !== 'resume') return;
    socket.acknowledge(frame, () => {
      // Both bring what comes meanwhile.
      first.message(2);
      socket.message(2);
      first.message(3);
      socket.message(3);
      socket.message(4);
      t.notOk(first.closed);
    });
  };
  first.say({ type: 'goaway', reconnect_in_ms: 20, deadline_ms: 10_000, reason: 'stopping' });
  t.strictSame(await seen(4), [1, 2, 3, 4]);
  await until(() => first.closed, { what: 'the end of the first connection' });
  t.equal(server.sockets.length, 2);
  t.strictSame(states, ['catching_up', 'live'], 'nobody notices');
});

t.test('a goaway whose node ends before there is another one', async (t) => {
  const { server, states } = await follow(t);
  const first = await server.socket(1);
  first.say({ type: 'goaway', reconnect_in_ms: 60_000, deadline_ms: 10, reason: 'stopping' });
  first.close(CLOSE_CODES.going_away.code);
  await (await server.socket(2)).ask('resume');
  await until(() => states.at(-1) === 'live', { what: 'live again' });
  t.equal(server.sockets.length, 2);
});

t.test('a node that goes away where there is no other: it is not held up', async (t) => {
  const { server, seen, states } = await follow(t);
  const first = await server.socket(1);
  server.refusing = true;
  first.say({ type: 'goaway', reconnect_in_ms: 1, deadline_ms: 60_000, reason: 'stopping' });
  first.message(1);
  await seen(1);
  await until(() => first.closed && states.includes('offline'), {
    what: 'the end of the first connection',
  });
  server.refusing = false;
  t.match(await (await server.socket(2)).ask('resume'), { conversations: { cnv_1: 1 } });
});

t.test('requests to a server without resume', async (t) => {
  const { server, stale } = await follow(t, { afterSequence: 7 });
  (await server.socket(1)).cut();
  server.answer = (socket, frame) => {
    if (frame.type === 'resume') socket.refuse(frame, 'validation_failed');
    else socket.acknowledge(frame);
  };
  t.match(await (await server.socket(2)).ask('subscribe'), { conversation_id: 'cnv_1', after_sequence: 7 });
  t.equal(stale(), 1, 'changes of older messages may be missing');
});

t.test('a cursor that is not taken is dropped', async (t) => {
  const { server, client, stale } = await follow(t, { afterSequence: 7 });
  server.answer = (socket, frame) => {
    if (frame.type === 'resume') socket.close(CLOSE_CODES.cursor_invalid.code);
    else socket.acknowledge(frame);
  };
  (await server.socket(1)).cut();
  const third = await server.socket(3);
  t.match(await third.ask('subscribe'), { after_sequence: 7 });
  t.strictSame(third.asked('resume'), []);
  t.equal(stale(), 1);
  await until(() => client.state === 'live', { what: 'live again' });
});

t.test('a client pages over REST after a resync', async (t) => {
  const paged: string[] = [];
  const { server, seen, ended, stale } = await follow(
    t,
    { afterSequence: 1 },
    {
      fetch: async (input) => {
        const url = new URL(String(input));
        paged.push(`${url.pathname} ${url.searchParams.get('after_sequence')}`);
        const first = url.searchParams.get('after_sequence') === '1';
        const data = (first ? [2, 3] : [4]).map((sequence) => ({
          id: `msg_${sequence}`,
          sequence,
          updated_at: '',
        }));
        return Response.json({ object: 'list', data, page_info: { has_next_page: first } });
      },
    },
  );
  (await server.socket(1)).cut();
  server.answer = (socket, frame) => {
    if (frame.type !== 'resume') return socket.acknowledge(frame);
    socket.reply(frame, {});
    socket.say({ type: 'resync', conversation_id: 'cnv_1', reason: 'too_many', head_sequence: 4 });
    socket.say({ type: 'resumed', cursor: 'two' });
  };
  const second = await server.socket(2);
  t.match(await second.ask('subscribe'), { after_sequence: 4 });
  t.strictSame(await seen(3), [2, 3, 4], 'paged over REST');
  const path = '/v1/messaging/conversations/cnv_1/messages';
  t.strictSame(paged, [`${path} 1`, `${path} 3`]);
  t.equal(stale(), 1);

  second.say({ type: 'resync', conversation_id: 'cnv_1', reason: 'too_old', head_sequence: 4 });
  await until(() => second.asked('subscribe').length === 2, { what: 'another subscribe' });
  t.equal(stale(), 2);
  second.say({ type: 'resync', conversation_id: 'cnv_1', reason: 'revoked' });
  await until(() => ended.length === 1, { what: 'the end' });
  t.strictSame(ended, ['revoked']);
});

t.test('a head that did not arrive is requested', async (t) => {
  const { server, client, seen, subscription } = await follow(t, { afterSequence: 0 });
  const socket = await server.socket(1);
  socket.message(1);
  await seen(1);
  socket.say({ type: 'ping', t: 1, cursor: 'c', heads: { cnv_1: 1, cnv_other: 9 } });
  socket.say({ type: 'ping', t: 2, cursor: 'c', heads: { cnv_1: 3 } });
  server.answer = (socket, frame) => {
    socket.acknowledge(frame, () => socket.message(2));
  };
  t.strictSame(await seen(2), [1, 2]);
  await until(() => client.state === 'live', { what: 'live again' });
  t.equal(subscription.completeThrough, 3, 'number 3 is nobody’s');
  t.match(
    socket.asked('resume'),
    [{ cursor: 'c', conversations: { cnv_1: 1 } }],
    'with what changes meanwhile',
  );
});

t.test('a token that expires is replaced on the same connection', async (t) => {
  let tokens = 0;
  const { server } = await follow(t, {}, { token: undefined, getToken: () => `token${++tokens}` });
  const socket = await server.socket(1);
  t.match(socket.frames[0], {
    type: 'authenticate',
    token: 'token1',
    account: 'acc_1',
    version: CURRENT_VERSION,
  });
  socket.say({ type: 'auth_expiring', expires_at: '' });
  t.match(await socket.ask('refresh'), { token: 'token2' });
  socket.close(CLOSE_CODES.token_expired.code);
  t.match((await server.socket(2)).frames[0], { token: 'token3' });
});

t.test('a client connects once a server starts', async (t) => {
  const server = await ScriptedServer.start(t);
  let asked = 0;
  const url = () => (++asked < 4 ? 'http://127.0.0.1:1' : server.url);
  const client = connect({
    url,
    account: 'acc_1',
    token: 'token',
    mostWaitMs: 20,
    transports: ['websocket'],
  });
  t.teardown(() => client.close());
  await server.socket(1);
  t.equal(asked, 4);
});

t.test('closes after which a retry is useless', async (t) => {
  for (const [code, options] of [
    [CLOSE_CODES.protocol_error.code, { token: undefined, getToken: () => 'token' }],
    [CLOSE_CODES.forbidden.code, {}],
    [CLOSE_CODES.credentials_revoked.code, {}],
  ] as const) {
    const { server, client, ends } = await follow(t, {}, options);
    (await server.socket(1)).close(code);
    await until(() => ends.length === 1, { what: `the end after ${code}` });
    t.equal(ends[0]?.code, code);
    t.equal(client.state, 'offline');
  }
  class Forbidden {
    constructor() {
      throw new Error('mixed content');
    }
  }
  const WebSocket = Forbidden as unknown as SocketConstructor;
  const nowhere = connect({ url: 'ws://parley.test', account: 'acc_1', token: 'token', WebSocket });
  const errors: unknown[] = [];
  nowhere.on('error', (error) => errors.push(error));
  const end = await new Promise<ConnectionEnd>((resolve) => nowhere.on('end', resolve));
  t.equal(end.code, 1006);
  t.match(errors, [{ reason: 'url_rejected', willRetry: false }]);
});

t.test('the reaction to each close code', async (t) => {
  for (const { code, next } of Object.values(CLOSE_CODES))
    t.equal(afterClose({ code, reason: '' }).next, next);
  const bands = [4099, 4199, 4299, 4399, 4499, 1006, 1000, 3000];
  t.strictSame(
    bands.map((code) => afterClose({ code, reason: '' }).next),
    ['reconnect', 'wait', 'authenticate', 'start_afresh', 'stop', 'reconnect', 'reconnect', 'reconnect'],
  );
  const { code } = CLOSE_CODES.overloaded;
  t.strictSame(afterClose({ code, reason: '{"retry_after_ms":40}' }), { next: 'wait', waitMs: 40 });
  for (const reason of ['', 'null', '{}', '{"retry_after_ms":"1"}']) {
    t.equal(afterClose({ code, reason }).waitMs, 1_000, `a default for ${reason}`);
  }
});

t.test('delays between connections have full jitter up to a bound', async (t) => {
  const chances = [0, 0.5, 0.999, 0.5, 0.5, 0.5];
  const backoff = new Backoff({ random: () => chances.shift() ?? 0.5 }, () => 2_000);
  const waits = Array.from({ length: 6 }, () => backoff.next());
  t.strictSame(waits, [0, 250, 999, 1_000, 1_000, 1_000]);
  backoff.reset();
  t.equal(backoff.next(), 125);
});

t.test("waits grow while attempts fail, and respect the server's wait", async (t) => {
  const waits: number[] = [];
  const timing: Timing = {
    random: () => 0.5,
    after(ms, work) {
      // The watch over a silent connection is none of these.
      if (ms < 5_000) waits.push(ms);
      const timer = setTimeout(work, ms < 5_000 ? 1 : ms);
      return () => clearTimeout(timer);
    },
  };
  const { server } = await follow(t, {}, { timing });
  await server.socket(1);
  await until(() => server.sockets[0]!.asked('subscribe').length === 1, { what: 'the subscription' });
  server.answer = (socket) => socket.cut();
  waits.length = 0;
  server.sockets[0]!.cut();
  await server.socket(4);
  const backoffs = waits.filter((ms) => ms >= 125);
  t.strictSame(backoffs.slice(0, 3), [125, 250, 250]);
  server.answer = (socket) => socket.close(CLOSE_CODES.rate_limited.code, '{"retry_after_ms":3000}');
  await until(() => waits.some((ms) => ms >= 3_125 && ms < 5_000), { what: 'a wait as long as asked for' });
});

t.test('at most as many requests a second as a socket may send', async (t) => {
  const server = await ScriptedServer.start(t);
  const client = open(t, server);
  const socket = await server.socket(1);
  for (let n = 0; n < 12; n++) client.subscribe(`cnv_${n}`, { onMessage() {} });
  await until(() => socket.asked('subscribe').length >= 8, { what: 'the first ones' });
  t.ok(socket.asked('subscribe').length < 12);
  await until(() => client.state === 'live', { what: 'all of them' });
  t.equal(socket.asked('subscribe').length, 12);
});

interface Overrides {
  readonly token?: string | undefined;
  readonly getToken?: () => string;
  readonly fetch?: typeof fetch;
  readonly timing?: Timing;
}

function open(t: Teardown, { url }: ScriptedServer, overrides: Overrides = {}): Client {
  const { token = overrides.getToken === undefined ? 'token' : undefined, ...others } = overrides;
  const client = connect({
    url,
    account: 'acc_1',
    mostWaitMs: 500,
    transports: ['websocket'],
    ...(token === undefined ? {} : { token }),
    ...others,
  });
  t.teardown(() => client.close());
  return client;
}

/** A client that is live on one conversation. */
async function follow(t: Test, options: Partial<SubscribeOptions> = {}, overrides: Overrides = {}) {
  const server = await ScriptedServer.start(t);
  const client = open(t, server, overrides);
  const [states, ends, ended, sequences]: [ClientState[], ConnectionEnd[], unknown[], (number | null)[]] = [
    [],
    [],
    [],
    [],
  ];
  let stales = 0;
  client.on('state', (state) => states.push(state));
  client.on('end', (end) => ends.push(end));
  const subscription = client.subscribe('cnv_1', {
    onMessage: ({ sequence }) => sequences.push(sequence),
    onStale: () => {
      stales += 1;
    },
    onEnd: (why) => ended.push(why),
    ...options,
  });
  await until(() => client.state === 'live', { what: 'live' });
  const seen = async (count: number) => {
    await until(() => sequences.length >= count, { what: `${count} messages; got ${sequences}` });
    return sequences;
  };
  return { server, client, subscription, states, ends, ended, seen, stale: () => stales };
}
