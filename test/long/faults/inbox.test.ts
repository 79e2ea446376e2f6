/**
 * The inbox over two nodes: a node that dies before its rows are written, and walks beside writes.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * packages/client/react, src/core/installation, src/features/mail, src/platform/outbound.
 */

import { isDeepStrictEqual } from 'node:util';
import { connect } from '@parley/client';
import type { List } from '@parley/protocol/lists.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type { InboxChanged } from '@parley/protocol/socket/event-data.ts';
import { CURRENT_VERSION, NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import pg from 'pg';
import t from 'tap';
import { WebSocket } from 'ws';
import { INBOX_LOCK } from '../../../src/core/inbox/writer.ts';
import { Client } from '../../gateway/fixture.ts';
import { startCluster } from '../../support/cluster.ts';
import type { TestNode } from '../../support/node.ts';
import { Random } from '../../support/random.ts';
import { until } from '../../support/until.ts';

const PATH = '/v1/messaging/conversations';
const cluster = await startCluster(t);
const { ada, grace } = cluster.nodes[0].demo.users;
const pool = new pg.Pool({ connectionString: cluster.databaseUrl, max: 3 });
t.teardown(() => pool.end());

t.test('a node that is killed between a commit and its inbox rows leaves nothing wrong', async (t) => {
  const { nodes } = cluster;
  const [first, second] = [await create(nodes[0]), await create(nodes[0])];
  await written();
  for (const isMarked of [false, true]) {
    // While the test has the lock of the writer, no node can write rows.
    const holder = await pool.connect();
    await holder.query('SELECT pg_advisory_lock($1)', [INBOX_LOCK]);
    const place = async () => (await list(nodes[1], 'order=activity&limit=1')).data[0]?.id;
    const before = await place();
    const moved = before === first ? second : first;
    await nodes[0].send(moved, {}, ada.access_token);
    if (isMarked) {
      const marks = async () =>
        (await pool.query('SELECT FROM inbox_due WHERE conversation_id = $1', [moved])).rowCount;
      await until(marks, { what: 'a mark' });
    }
    await nodes[0].kill('SIGKILL');
    t.notOk(await isUnreadInRows(moved), 'its row is not written');
    t.equal(await place(), moved, 'the page is right all the same');
    const unread = await list(nodes[1], 'filter=unread&order=activity');
    t.ok(unread.data.some(({ id }) => id === moved));
    t.ok((await summary(nodes[1])).unread > 0);
    await holder.query('SELECT pg_advisory_unlock($1)', [INBOX_LOCK]);
    holder.release();
    await until(() => isUnreadInRows(moved), { what: 'the other node to write the row' });
    t.equal(await place(), moved);
    await markAllRead();
    await cluster.restart(0);
  }
});

t.test('walks beside writes, and events, together are whole', async (t) => {
  const random = new Random(25);
  const nodes = cluster.nodes.map((node) => node.at(NEWEST_VERSION));
  const ids = new Set<string>();
  for (let n = 0; n < 40; n++) ids.add(await create(nodes[0]!));
  const everything = await walk(nodes[0]!, 25, async () => undefined);
  for (const { id } of everything) ids.add(id);
  const all = [...ids];
  const socket = await open(nodes[1]!);
  t.teardown(() => socket.close());

  for (let round = 0; round < 8; round++) {
    const eventsBefore = socket.frames.length;
    const writes: Promise<unknown>[] = [];
    const sentTo = new Set<string>();
    const write = () => {
      const by = random.pick([ada, grace]);
      const id = random.pick(all);
      sentTo.add(id);
      writes.push(random.pick(nodes).send(id, {}, by.access_token));
    };
    const node = random.pick(nodes);
    const shown = await walk(node, 3 + random.below(8), async () => {
      for (let n = random.below(5); n > 0; n--) write();
      if (random.below(3) === 0) await Promise.all(writes);
    });
    t.equal(new Set(shown.map(({ id }) => id)).size, shown.length, 'no conversation comes twice');
    await Promise.all(writes);
    await written();
    const named = () => changedIn(socket.frames.slice(eventsBefore));
    await until(() => [...sentTo].every((id) => named().has(id)), { what: 'the names of what has moved' });

    // A client holds the walk, and reads again what events name.
    const held = new Map<string, string>();
    const hold = ({ id, last_message_at: at, created_at }: Conversation) => held.set(id, at ?? created_at);
    for (const one of shown) hold(one);
    const ids = [...named()].map((id) => `&conversation_ids[]=${id}`).join('');
    if (ids !== '') for (const one of (await list(node, `order=activity&limit=100${ids}`)).data) hold(one);
    t.strictSame([...held.keys()].sort(), all.toSorted(), 'nothing is missing');
    const order = [...held].sort(([, a], [, b]) => (a < b ? 1 : -1)).map(([id]) => id);
    const { data } = await list(node, 'order=activity&limit=100');
    t.strictSame(
      order.slice(0, 10),
      data.slice(0, 10).map(({ id }) => id),
      'and its order is that of the server',
    );
  }
});

t.test(
  'an inbox of the SDK ends as a fresh list, whichever node dies and whatever Redis loses',
  async (t) => {
    const random = new Random(37);
    const ids: string[] = [];
    for (let n = 0; n < 10; n++) ids.push(await create(cluster.nodes[1]));
    let connections = 0;
    const client = connect({
      url: () => cluster.nodes[connections++ % 2]!.baseUrl,
      account: cluster.nodes[1].demo.account_id,
      token: grace.access_token,
      mostWaitMs: 500,
    });
    t.teardown(() => client.close());
    const inbox = client.inbox({ pageSize: 100, include: ['last_message'] });
    await until(() => inbox.snapshot.status === 'ready', { what: 'the list' });
    const change = (id: string) => {
      const node = cluster.nodes[1].at(NEWEST_VERSION);
      const act = (action: string, body: object) =>
        node.call('POST', `${PATH}/${id}/actions/${action}`, body, grace.access_token);
      return random.pick([
        () => node.send(id, {}, ada.access_token),
        () => node.send(id, {}, grace.access_token),
        () => node.call('PATCH', `${PATH}/${id}`, { title: `Title ${random.below(99)}` }, ada.access_token),
        () => act('mark-read', { sequence: 1 }),
        () => act('mark-unread', { sequence: 1 }),
        () => act('snooze', {}),
        () => act('unsnooze', {}),
        () => act('hide', {}),
        () => act('unhide', {}),
      ])();
    };
    let restarting = Promise.resolve();
    for (let n = 0; n < 90; n++) {
      // A request that finds no Redis may fail, before or after its effect.
      await change(random.pick(ids)).catch(() => {});
      if (n === 30) restarting = cluster.nodes[0].kill('SIGKILL').then(() => cluster.restart(0));
      if (n === 60) {
        await restarting;
        await cluster.redis.kill();
        await cluster.redis.start();
      }
    }
    await written();
    let difference: unknown;
    await until(
      async () => {
        // The SDK speaks the stable version.
        const query = 'order=activity&limit=100&include[]=last_message';
        const { data } = await list(cluster.nodes[1], query, CURRENT_VERSION);
        difference = [inbox.snapshot.conversations, data];
        return isDeepStrictEqual(inbox.snapshot.conversations, data);
      },
      { what: 'the fresh list' },
    ).catch((error: unknown) => t.fail(String(error), { difference }));
    t.ok(inbox.snapshot.conversations.length > 0);
    t.ok(connections > 1, 'the client has moved');
  },
);

async function create(node: TestNode): Promise<string> {
  const participants = [{ type: 'user', actor_id: grace.id }];
  const { status, body } = await node.call('POST', PATH, { type: 'group', participants }, ada.access_token);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return String((body as { id?: unknown }).id);
}

type Inbox = List<Conversation>;

async function list(node: TestNode, query: string, version?: Version): Promise<Inbox> {
  return follow(node, `${PATH}?${query}`, version);
}

async function follow(node: TestNode, path: string, version: Version = NEWEST_VERSION): Promise<Inbox> {
  const { status, body } = await node.at(version).call('GET', path, undefined, grace.access_token);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as unknown as Inbox;
}

async function walk(node: TestNode, limit: number, between: () => Promise<unknown>) {
  const shown: Conversation[] = [];
  for (let next: string | null = `${PATH}?order=activity&limit=${limit}`; next !== null; ) {
    const page: Inbox = await follow(node, next);
    shown.push(...page.data);
    next = page.page_info.next_page_url;
    await between();
  }
  return shown;
}

async function summary(node: TestNode): Promise<InboxSummary> {
  const path = `${PATH}/summary`;
  const { body } = await node.at(NEWEST_VERSION).call('GET', path, undefined, grace.access_token);
  return body as unknown as InboxSummary;
}

async function markAllRead(): Promise<void> {
  const node = cluster.nodes[1].at(NEWEST_VERSION);
  await node.call('POST', `${PATH}/actions/mark-all-read`, undefined, grace.access_token);
}

async function isUnreadInRows(conversationId: string): Promise<boolean> {
  const { rows } = await pool.query<{ is_unread: boolean }>(
    'SELECT is_unread FROM inbox_rows WHERE actor_id = $1 AND conversation_id = $2',
    [grace.id, conversationId],
  );
  return rows[0]?.is_unread === true;
}

/** Resolves when every row is written. */
function written() {
  const left = async () => (await pool.query('SELECT FROM inbox_due UNION ALL SELECT FROM outbox')).rowCount;
  return until(async () => (await left()) === 0, { what: 'rows of the inbox' });
}

async function open(node: TestNode): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${grace.access_token}`,
    'Service-Version': NEWEST_VERSION,
    'Service-Account': node.demo.account_id,
  };
  const client = new Client(new WebSocket(`${node.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  await client.frame('ready');
  return client;
}

/** Returns the ids of conversations that have moved or changed. */
function changedIn(frames: Client['frames']): ReadonlySet<string> {
  return new Set(
    frames.flatMap(({ event, data }) =>
      event === 'inbox.changed' ? ((data as unknown as InboxChanged).conversation_ids ?? []) : [],
    ),
  );
}
