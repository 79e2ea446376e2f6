/**
 * Several subscriptions to one conversation, and one that follows another: what each of them gets.
 */

import t, { type Test } from 'tap';
import { until } from '../../../test/support/until.ts';
import { DeliveredVersions } from '../events/conversation-feed.ts';
import { type Client, connect, type SubscribeOptions, type Subscription } from '../index.ts';
import { ScriptedServer, type ScriptedSocket } from './scripted-server.ts';

t.test('two from the start share one subscription of the socket, from the lower number on', async (t) => {
  const { server, client, follow } = await start(t);
  const [early, late] = [follow({ afterSequence: 2 }), follow({ afterSequence: 4 })];
  const fromNow = follow({});
  server.answer = (socket, frame) => socket.acknowledge(frame, () => messages(socket, 3, 6));
  const socket = await server.socket(1);
  await until(() => client.state === 'live', { what: 'live' });
  t.match(socket.asked('subscribe'), [{ conversation_id: 'cnv_1', after_sequence: 2 }]);
  messages(socket, 7, 7);
  await early.seen(5);
  t.strictSame(early.sequences, [3, 4, 5, 6, 7]);
  t.strictSame(late.sequences, [5, 6, 7]);
  t.strictSame(fromNow.sequences, [3, 4, 5, 6, 7], 'the head was 2');

  early.subscription.unsubscribe();
  early.subscription.unsubscribe();
  late.subscription.unsubscribe();
  messages(socket, 8, 8);
  await fromNow.seen(6);
  t.strictSame(socket.asked('unsubscribe'), [], 'there is one left');
  t.strictSame([early.sequences.length, late.sequences.length], [5, 3]);
  fromNow.subscription.unsubscribe();
  t.match(await socket.ask('unsubscribe'), { conversation_id: 'cnv_1' });
});

t.test('a late one gets what was before it came, and what comes meanwhile', async (t) => {
  const { server, client, follow, rest } = await start(t);
  server.answer = (socket, frame) => socket.acknowledge(frame, () => messages(socket, 101, 250));
  const first = follow({ afterSequence: 100 });
  await first.seen(150);
  await until(() => client.state === 'live', { what: 'live' });
  const socket = await server.socket(1);

  rest.before = (after) => {
    // Ahead of each page, while it is under way, and behind.
    if (after === 0) messages(socket, 251, 252);
    if (after === 200) messages(socket, 253, 254);
    return first.seen(after === 0 ? 152 : after === 200 ? 154 : 0);
  };
  rest.head = () => (first.sequences.length >= 154 ? 253 : 252);
  const late = follow({ afterSequence: 0 });
  const between = follow({ afterSequence: 249 });
  const now = follow({});
  t.equal(client.state, 'catching_up');
  await until(() => client.state === 'live', { what: 'live again' });
  messages(socket, 255, 255);
  await late.seen(255);
  t.strictSame(late.sequences, range(1, 255));
  t.strictSame(between.sequences, range(250, 255));
  t.strictSame(now.sequences, range(251, 255));
  t.strictSame(first.sequences, range(101, 255), 'the first one is not disturbed');
  t.equal(late.subscription.completeThrough, 255);
  t.equal(socket.asked('subscribe').length, 1);
  t.strictSame(socket.asked('unsubscribe'), []);
});

t.test('a late one while its past cannot be fetched, over a break', async (t) => {
  const { server, client, follow, rest } = await start(t);
  server.answer = (socket, frame) => socket.acknowledge(frame);
  const first = follow({ afterSequence: 5 });
  await until(() => client.state === 'live', { what: 'live' });
  rest.failing = true;
  const late = follow({ afterSequence: 3 });
  const socket = await server.socket(1);
  messages(socket, 6, 7);
  await first.seen(2);
  server.answer = (socket, frame) => {
    if (frame.type !== 'resume') return socket.acknowledge(frame);
    // Left out by the stream: both have to fetch it.
    socket.reply(frame, {});
    socket.say({ type: 'resync', conversation_id: 'cnv_1', reason: 'too_many', head_sequence: 9 });
    socket.say({ type: 'resumed', cursor: 'two' });
  };
  socket.cut();
  const second = await server.socket(2);
  t.match(await second.ask('subscribe'), { after_sequence: 9 });
  messages(second, 10, 10);
  rest.head = () => 10;
  t.strictSame(late.sequences, []);
  rest.failing = false;
  await late.seen(7);
  await first.seen(5);
  t.strictSame(late.sequences, range(4, 10));
  t.strictSame(first.sequences, range(6, 10));
});

