/**
 * Streams and polls over whole nodes with one Postgres and one Redis: messages sent while clients
 * change nodes arrive once and in order (docs/realtime.md#without-websockets).
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { enqueueRightsChanged } from '../../src/core/accounts/rights/rights-changed.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { roleOf } from '../gateway/fixture.ts';
import {
  type AnswerFrame,
  type AnsweringNode,
  PollClient,
  Poller,
  poll,
  StreamClient,
} from '../support/answer-clients.ts';
import { createGroup } from '../support/cluster.ts';
import { startNginxWith } from '../support/nginx.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { testRedisUrl } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const { url: databaseUrl } = await createTestDatabase(t);
const redisUrl = await testRedisUrl(t);
const env = { PARLEY_SOCKET_POLLS_PER_SECOND: '1000', PARLEY_DRAIN_MS: '60000' };
const options = { databaseUrl, redisUrl, env };
const nodes = [await start(), await start()] as const;
const [one, two] = nodes;
const database = await openDatabase({ url: databaseUrl, log });
t.teardown(() => database.close());
const { demo } = one;
const { ada, grace, vera } = demo.users;

t.test('polls that go from node to node: each message once and in order, each change once', async (t) => {
  const { case: supportCase } = demo.conversations;
  const groups = [await createGroup(one, 'Poll one'), await createGroup(one, 'Poll two')];
  const followed = [...groups, supportCase];
  const client = alternating(t, followed);
  await Promise.all(groups.flatMap((id) => nodes.map((node) => sendMany(node, id, 30))));
  for (const id of groups) await client.frame((frame) => isCreated(frame, id, 60));
  for (const id of groups) t.strictSame(client.created(id), upTo(60), 'every number, in order');

  const [id = ''] = groups;
  // Each one is delivered before the next: of two that one poll missed, only what is left is sent.
  const change = async (node: TestNode, method: string, path: string, body: object, shown: RegExp) => {
    const answer = await node.call(method, `/v1/messaging/${path}`, body, ada.access_token);
    t.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body.error)}`);
    await client.frame(
      (frame) => shown.test(JSON.stringify(frame)) && followed.includes(frame.conversation_id ?? ''),
    );
    return answer.body;
  };
  const message = { body: 'ahoy', client_message_id: 'changing' };
  const created = /"event":"message.created".*"body":"ahoy"/;
  const { id: messageId } = await change(two, 'POST', `conversations/${id}/messages`, message, created);
  const edited = /"event":"message.updated".*"body":"edited"/;
  await change(one, 'PATCH', `messages/${messageId}`, { body: 'edited' }, edited);
  const reaction = `messages/${messageId}/reactions/%F0%9F%91%8D`;
  await change(two, 'PUT', reaction, {}, /"event":"message.reacted"/);
  await change(one, 'POST', `messages/${messageId}/actions/pin`, {}, /"event":"message.pinned"/);
  await change(two, 'PATCH', `conversations/${id}`, { title: 'Polled' }, /"event":"conversation.updated"/);
  const draft = { mode: 'draft', channel: 'message', body: 'perhaps', client_message_id: 'draft' };
  const drafts = `conversations/${supportCase}/messages`;
  const drafted = /"event":"draft.created".*"body":"perhaps"/;
  const { id: draftId } = await change(one, 'POST', drafts, draft, drafted);
  // A poll that missed it says `draft.created` again.
  const redrafted = /"event":"draft.(created|updated)".*"body":"surely"/;
  await change(two, 'PATCH', `messages/${draftId}`, { body: 'surely' }, redrafted);
  // The cursors are older than all of this, so each poll is sent all of it again.
  for (let n = 0; n < 4; n++) {
    const { body: sent } = await one.send(id, {}, grace.access_token);
    await client.frame((frame) => isCreated(frame, id, Number(sent.sequence)));
  }
  client.stop();
  t.strictSame(repeatedChanges(client.frames), [], 'nothing twice');
  t.strictSame(client.failures, []);
});

t.test('a client that has everything waits, on any node', async (t) => {
  const id = await createGroup(one, 'Quiet');
  const client = alternating(t, [id]);
  await sendMany(two, id, 3);
  await client.frame((frame) => isCreated(frame, id, 3));
  // Until a poll waits for longer than those that have something to say.
  const quietMs = 3_000;
  let [polls, sinceMs] = [client.polls, performance.now()];
  await until(
    () => {
      if (client.polls > polls) [polls, sinceMs] = [client.polls, performance.now()];
      return performance.now() - sinceMs > quietMs;
    },
    { what: 'a poll that waits' },
  );
  t.ok(polls < 30, `${polls} polls`);
  client.stop();
});

t.test('notifications come once to a client that polls', async (t) => {
  const id = await createGroup(one, 'Notified');
  const client = alternating(t, [id]);
  await until(() => client.polls > 0, { what: 'its first answer' });
  for (let n = 0; n < 5; n++) {
    await one.send(id, { body: `message ${n}` }, grace.access_token);
    const isOfIt = ({ event, data }: AnswerFrame) =>
      event === 'notification.created' &&
      data?.title === 'Grace Hopper in Notified' &&
      data.body === `message ${n}`;
    await client.frame(isOfIt);
  }
  client.stop();
  t.strictSame(repeatedChanges(client.frames), []);
});

t.test('a stream on a node that is killed goes on elsewhere', async (t) => {
  const id = await createGroup(one, 'Killed');
  const victim = await start();
  const first = new StreamClient(answering(victim), { conversations: { [id]: 0 } });
  await first.frame('caught_up');
  const sending = sendMany(one, id, 60);
  await first.frame((frame) => isCreated(frame, id, 10));
  await victim.kill('SIGKILL');
  await first.ends();
  t.notOk(first.complete, 'its body did not end');
  const got = numbersIn(first.frames);
  const { cursor } = await first.frame('ready');
  const second = new StreamClient(answering(two), { cursor, conversations: { [id]: got.length } });
  await sending;
  await second.frame((frame) => isCreated(frame, id, 60));
  t.strictSame([...got, ...numbersIn(second.frames)], upTo(60), 'each message once, in order');
  second.close();
});

t.test('from a stream to a poll to a socket and back, in the middle of a load', async (t) => {
  const id = await createGroup(one, 'Changes over');
  const sending = sendMany(two, id, 60);
  const numbers: unknown[] = [];
  const stream = new StreamClient(answering(one), { conversations: { [id]: 0 } });
  await stream.frame((frame) => isCreated(frame, id, 15));
  stream.close();
  await stream.ends();
  numbers.push(...numbersIn(stream.frames));
  const body = { cursor: stream.frames[1]!.cursor, conversations: { [id]: numbers.length } };
  const { cursor, frames } = await poll(answering(two), body);
  numbers.push(...numbersIn(frames));
  const socket = await one.listen(id, { cursor, afterSequence: numbers.length });
  await sending;
  await until(() => socket.sequences().at(-1) === 60, { what: 'the last one' });
  t.strictSame([...numbers, ...socket.sequences()], upTo(60));
  socket.socket.terminate();
});

t.test('a node that gets SIGTERM sends its streams and polls away', async (t) => {
  const leaving = await start();
  const id = await createGroup(one, 'Leaving');
  const stream = new StreamClient(answering(leaving), { conversations: { [id]: 0 } });
  await stream.frame('caught_up');
  // A customer without a conversation, to whom nothing is said that would end the poll before.
  const waiting = new PollClient(answering(leaving, demo.customer.access_token));
  await waiting.begins();
  leaving.signal('SIGTERM');
  t.match(await stream.frame('goaway'), { reason: 'shutdown' });
  t.match((await waiting.answer).frames.at(-1), { type: 'goaway', reason: 'shutdown' });
  stream.close();
  t.match(await leaving.running.ended, { code: 0 }, 'and ends when they have left');
});

t.test('rights that end over one node end streams and polls on the other', async (t) => {
  const id = await createGroup(one, 'Rights');
  const token = grace.access_token;
  const stream = new StreamClient(answering(two, token), { conversations: { [id]: 0 } });
  await stream.frame('caught_up');
  const { cursor } = await poll(answering(two, token), { conversations: { [id]: 0 }, wait_ms: 0 });
  const client = new Poller(t, { node: () => answering(two, token), conversations: { [id]: 0 } });
  await until(() => client.polls > 0, { what: 'its first answer' });
  const path = `/v1/messaging/conversations/${id}/participants`;
  const { body } = await one.call('GET', path);
  const participants = body.data as { id: string; actor_id: string }[];
  const own = participants.find(({ actor_id }) => actor_id === grace.id)!;
  t.equal((await one.call('DELETE', `${path}/${own.id}`)).status, 200);
  const isRevoked = ({ type, reason }: AnswerFrame) => type === 'resync' && reason === 'revoked';
  await Promise.all([stream.frame(isRevoked), client.frame(isRevoked)]);
  const { body: after } = await two.send(id, { body: 'not for grace' }, ada.access_token);
  const again = await poll(answering(two, token), { cursor, conversations: { [id]: 0 }, wait_ms: 0 });
  t.ok(again.frames.some(isRevoked));
  for (const { frames } of [stream, client, again]) {
    t.notOk(frames.some(({ data }) => data?.id === after.id));
  }
  stream.close();
  client.stop();

  const role = await roleOf(database, vera.id);
  const veras = new StreamClient(answering(two, vera.access_token), { conversations: { [id]: 0 } });
  await veras.frame('caught_up');
  await database.transaction(async (tx) => {
    await tx.kysely.updateTable('roles').set({ permissions: [] }).where('id', '=', role).execute();
    await enqueueRightsChanged(tx, [role]);
  });
  await veras.frame(isRevoked);
  veras.close();
});

t.test('polls have no part in the limit of REST', async (t) => {
  const limited = await start({ PARLEY_RATE_LIMIT: '3/60', PARLEY_SOCKET_POLLS_PER_SECOND: '1000' });
  let cursor: string | undefined;
  for (let n = 0; n < 40; n++) {
    const answer = await poll(answering(limited), { cursor, wait_ms: 0 });
    t.equal(answer.status, 200);
    t.equal(answer.headers['ratelimit-limit'], '1000');
    ({ cursor } = answer);
  }
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++) {
    statuses.push((await limited.call('GET', '/v1/me', undefined, ada.access_token)).status);
  }
  t.strictSame(statuses, [200, 200, 200, 429], 'REST has all of its own');
  t.equal((await poll(answering(limited), { cursor, wait_ms: 0 })).status, 200, 'which polls do not need');
  await limited.kill('SIGKILL');
});

t.test('typing over REST reaches the team on every transport', async (t) => {
  const id = await createGroup(one, 'Typing');
  const stream = new StreamClient(answering(one), { subscribe: [{ conversation_id: id }] });
  await stream.frame('caught_up');
  const client = new Poller(t, { node: () => answering(one), conversations: { [id]: 0 } });
  const socket = await one.listen(id);
  await until(() => client.polls > 0, { what: 'its first answer' });
  const path = `/v1/messaging/conversations/${id}/actions/typing`;
  for (const state of ['start', 'stop']) {
    const isTyping = ({ event, data }: AnswerFrame) => event === 'typing' && data?.state === state;
    const type = async () => {
      const answer = await two.call('POST', path, { state }, grace.access_token);
      t.match(answer, {
        status: 200,
        body: { object: 'typing', conversation_id: id, actor_id: grace.id, state },
      });
    };
    await type();
    t.match(await stream.frame(isTyping), { conversation_id: id, data: { actor_id: grace.id, state } });
    await until(() => socket.frames.some(isTyping), { what: 'the socket' });
    const isHeard = async () => {
      if (client.frames.some(isTyping)) return true;
      // Between two polls nothing is heard of it.
      await type();
      return false;
    };
    await until(isHeard, { what: 'the poll' });
  }
  stream.close();
  socket.socket.terminate();
});

t.test('typing: who may not', async (t) => {
  const id = await createGroup(one, 'Closed', ['ada', 'grace']);
  const refusal = async (conversationId: string, body: object, token?: string) => {
    const path = `/v1/messaging/conversations/${conversationId}/actions/typing`;
    const answer = await one.call('POST', path, body, token);
    const { code, param } = answer.body.error as { code: string; param: string | null };
    return `${answer.status} ${code} ${param}`;
  };
  const start = { state: 'start' };
  t.equal(await refusal(id, start, vera.access_token), '403 insufficient_permissions null', 'no role');
  t.equal(await refusal('cnv_x', start, ada.access_token), '404 resource_not_found id');
  t.equal(await refusal(id, start, demo.customer.access_token), '404 resource_not_found id');
  t.equal(await refusal(id, {}, ada.access_token), '400 missing_field state');
  t.equal(await refusal(id, { state: 'pause' }, ada.access_token), '422 validation_failed state');
  t.equal(await refusal(id, start, 'nonsense'), '401 invalid_credentials null');
  const older = one.at('1.2.harbor');
  const tooOld = await older.call('POST', `/v1/messaging/conversations/${id}/actions/typing`, start);
  t.match(tooOld, { status: 400, body: { error: { code: 'api_version_too_old' } } });
  const { body } = await one.call('GET', `/v1/messaging/conversations/${id}/participants`);
  const own = (body.data as { id: string; actor_id: string }[]).find(
    ({ actor_id }) => actor_id === grace.id,
  )!;
  await one.call('PATCH', `/v1/messaging/conversations/${id}/participants/${own.id}`, { role: 'viewer' });
  t.equal(await refusal(id, start, grace.access_token), '403 insufficient_permissions null', 'a viewer');
});

t.test('a customer that types is seen by the team, not by itself', async (t) => {
  const { case: id } = demo.conversations;
  const team = new StreamClient(answering(one), { subscribe: [{ conversation_id: id }] });
  const own = new StreamClient(answering(one, demo.customer.access_token), {
    subscribe: [{ conversation_id: id }],
  });
  await Promise.all([team.frame('caught_up'), own.frame('caught_up')]);
  const path = `/v1/messaging/conversations/${id}/actions/typing`;
  t.equal((await two.call('POST', path, { state: 'start' }, demo.customer.access_token)).status, 200);
  await team.frame(({ event }) => event === 'typing');
  const { body: sent } = await one.send(id, { audience: 'customer', body: 'ahoy' }, ada.access_token);
  await own.frame(({ data }) => data?.id === sent.id);
  t.notOk(own.frames.some(({ event }) => event !== undefined && EPHEMERAL.has(event)));
  team.close();
  own.close();
});

t.test('behind nginx, which buffers answers', async (t) => {
  const { port } = new URL(one.baseUrl);
  const nginx = await startNginxWith(
    t,
    (own) => `server {
      listen 127.0.0.1:${own};
      location / {
        proxy_pass http://127.0.0.1:${port};
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Connection '';
      }
    }`,
  );
  const proxied = { ...answering(one), baseUrl: `http://127.0.0.1:${nginx.port}` };
  const id = await createGroup(one, 'Proxied');
  const stream = new StreamClient(proxied, { conversations: { [id]: 0 } });
  await stream.frame('caught_up');
  const client = new Poller(t, { node: () => proxied, conversations: { [id]: 0 } });
  await sendMany(two, id, 20);
  await stream.frame((frame) => isCreated(frame, id, 20));
  await client.frame((frame) => isCreated(frame, id, 20));
  t.strictSame(numbersIn(stream.frames), upTo(20));
  t.strictSame(client.created(id), upTo(20));
  t.strictSame(client.failures, []);
  stream.close();
  client.stop();
  t.equal(nginx.errors().includes('error'), false, nginx.errors());
});

async function start(own: NodeJS.ProcessEnv = {}): Promise<TestNode> {
  const node = await startNode(t, { ...options, env: { ...env, ...own } });
  return node.at(NEWEST_VERSION);
}

function answering(node: TestNode, token = ada.access_token): AnsweringNode {
  return { baseUrl: node.baseUrl, headers: node.headers(token) };
}

/** A client whose polls go to one node and the other. */
function alternating(t: Teardown, conversationIds: readonly string[]): Poller {
  let turn = 0;
  return new Poller(t, {
    node: () => answering(nodes[turn++ % 2]!),
    conversations: Object.fromEntries(conversationIds.map((id) => [id, 0])),
  });
}

/** Sends one after the other. */
async function sendMany(node: TestNode, conversationId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await node.send(conversationId, { body: `${n}` }, grace.access_token);
}

function isCreated({ event, conversation_id, sequence }: AnswerFrame, id: string, number: number): boolean {
  return event === 'message.created' && conversation_id === id && sequence === number;
}

function numbersIn(frames: readonly AnswerFrame[]): unknown[] {
  return frames.filter(({ event }) => event === 'message.created').map(({ sequence }) => sequence);
}

function upTo(length: number): number[] {
  return Array.from({ length }, (_, index) => index + 1);
}

const EPHEMERAL = new Set(['presence', 'typing', 'read', 'inbox.updated']);

/** Returns the durable events that say what an earlier one said. */
function repeatedChanges(frames: readonly AnswerFrame[]): string[] {
  const said = frames
    .filter(({ event }) => event !== undefined && !EPHEMERAL.has(event))
    .map(({ event, conversation_id, at, data }) => JSON.stringify([event, conversation_id, at, data]));
  return said.filter((one, index) => said.indexOf(one) < index);
}
