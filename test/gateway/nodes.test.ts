/** Two nodes over one Postgres and one Redis: rights that end (docs/architecture.md#rights-that-end), and ephemeral events (docs/realtime.md#events). */

import t from 'tap';
import { WebSocket } from 'ws';
import { enqueueRightsChanged } from '../../src/accounts/rights-changed.ts';
import { setActive } from '../../src/accounts/users.ts';
import { openDatabase } from '../../src/db/database.ts';
import type { Participant } from '../../src/protocol/resources/participant.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { testRedisUrl } from '../support/redis.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { Client, type ReceivedFrame } from './fixture.ts';

const PRESENCE_MS = 2_000;

const { url: databaseUrl } = await createTestDatabase(t);
const redisUrl = await testRedisUrl(t);
const options = { databaseUrl, redisUrl, env: { PARLEY_SOCKET_PRESENCE_MS: String(PRESENCE_MS) } };
const nodes = [await startNode(t, options), await startNode(t, options)] as const;
const database = await openDatabase({ url: databaseUrl, log });
t.teardown(() => database.close());
const { demo } = nodes[0];
const { ada, grace, vera } = demo.users;
const { group } = demo.conversations;
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
      role_id: await roleOf(ada.id),
    });
    const opened = await sockets(String(key.key));
    const revoked = await nodes[0].call('POST', `/v1/api-keys/${key.id}/actions/revoke`);
    t.equal(revoked.status, 200);
    await closedWithin(opened);
    for (const { closed } of opened) t.equal(closed?.code, 4202);
  });

  await t.test('a role without the permission to read', async () => {
    const veras = await sockets(vera.access_token);
    const roleId = await roleOf(vera.id);
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

t.test('a node is killed: its users are offline once its last announcement is too old', async (t) => {
  const watcher = await follower(nodes[0]);
  const lost = await follower(nodes[1]);
  await lost.request('presence', { status: 'online' });
  await watcher.frame((frame) => isPresence('online')(frame) && frame.data?.actor_id === ada.id);
  await nodes[1].kill('SIGKILL');
  const offline = (frame: ReceivedFrame) => isPresence('offline')(frame) && frame.data?.actor_id === ada.id;
  await until(() => watcher.frames.some(offline), { what: 'offline' });
  t.pass('the watcher sees the actor offline');
  watcher.close();
});

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

async function roleOf(actorId: string): Promise<string> {
  const actor = await database.kysely
    .selectFrom('actors')
    .select('role_id')
    .where('id', '=', actorId)
    .executeTakeFirstOrThrow();
  return actor.role_id!;
}