t.test('an error in one handler does not affect the others', async (t) => {
  const { server, follow } = await start(t);
  server.answer = (socket, frame) => socket.acknowledge(frame);
  const thrown: unknown[] = [];
  const uncaught = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error));
  t.teardown(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of uncaught) process.on('uncaughtException', listener);
  });
  follow({
    afterSequence: 0,
    onMessage: () => {
      throw new Error('oh');
    },
  });
  const other = follow({ afterSequence: 0 });
  messages(await server.socket(1).then(subscribed), 1, 3);
  await other.seen(3);
  t.strictSame(other.sequences, [1, 2, 3]);
  t.match(thrown, [{ message: 'oh' }, { message: 'oh' }, { message: 'oh' }]);
});

t.test('a late one in the middle of a text that is being written', async (t) => {
  const { server, client, follow } = await start(t);
  server.answer = (socket, frame) => socket.acknowledge(frame);
  follow({ afterSequence: 0 });
  const socket = await server.socket(1).then(subscribed);
  socket.event('message.created', { ...messageOf(1), body: '', streaming_state: 'streaming' });
  socket.event('message.delta', { message_id: 'msg_1', attempt: 1, offset: 0, text: 'Good ' });
  const texts: string[] = [];
  await until(() => client.state === 'live', { what: 'live' });
  socket.say({ type: 'ping', t: 1, cursor: 'c', heads: {} });
  await socket.ask('pong');
  follow({ onStreaming: ({ body }) => texts.push(body) });
  socket.event('message.delta', { message_id: 'msg_1', attempt: 1, offset: 5, text: 'morning' });
  await until(() => texts.length === 2, { what: 'two pieces' });
  t.strictSame(texts, ['Good ', 'Good morning']);
});

t.test('a text that begins while what was before it is read', async (t) => {
  const { server, client, follow, rest } = await start(t);
  server.answer = (socket, frame) => socket.acknowledge(frame);
  const texts: string[] = [];
  const only = follow({ afterSequence: 0, onStreaming: ({ body }) => texts.push(body) });
  await until(() => client.state === 'live', { what: 'live' });
  const socket = await server.socket(1);
  rest.head = () => 2;
  rest.before = () => {
    socket.event('message.created', { ...messageOf(3), body: '', streaming_state: 'streaming' });
    socket.event('message.delta', { message_id: 'msg_3', attempt: 1, offset: 0, text: 'Good ' });
    socket.say({ type: 'ping', t: 1, cursor: 'c', heads: {} });
    return socket.ask('pong');
  };
  socket.say({ type: 'resync', conversation_id: 'cnv_1', reason: 'too_many', head_sequence: 2 });
  await only.seen(3);
  t.strictSame(only.sequences, [1, 2, 3]);
  socket.event('message.delta', { message_id: 'msg_3', attempt: 1, offset: 5, text: 'morning' });
  await until(() => texts.length === 2, { what: 'two pieces' });
  t.strictSame(texts, ['Good ', 'Good morning']);
});

t.test('all of them end when the server ends the subscription, and each may start again', async (t) => {
  const { server, client, follow } = await start(t);
  server.answer = (socket, frame) => socket.acknowledge(frame);
  const ends: string[] = [];
  let anew: ReturnType<typeof follow> | undefined;
  follow({
    afterSequence: 0,
    onEnd: (why) => {
      ends.push(`first ${why}`);
      anew = follow({ afterSequence: 4 });
    },
  });
  follow({ afterSequence: 2, onEnd: (why) => ends.push(`second ${why}`) });
  await until(() => client.state === 'live', { what: 'live' });
  const socket = await server.socket(1);
  socket.say({ type: 'resync', conversation_id: 'cnv_1', reason: 'revoked' });
  await until(() => socket.asked('subscribe').length === 2, { what: 'the new subscription' });
  messages(socket, 5, 5);
  await until(() => anew?.sequences.length === 1, { what: 'its message' });
  t.strictSame(ends, ['first revoked', 'second revoked']);
  t.match(socket.asked('subscribe'), [{ after_sequence: 0 }, { after_sequence: 4 }]);
  t.strictSame(socket.asked('unsubscribe'), [], 'the server has ended it itself');
});

t.test('events in flight for a subscription do not reach the next one', async (t) => {
  const { server, client, follow } = await start(t);
  server.answer = (socket, frame) => socket.acknowledge(frame);
  const first = follow({ afterSequence: 8 });
  await until(() => client.state === 'live', { what: 'live' });
  server.answer = (socket, frame) => {
    if (frame.type === 'unsubscribe') {
      messages(socket, 9, 9);
      socket.caughtUp('cnv_1', 9);
      socket.say({ type: 'resync', conversation_id: 'cnv_1', reason: 'too_many', head_sequence: 9 });
    }
    socket.acknowledge(frame, () => messages(socket, 1, 2));
  };
  first.subscription.unsubscribe();
  const next = follow({ afterSequence: 0 });
  await next.seen(2);
  t.strictSame(next.sequences, [1, 2]);
  t.equal(next.subscription.completeThrough, 2);
});

