/**
 * Single deliveries between nodes are lost on a link that stays up, or a node commits while its
 * link is away: readers still get everything on the open socket.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/features/mail,
 * src/platform/outbound.
 */

import pg from 'pg';
import t from 'tap';
import { WIRE_KINDS } from '../../../src/core/frames/frame-codec.ts';
import { loseNext, startLinks } from '../../support/link-faults.ts';
import { type Listener, startNode } from '../../support/node.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { startRedis } from '../../support/redis.ts';
import type { Pushed } from '../../support/resp.ts';
import { until } from '../../support/until.ts';

const { url: databaseUrl } = await createTestDatabase(t);
const redis = await startRedis(t);
const [link] = await startLinks(t, { redis, seed: 1, count: 1 });
// Presence is not repeated by itself as long as a test waits.
const env = { PARLEY_SOCKET_HEARTBEAT_MS: '200', PARLEY_SOCKET_PRESENCE_MS: '600000' };
const [near, far] = await Promise.all([
  startNode(t, { databaseUrl, redisUrl: `redis://127.0.0.1:${link!.port}`, env }),
  startNode(t, { databaseUrl, redisUrl: redis.url, env }),
]);
const { ada, grace } = near.demo.users;
const timeoutMs = 60_000;

interface Row {
  /** A conversation of the demo account. Default: a separate group. */
  readonly conversation?: 'case';
  /** Makes the state before the loss; returns the value that `act` needs. */
  readonly prepare?: (conversationId: string) => Promise<string>;
  /** Publishes what is lost, on the other node. */
  readonly act: (conversationId: string, prepared: string) => Promise<unknown>;
  readonly event: string;
  readonly data: (prepared: string) => object;
}

const ROWS: Readonly<Record<string, Row>> = {
  'the last message of a quiet conversation': {
    act: (id) => far.send(id, { body: 'last' }),
    event: 'message.created',
    data: () => ({ body: 'last' }),
  },
  'an edit': {
    prepare: sendOne,
    act: (_, messageId) => far.call('PATCH', `/v1/messaging/messages/${messageId}`, { body: 'edited' }),
    event: 'message.updated',
    data: (id) => ({ id, body: 'edited' }),
  },
  'a deletion': {
    prepare: sendOne,
    act: (_, messageId) => far.call('DELETE', `/v1/messaging/messages/${messageId}`),
    event: 'message.updated',
    data: (id) => ({ id, body: null }),
  },
  'a notification': {
    act: (id) => far.send(id, { body: 'look here' }),
    event: 'notification.created',
    data: () => ({ body: 'look here' }),
  },
  'a change of the conversation': {
    act: (id) => far.call('PATCH', `/v1/messaging/conversations/${id}`, { title: 'Renamed' }),
    event: 'conversation.updated',
    data: () => ({ title: 'Renamed' }),
  },
  'a draft': {
    conversation: 'case',
    act: (id) => far.send(id, { body: 'a draft', mode: 'draft', channel: 'message' }, grace.access_token),
    event: 'draft.created',
    data: () => ({ body: 'a draft' }),
  },
};

for (const [name, row] of Object.entries(ROWS)) {
  t.test(`${name} that is lost arrives on the open socket, and on a socket that resumes`, async (t) => {
    const conversationId =
      row.conversation === undefined ? await newGroup() : near.demo.conversations[row.conversation];
    const prepared = (await row.prepare?.(conversationId)) ?? '';
    const reader = await near.listen(conversationId);
    const leaver = await near.listen(conversationId, { token: ada.access_token });
    const has = (listener: Listener) =>
      listener.frames.some(
        ({ event, data }) => event === row.event && isWithin(row.data(prepared), data ?? {}),
      );

    const { lost } = link!.counts;
    loseNext(link!, isEvent(row.event));
    await row.act(conversationId, prepared);
    await until(() => link!.counts.lost > lost, { what: 'the loss', timeoutMs });
    const { heartbeats } = leaver;
    await until(() => leaver.heartbeats > heartbeats, { what: 'a heartbeat behind the loss', timeoutMs });
    const wasThere = has(leaver);
    leaver.socket.terminate();
    await until(() => has(reader), { what: `${row.event} on the open socket`, timeoutMs });
    t.equal(reader.closeCode, undefined);

    const afterSequence = lastSeen(leaver);
    const back = await near.listen(conversationId, { cursor: leaver.cursor, afterSequence });
    t.ok(wasThere || has(back), 'comes with the resume');
    reader.socket.terminate();
    back.socket.terminate();
  });
}

