/**
 * Two nodes over one Postgres and one Redis: rights that end
 * (docs/architecture.md#rights-that-end), ephemeral events (docs/realtime.md#events), and one that
 * is killed.
 */

import { randomUUID } from 'node:crypto';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { enqueueRightsChanged } from '../../src/core/accounts/rights/rights-changed.ts';
import { setActive } from '../../src/core/accounts/users/activation.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { testRedisUrl } from '../support/redis.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { Client, type ReceivedFrame, roleOf } from './fixture.ts';

const PRESENCE_MS = 2_000;

const { url: databaseUrl } = await createTestDatabase(t);
const redisUrl = await testRedisUrl(t);
const options = { databaseUrl, redisUrl, env: { PARLEY_SOCKET_PRESENCE_MS: String(PRESENCE_MS) } };
const nodes = [await startNode(t, options), await startNode(t, options)] as const;
const newest = [nodes[0].at(NEWEST_VERSION), nodes[1].at(NEWEST_VERSION)] as const;
const database = await openDatabase({ url: databaseUrl, log });
t.teardown(() => database.close());
const { demo } = nodes[0];
const { ada, grace, vera } = demo.users;
const { group } = demo.conversations;
const CASES = '/v1/messaging/conversations';
const PATH = `/v1/messaging/conversations/${group}`;

t.test('typing, read positions and presence pass between nodes', async (t) => {
  const [writer, reader] = [await follower(nodes[1], grace.access_token), await follower(nodes[0])];
  const { body: sent } = await nodes[0].send(group, {}, ada.access_token);
  await writer.request('presence', { status: 'online' });
  await writer.request('typing', { conversation_id: group, state: 'start' });
  await writer.request('mark_read', { conversation_id: group, sequence: sent.sequence });
  for (const [event, data] of [
    ['presence', { actor_id: grace.id, status: 'online' }],
    ['typing', { actor_id: grace.id, state: 'start' }],
    ['read', { actor_id: grace.id, sequence: sent.sequence }],
  ] as const) {
    t.strictSame((await reader.frame((frame) => frame.event === event)).data, data, event);
  }
  const late = await follower(nodes[0], vera.access_token);
  await late.frame(isPresence('online'));
  for (const client of [writer, reader, late]) client.close();
});

t.test(
  'reactions arrive behind their message, and reactions and replies survive a resume on another node',
  async (t) => {
    const [first, second] = newest;
    const react = (node: TestNode, method: string, messageId: string, emoji: string, token: string) =>
      node.call(
        method,
        `/v1/messaging/messages/${messageId}/reactions/${encodeURIComponent(emoji)}`,
        undefined,
        token,
      );
    const reader = await follower(first);
    const root = (await second.send(group, {}, grace.access_token)).body as unknown as ChatMessage;
    await react(second, 'PUT', root.id, '👍', grace.access_token);
    await reader.frame(isReacted(root.id, 1));
    const isRoot = (frame: ReceivedFrame) => frame.event === 'message.created' && frame.data?.id === root.id;
    t.ok(reader.frames.findIndex(isRoot) < reader.frames.findIndex(isReacted(root.id, 1)));
    const { cursor } = await reader.frame('ready');
    reader.close();

    // While nobody listens: what was there changes, and what comes is reacted to.
    await react(second, 'DELETE', root.id, '👍', grace.access_token);
    await react(first, 'PUT', root.id, '🎉', vera.access_token);
    const reply = (await second.send(group, { reply_to_message_id: root.id }, grace.access_token))
      .body as unknown as ChatMessage;
    await react(second, 'PUT', reply.id, '🦀', vera.access_token);
    const again = await ready(second);
    await again.request('resume', { cursor, conversations: { [group]: root.sequence } });
    await again.frame(({ type }) => type === 'resumed');
    const reacted = again.frames.filter(({ event }) => event === 'message.reacted');
    t.strictSame(
      reacted.map(({ data }) => data),
      [
        { message_id: root.id, reactions: [{ emoji: '🎉', count: 1, actor_ids: [vera.id] }] },
        { message_id: reply.id, reactions: [{ emoji: '🦀', count: 1, actor_ids: [vera.id] }] },
      ],
    );
    const created = again.frames.findIndex(
      ({ event, data }) => event === 'message.created' && data?.id === reply.id,
    );
    t.equal(again.frames[created]?.data?.reply_to_id, root.id, 'a reply names its thread');
    t.ok(created < again.frames.indexOf(reacted[1]!), 'a reaction comes behind its message');
    const { body: thread } = await second.call('GET', `/v1/messaging/messages/${root.id}?include[]=thread`);
    t.match(thread.thread, { reply_count: 1, last_reply: { id: reply.id, author_id: grace.id } });
    again.close();
  },
);