t.test('a conversation that is left and joined again while the client moves to another node', async (t) => {
  const { server, client, follow } = await start(t);
  server.answer = (socket, frame) => socket.acknowledge(frame);
  const first = follow({ afterSequence: 8 });
  await until(() => client.state === 'live', { what: 'live' });
  const old = await server.socket(1);
  // Each socket is answered in order, the next one late.
  const unanswered: (() => void)[] = [];
  server.answer = (socket, frame) => {
    const missed = frame.type === 'subscribe' ? () => messages(socket, 1, 2) : undefined;
    unanswered.push(() => socket.acknowledge(frame, missed));
  };
  old.say({ type: 'goaway', reconnect_in_ms: 1, deadline_ms: 60_000, reason: 'stopping' });
  const next = await server.socket(2);
  await next.ask('resume');
  t.notOk(old.closed, 'both are open');
  t.equal(client.state, 'live', 'the one before brings everything');

  first.subscription.unsubscribe();
  const again = follow({ afterSequence: 0 });
  t.equal(client.state, 'catching_up', 'the one before does not bring it');
  // It knows nothing of all this.
  messages(old, 9, 9);
  old.event('typing', { actor_id: 'act_1', state: 'start' });
  old.say({ type: 'ping', t: 1, cursor: 'old', heads: { cnv_1: 9 } });
  await old.ask('pong');
  t.strictSame(again.sequences, [], 'nothing is handed over that others are to come before');
  await until(() => unanswered.length === 3, { what: 'resume, unsubscribe, subscribe' });
  for (const answer of unanswered) answer();
  await again.seen(2);
  await until(() => client.state === 'live', { what: 'live again' });
  await until(() => old.closed, { what: 'the end of the first connection' });
  messages(next, 3, 3);
  await again.seen(3);
  t.strictSame(again.sequences, [1, 2, 3]);
  t.strictSame(again.events, []);
  t.strictSame(first.sequences, []);
});

t.test('the memory for recognizing repeated events is bounded', async (t) => {
  const seen = new DeliveredVersions();
  for (let n = 1; n <= 10_000; n++) seen.isNews(`msg_${n}`, '2026');
  const kept = range(1, 10_000).filter((n) => seen.knows(`msg_${n}`));
  t.strictSame(kept, range(8_001, 10_000), 'more than a break can bring again');
});

/** A client without a subscription yet, with a REST API that has every number up to `head`. */
async function start(t: Test) {
  const server = await ScriptedServer.start(t);
  const rest = { head: () => 252, failing: false, before: (_after: number): unknown => undefined };
  const client: Client = connect({
    url: server.url,
    account: 'acc_1',
    token: 'token',
    mostWaitMs: 20,
    timing: { after: soon, random: () => 0.5 },
    fetch: async (input) => {
      if (rest.failing) return new Response('{}', { status: 503 });
      const after = Number(new URL(String(input)).searchParams.get('after_sequence'));
      await rest.before(after);
      const last = Math.min(after + 100, rest.head());
      return Response.json({
        object: 'list',
        data: range(after + 1, last).map(messageOf),
        page_info: { has_next_page: last < rest.head() },
      });
    },
  });
  t.teardown(() => client.close());
  const follow = (options: Partial<SubscribeOptions>) => {
    const sequences: (number | null)[] = [];
    const events: string[] = [];
    const subscription: Subscription = client.subscribe('cnv_1', {
      onMessage: ({ sequence }) => sequences.push(sequence),
      onEvent: ({ event }) => events.push(event),
      ...options,
    });
    const seen = (count: number) =>
      until(() => sequences.length >= count, { what: `${count} messages; got ${sequences}` });
    return { subscription, sequences, events, seen };
  };
  return { server, client, follow, rest };
}

/** Waits are short here, but for the watch over a silent connection. */
function soon(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms < 5_000 ? Math.min(ms, 5) : ms);
  return () => clearTimeout(timer);
}

async function subscribed(socket: ScriptedSocket): Promise<ScriptedSocket> {
  await socket.ask('subscribe');
  return socket;
}

function messages(socket: ScriptedSocket, first: number, last: number): void {
  for (const sequence of range(first, last)) socket.message(sequence);
}

function messageOf(sequence: number) {
  return { id: `msg_${sequence}`, sequence, body: 'ahoy', streaming_state: null, updated_at: '2026' };
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