t.test(
  'frames lost on one of many streams are repaired on that stream, and raise no other alarm',
  async (t) => {
    const repairedStreams = () => near.metric('parley_repaired_streams_total');
    const silences = () => near.metric('parley_repairs_total{reason="silence"}');
    const run = async () => {
      const before = { repaired: await repairedStreams(), silences: await silences() };
      const { lost } = link!.counts;
      await loseOneOfMany();
      const repaired = async () => (await repairedStreams()) - before.repaired;
      await until(async () => (await repaired()) > 0, { what: 'the repair to be counted', timeoutMs });
      return {
        lost: link!.counts.lost - lost,
        repaired: await repaired(),
        silences: (await silences()) - before.silences,
      };
    };
    let outcome = await withWholeLinks(run);
    // A repair of the nodes' start may have been under way, and have counted the streams too.
    if (outcome.repaired > 1) outcome = await withWholeLinks(run);
    t.same(outcome, { lost: 1, repaired: 1, silences: 0 }, 'one stream of many');

    async function loseOneOfMany(): Promise<void> {
      const ids = await Promise.all(Array.from({ length: 12 }, newGroup));
      const readers = await Promise.all(ids.map((id) => near.listen(id, { token: near.demo.api_key })));
      // Not the question for presence that this node asked on the channel itself: its own frames it
      // does not miss.
      const isMessage = isEvent('message.created');
      loseNext(link!, (pushed) => pushed.channel.endsWith(`:${ids[0]}`) && isMessage(pushed));
      await Promise.all(ids.map((id) => far.send(id)));
      await until(() => readers.every((reader) => reader.created().length === 1), { what: 'all', timeoutMs });
    }
  },
);

t.test('subscriptions that come and go under load raise no alarm', async (t) => {
  link!.faults.holdMs = () => 0;
  const ids = await Promise.all(Array.from({ length: 4 }, newGroup));
  const lostFrames = () => near.metric('parley_engine_lost_frames_total');
  const counted = await withWholeLinks(async () => {
    const before = await lostFrames();
    let isOver = false;
    const sending = Promise.all(
      ids.map(async (id) => {
        while (!isOver) await far.send(id);
      }),
    );
    for (let round = 0; round < 15; round++) {
      const listeners = await Promise.all(ids.map((id) => near.listen(id)));
      for (const { socket } of listeners) socket.terminate();
    }
    isOver = true;
    await sending;
    // Whatever was wrong would show with the announcements that speak of it.
    const listener = await near.listen(ids[0]!);
    await until(() => listener.heartbeats > 20, { what: 'four seconds of heartbeats', timeoutMs });
    listener.socket.terminate();
    return (await lostFrames()) - before;
  });
  t.equal(counted, 0);
});

t.test('no cursor passes a loss that is not repaired yet', async (t) => {
  const conversationId = await newGroup();
  const reader = await near.listen(conversationId);
  const blocker = new pg.Client({ connectionString: databaseUrl });
  await blocker.connect();
  t.teardown(() => blocker.end());
  const { lost } = link!.counts;
  loseNext(link!, isEvent('notification.created'));
  await far.send(conversationId, { body: 'held' });
  await until(() => link!.counts.lost > lost, { what: 'the loss', timeoutMs });
  // The repair has to wait, and cursors go on to be taken.
  await blocker.query('BEGIN; LOCK TABLE notifications IN ACCESS EXCLUSIVE MODE');
  const { heartbeats } = reader;
  // Longer than the ten seconds by which every cursor is older than what was delivered.
  await until(() => reader.heartbeats > heartbeats + 60, { what: '12 s of heartbeats', timeoutMs });
  const isLost = !has(reader, 'held');
  reader.socket.terminate();
  await blocker.query('COMMIT');
  const afterSequence = lastSeen(reader);
  const back = await far.listen(conversationId, { cursor: reader.cursor, afterSequence });
  t.ok(isLost, 'it had not been repaired');
  t.ok(has(back, 'held'), 'comes with the resume');
  back.socket.terminate();

  function has({ frames }: Listener, body: string): boolean {
    return frames.some(({ event, data }) => event === 'notification.created' && data?.body === body);
  }
});

t.test('a right whose end was lost ends all the same', async (t) => {
  const conversationId = await newGroup();
  const reader = await near.listen(conversationId, { token: grace.access_token });
  const { body } = await far.call(
    'GET',
    `/v1/messaging/conversations/${conversationId}?include[]=participants`,
  );
  const participants = body.participants as { id: string; actor: { id: string } }[];
  const { id } = participants.find(({ actor }) => actor.id === grace.id)!;
  const { lost } = link!.counts;
  const isInvalidation = ({ channel }: Pushed) => channel.endsWith(':rights');
  loseNext(link!, isInvalidation);
  await far.call('DELETE', `/v1/messaging/conversations/${conversationId}/participants/${id}`);
  await until(() => link!.counts.lost > lost, { what: 'the loss', timeoutMs });
  const isRevoked = () =>
    reader.closeCode !== undefined || reader.frames.some(({ reason }) => reason === 'revoked');
  await until(isRevoked, { what: 'the end of the subscription', timeoutMs });
  t.pass('it ended');
  reader.socket.terminate();
});