t.test('fifty reactions at once over two nodes are counted exactly', async (t) => {
  const readers = [await follower(newest[0]), await follower(newest[1])];
  const sent = (await newest[0].send(group, {}, ada.access_token)).body as unknown as ChatMessage;
  const tokens = [ada, grace, vera].map(({ access_token }) => access_token);
  const emojis = Array.from({ length: 16 }, (_, index) => String.fromCodePoint(0x1f600 + index));
  const asked = [...emojis.flatMap((emoji) => tokens.map((token) => ({ emoji, token }))).slice(0, 46)];
  // Four of them twice, each time over the other node.
  const twice = [...asked, ...asked.slice(0, 4)];
  const statuses = await Promise.all(
    twice.map(async ({ emoji, token }, index) => {
      const path = `/v1/messaging/messages/${sent.id}/reactions/${encodeURIComponent(emoji)}`;
      return (await newest[index % 2]!.call('PUT', path, undefined, token)).status;
    }),
  );
  t.strictSame(new Set(statuses), new Set([200]));
  for (const reader of readers) {
    const { data } = await reader.frame(isReacted(sent.id, 46));
    t.equal((data!.reactions as object[]).length, 16);
  }
  const { body } = await newest[1].call('GET', `/v1/messaging/messages/${sent.id}?include[]=reactions`);
  const counts = (body.reactions as { count: number }[]).map(({ count }) => count);
  t.strictSame(counts.toSorted(), [...Array(1).fill(1), ...Array(15).fill(3)]);
  for (const reader of readers) reader.close();
});

t.test('a right that ends over one node ends on both within a second', async (t) => {
  const stays = await follower(nodes[1]);
  const sockets = (token: string) => Promise.all(nodes.map((node) => follower(node, token)));

  await t.test('a participant that is removed', async (t) => {
    const graces = await sockets(grace.access_token);
    const { body } = await nodes[0].call('GET', `${PATH}?include[]=participants`);
    const participants = body.participants as Participant[];
    const own = participants.find(({ actor }) => actor?.id === grace.id)!;
    const removed = await nodes[0].call('DELETE', `${PATH}/participants/${own.id}`);
    t.equal(removed.status, 200);
    await within(graces, isRevoked, 'the end of the subscriptions');
    const { body: after } = await nodes[1].send(group, {}, ada.access_token);
    await stays.frame(({ data }) => data?.id === after.id);
    for (const client of graces) {
      await client.request('ping');
      t.notOk(
        client.frames.some(({ data }) => data?.id === after.id),
        'nothing more of it',
      );
      client.close();
    }
  });

  await t.test('a key that is revoked', async (t) => {
    const { body: key } = await nodes[0].call('POST', '/v1/api-keys', {
      name: 'Soon gone',
      role_id: await roleOf(database, ada.id),
    });
    const opened = await sockets(String(key.key));
    const revoked = await nodes[0].call('POST', `/v1/api-keys/${key.id}/actions/revoke`);
    t.equal(revoked.status, 200);
    await closedWithin(opened);
    for (const { closed } of opened) t.equal(closed?.code, 4202);
  });

  await t.test('a role without the permission to read', async () => {
    const veras = await sockets(vera.access_token);
    const roleId = await roleOf(database, vera.id);
    await database.transaction(async (tx) => {
      await tx.kysely.updateTable('roles').set({ permissions: [] }).where('id', '=', roleId).execute();
      await enqueueRightsChanged(tx, [roleId]);
    });
    await within(veras, isRevoked, 'the end of the subscriptions');
    for (const client of veras) client.close();
  });

  await t.test('a user that is deactivated', async (t) => {
    const opened = await Promise.all(nodes.map((node) => ready(node, vera.access_token)));
    await database.transaction((tx) => setActive(tx, vera.id, false));
    await closedWithin(opened);
    for (const { closed } of opened) t.equal(closed?.code, 4202);
  });

  t.match(await stays.request('ping'), { type: 'pong' }, 'nobody else is touched');
  stays.close();
});