t.test('presence that is lost is requested', async (t) => {
  const conversationId = await newGroup();
  const reader = await near.listen(conversationId);
  const other = await far.listen(conversationId, { token: grace.access_token });
  const { lost } = link!.counts;
  loseNext(link!, (pushed) => kindOf(pushed) === WIRE_KINDS.presence && pushed.message.includes(grace.id));
  other.socket.send(JSON.stringify({ type: 'presence', id: 'p', status: 'online' }));
  await until(() => link!.counts.lost > lost, { what: 'the loss', timeoutMs });
  await until(
    () => reader.frames.some(({ event, data }) => event === 'presence' && data?.actor_id === grace.id),
    { what: 'that grace is online', timeoutMs },
  );
  t.pass('it came');
  for (const { socket } of [reader, other]) socket.terminate();
});

t.test('a deletion by a node that is cut off reaches the readers of the other one, once', async (t) => {
  const conversationId = far.demo.conversations.group;
  const sql = new pg.Client({ connectionString: databaseUrl });
  await sql.connect();
  t.teardown(() => sql.end());
  const isOutboxEmpty = async () => (await sql.query('SELECT FROM outbox')).rowCount === 0;
  const stays = await far.listen(conversationId);
  const leaves = await far.listen(conversationId);
  const { body } = await near.send(conversationId);
  const id = String(body.id);
  await until(() => [stays, leaves].every((listener) => listener.created().length > 0), {
    what: 'the message',
  });
  await until(isOutboxEmpty, { what: 'its effects' });

  link!.refuse();
  const deleted = await near.call('DELETE', `/v1/messaging/messages/${id}`);
  t.equal(deleted.status, 200);
  leaves.socket.terminate();
  await until(() => deletions(stays).length > 0, { what: 'the deletion, read from Postgres' });
  await until(isOutboxEmpty, { what: 'all that the deletion causes' });
  const { heartbeats, cursor } = stays;
  // Longer than the ten seconds by which every cursor is older than what was delivered.
  await until(() => stays.heartbeats > heartbeats + 60, { what: '12 s of heartbeats' });
  t.not(stays.cursor, cursor, 'cursors go on while a node is cut off');
  t.same(deletions(stays), [id], 'it is not sent again');

  const resumed = async (from: string) => {
    const back = await far.listen(conversationId, { cursor: from, afterSequence: Number(body.sequence) });
    back.socket.terminate();
    return back;
  };
  const back = await resumed(leaves.cursor);
  t.same(deletions(back), [id], 'a client without a socket receives it when it resumes');
  t.ok(
    back.frames.some(({ event, data }) => event === 'notification.updated' && data?.status === 'dismissed'),
    'and that of its notification',
  );
  link!.accept();
  await until(async () => (await near.metric('parley_engine_healthy')) === 1, { what: 'the link' });
  t.same(deletions(stays), [id]);
  t.same(deletions(await resumed(stays.cursor)), [], 'a later cursor is behind it');
  stays.socket.terminate();
});

/**
 * Runs again where a node lost its link to Redis meanwhile, as nodes of a busy machine do: what is
 * lost with the link is repaired in all streams, and the other node counts what could not be
 * published.
 */
async function withWholeLinks<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    const before = await recoveredLinks();
    const result = await run();
    if ((await recoveredLinks()) === before) return result;
  }
}

/** How often a link was away, and came back; one that is away is waited for. */
async function recoveredLinks(): Promise<number> {
  const counts = [near, far].map(async (node) => {
    await until(async () => (await node.metric('parley_engine_healthy')) === 1, {
      what: 'a link',
      timeoutMs,
    });
    const [back = 0, away = 0] = await Promise.all([
      node.metric('parley_repairs_total{reason="link"}'),
      node.metric('parley_repairs_total{reason="away"}'),
    ]);
    return back + away;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

async function newGroup(): Promise<string> {
  const participants = [ada, grace].map(({ id }) => ({ type: 'user', actor_id: id }));
  const { body } = await far.call('POST', '/v1/messaging/conversations', {
    type: 'group',
    title: 'Pier',
    participants,
  });
  return String(body.id);
}

async function sendOne(conversationId: string): Promise<string> {
  const { body } = await far.send(conversationId);
  return String(body.id);
}

/**
 * Returns the number that a client resumes after: its last message, else the head in the answer to
 * its subscription.
 */
function lastSeen(listener: Listener): number {
  const reply = listener.frames.find(({ type }) => type === 'reply') as
    | { result?: { head_sequence: number } }
    | undefined;
  return listener.sequences().at(-1) ?? reply?.result?.head_sequence ?? 0;
}

function isEvent(name: string): (pushed: Pushed) => boolean {
  return ({ message }) => message.includes(`"event":"${name}"`);
}

/** Reads the byte after the envelope. */
function kindOf({ message }: Pushed): number | undefined {
  return message[20];
}

function isWithin(expected: object, actual: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(expected).every(([name, value]) => actual[name] === value);
}

/** The messages that the listener was sent as deleted. */
function deletions({ frames }: Listener): unknown[] {
  return frames
    .filter(({ event, data }) => event === 'message.updated' && typeof data?.deleted_at === 'string')
    .map(({ data }) => data!.id);
}