t.test('a node is killed: its users go offline, and customers who wrote to it wait as it says', async (t) => {
  const [asked, resolved, answered] = await Promise.all([newCase(), newCase(), newCase()]);
  await newest[0].call('PATCH', `${CASES}/${resolved.id}`, { workflow_status: 'resolved' });
  const watcher = await follower(nodes[0]);
  const lost = await follower(nodes[1]);
  await lost.request('presence', { status: 'online' });
  await watcher.frame((frame) => isPresence('online')(frame) && frame.data?.actor_id === ada.id);
  const write = async ({ id, token }: OpenCase) => (await newest[1].send(id, {}, token)).body;
  const [first] = await Promise.all([asked, answered].map(write));
  await write(asked);
  // What follows from these messages is left to the other node.
  const again = await write(resolved);
  await newest[1].send(answered.id, { audience: 'customer' }, ada.access_token);
  await nodes[1].kill('SIGKILL');
  const shown = async ({ id }: OpenCase) => (await newest[0].call('GET', `${CASES}/${id}`)).body;
  await until(async () => (await shown(resolved)).workflow_status === 'open', { what: 'the reopened case' });
  t.equal((await shown(asked)).waiting_since, first!.created_at);
  t.equal((await shown(resolved)).waiting_since, again.created_at);
  t.equal((await shown(answered)).waiting_since, null);
  await newest[0].send(asked.id, { audience: 'customer' }, ada.access_token);
  t.equal((await shown(asked)).waiting_since, null, 'an answer at the other node');
  const offline = (frame: ReceivedFrame) => isPresence('offline')(frame) && frame.data?.actor_id === ada.id;
  await until(() => watcher.frames.some(offline), { what: 'offline' });
  t.pass('the watcher sees the actor offline');
  watcher.close();
});

interface OpenCase {
  readonly id: string;
  /** The token of its customer. */
  readonly token: string;
}

async function newCase(): Promise<OpenCase> {
  const customer = { type: 'customer', name: 'Cleo', email: `${randomUUID()}@customers.example` };
  const participants = [customer, { type: 'user', actor_id: ada.id }];
  const body = { type: 'group', audience: 'customer', participants };
  const made = await newest[0].call('POST', `${CASES}?include[]=participants`, body);
  const { id, participants: members } = made.body as unknown as Conversation;
  const { id: participant_id } = members!.find(({ type }) => type === 'customer')!;
  const path = `${CASES}/${id}/actions/customer-token`;
  const { body: credential } = await newest[0].call('POST', path, { participant_id });
  return { id, token: credential.access_token as string };
}

async function ready(node: TestNode, token = ada.access_token): Promise<Client> {
  const { 'Content-Type': _, ...headers } = node.headers(token);
  const client = new Client(new WebSocket(`${node.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => client.close());
  await client.frame('ready');
  return client;
}

async function follower(node: TestNode, token?: string): Promise<Client> {
  const client = await ready(node, token);
  await client.request('subscribe', { conversation_id: group });
  await client.frame('caught_up');
  return client;
}

function isPresence(status: string): (frame: ReceivedFrame) => boolean {
  return ({ event, data }) => event === 'presence' && data?.status === status;
}

/** All reactions of a message together are this many. */
function isReacted(messageId: string, total: number): (frame: ReceivedFrame) => boolean {
  return ({ event, data }) => {
    if (event !== 'message.reacted' || data?.message_id !== messageId) return false;
    return (data.reactions as { count: number }[]).reduce((sum, { count }) => sum + count, 0) === total;
  };
}

function isRevoked({ type, reason }: ReceivedFrame): boolean {
  return type === 'resync' && reason === 'revoked';
}

function within(
  clients: readonly Client[],
  fits: (frame: ReceivedFrame) => boolean,
  what: string,
): Promise<unknown> {
  return until(() => clients.every(({ frames }) => frames.some(fits)), { what });
}

function closedWithin(clients: readonly Client[]): Promise<unknown> {
  return until(() => clients.every(({ closed }) => closed !== undefined), {
    what: 'the end of the sockets',
  });
}
