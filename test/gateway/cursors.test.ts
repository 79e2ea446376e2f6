/**
 * The coverage of a cursor, the accepted cursors, and the heads beside it in heartbeats
 * (docs/realtime.md#catching-up).
 */

import { createHmac } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import t from 'tap';
import { insertMessages } from '../../src/core/messages/timeline/insert-store.ts';
import { notifyUsers } from '../../src/core/notifications/feed/notify-users.ts';
import { readChanges } from '../../src/edge/gateway/changes/changes.ts';
import { Cursors, type CursorTiming } from '../../src/edge/gateway/changes/cursors.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { AWAITED_ATTEMPTS, enqueue } from '../../src/platform/db/queue/outbox.ts';
import { defineTopic } from '../../src/platform/db/queue/topic.ts';
import type { Teardown } from '../support/teardown.ts';
import { log, newMessage } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { type Client, Ground } from './fixture.ts';
import { created, cursorOf, eventOf, Missed, range, resume } from './missed.ts';

const limits = { heartbeatMs: 200, requestsPerSecond: 1_000 };
const ground = await Ground.start(t, { limits });
const other = await Ground.start(t, { beside: ground, limits });
const missed = new Missed(ground);
const { demo, database } = ground;
const { group, case: supportCase } = demo.conversations;

t.test('a cursor covers what a slow transaction commits behind it', async (t) => {
  const id = newId('message');
  const conversationId = await missed.newConversation();
  await missed.insertMessage(conversationId, { id, sequence: 1 });
  let cursor: unknown;
  await database.transaction(async (tx) => {
    await sql`UPDATE messages SET body = 'late', updated_at = later_than(updated_at),
      changed_in = pg_current_xact_id() WHERE id = ${id}`.execute(tx.kysely);
    // Younger and committed before it.
    await missed.insertMessage(conversationId, { id: newId('message'), sequence: 2 });
    // A node that starts now takes its first cursor now.
    const young = await Ground.start(t, { beside: ground });
    cursor = await cursorOf(await young.ready());
  });
  const client = await other.ready();
  const frames = await resume(client, cursor, { [conversationId]: 2 });
  t.match(eventOf(frames, 'message.updated'), { sequence: 1, data: { id, body: 'late' } });
  client.close();
});

t.test('a cursor covers a new notification that a slow transaction commits behind it', async (t) => {
  const actorIds = [newId('actor')];
  await database.kysely
    .insertInto('actors')
    .values({ id: actorIds[0]!, account_id: demo.account_id, type: 'user' })
    .execute();
  const missedSince = async (node: TimedCursors) => {
    const since = node.cursors.read(node.cursors.current())!;
    const { frames } = await readChanges(
      { database, files: FILES },
      { conversationIds: [], actorIds },
      since,
    );
    return (frames.get(actorIds[0]!) ?? []).map(({ resource }) => resource);
  };
  const conversationId = await missed.newConversation();
  const node = await TimedCursors.start(t, { unseenMs: 0 });
  const untilNothingIsMissed = async () => {
    // What a worker would do.
    await sql`DELETE FROM outbox`.execute(database.kysely);
    const isPassed = async () => {
      await node.age();
      const missed = await missedSince(node);
      return missed.length === 0;
    };
    await until(isPassed, { what: 'a cursor behind the notifications' });
  };
  const slow = await database.transaction(async (tx) => {
    const id = await send(tx, conversationId, 1, actorIds[0]!);
    await node.age();
    return id;
  });
  t.strictSame(await missedSince(node), [slow], 'a commit that takes long');
  await untilNothingIsMissed();
  const [waited, next] = await database.transaction(async (tx) => {
    await sql`SELECT now()`.execute(tx.kysely);
    await node.age();
    return [await send(tx, conversationId, 2, actorIds[0]!), await send(tx, conversationId, 3, actorIds[0]!)];
  });
  t.strictSame(await missedSince(node), [waited, next], 'a transaction that wrote nothing for long');
  await untilNothingIsMissed();
  // A node has died, and another one makes the rows of its messages now.
  const [late] = await database.transaction((tx) =>
    notifyUsers(tx, [actorIds[0]!], {
      account_id: demo.account_id,
      category: 'chat.added',
      title: 'Late',
      body: null,
      sender_id: null,
      sender_type: 'system',
      resource: null,
      message_id: null,
      agent_run_id: null,
      cause: { key: 'late', at: '2026-01-01T00:00:00Z' },
    }),
  );
  t.strictSame(await missedSince(node), [late!.id], 'a row that is made late is found, and none of before');
});

t.test('no cursor passes a change before its event is published', async (t) => {
  const node = await TimedCursors.start(t);
  const { xid, outboxId } = await changeWithEvent();
  await node.age();
  t.ok(node.xid <= xid, 'as long as the row is there');
  const undoneMs = node.nowMs;
  await removeOutbox(outboxId);
  await node.sampled();
  t.ok(BigInt(node.cursors.before(undoneMs).xid) <= xid, 'nor does a repair of what was lost meanwhile');
  t.ok(node.xid <= xid, 'the samples of before are still the ones that are old enough');
  await until(() => node.age().then(() => node.xid > xid), { what: 'a cursor behind the change' });
});

t.test('no cursor passes a change that was under way when the node started', async (t) => {
  let started: TimedCursors | undefined;
  const { xid, outboxId } = await changeWithEvent(async () => {
    started = await TimedCursors.start(t);
  });
  const node = started!;
  await node.age();
  t.ok(node.xid <= xid);
  await removeOutbox(outboxId);
  await until(() => node.age().then(() => node.xid > xid), { what: 'a cursor behind the change' });
});

t.test('cursors move on while there is always some event to be published', async (t) => {
  const node = await TimedCursors.start(t);
  const first = await changeWithEvent();
  let { outboxId } = first;
  await until(
    async () => {
      const next = await changeWithEvent();
      await removeOutbox(outboxId);
      ({ outboxId } = next);
      await node.age();
      return node.xid > first.xid;
    },
    { what: 'a cursor behind the first change' },
  );
  await removeOutbox(outboxId);
});

t.test('cursors do not wait for an event that cannot be published', async (t) => {
  const node = await TimedCursors.start(t);
  const { xid, outboxId } = await changeWithEvent();
  await setAttempts(outboxId, AWAITED_ATTEMPTS - 1);
  await node.age();
  t.ok(node.xid <= xid, 'while it may still succeed');
  await setAttempts(outboxId, AWAITED_ATTEMPTS);
  await until(() => node.age().then(() => node.xid > xid), { what: 'a cursor behind the change' });
  await removeOutbox(outboxId);
});

t.test('broken and foreign cursors are refused, old ones cause a resync', async (t) => {
  const { cursor } = await (await ground.ready()).frame('ready');
  // A restored database has the secret of its original, and other transactions behind the same ids.
  const foreign = await encodedCursor({ databaseId: '1.1.1' });
  const [content, seal] = String(cursor).split('.') as [string, string];
  const [earlier] = (await encodedCursor({ xid: '1' })).split('.');
  const tampered = `${earlier}.${seal}`;
  for (const broken of ['x', 'x.y', content, `${cursor}.`, `${cursor}.x`, tampered, foreign]) {
    const client = await ground.ready();
    t.match(await client.request('resume', { cursor: broken, conversations: { [group]: 0 } }), {
      ok: false,
      error: { code: 'invalid_format', param: 'cursor' },
    });
    t.match(await client.closes(), { code: 4300, reason: 'cursor_invalid' });
  }

  const id = await missed.newConversation();
  await ground.storeMessages(id, 4);
  const reader = await ground.ready();
  const ofEarlierVersion = await resume(reader, await encodedCursor({}), { [id]: 3 });
  t.match(ofEarlierVersion.at(-1), { type: 'resumed' }, 'a cursor without the time at which writers began');
  reader.close();
  await missed.insertMessage(supportCase, { id: newId('message'), sequence: 1, visibility: 'external' });
  await missed.insertMessage(supportCase, { id: newId('message'), sequence: 2 });
  const expired = await encodedCursor({ expiresAtMs: Date.now() - 1 });
  const client = await ground.ready();
  t.match(await resume(client, expired, { [id]: 1, [newId('conversation')]: 1 }), [
    { type: 'resync', conversation_id: id, reason: 'too_old', head_sequence: 4 },
    { type: 'resync', reason: 'revoked' },
    { type: 'resync', feed: true, reason: 'too_old' },
    { type: 'resumed' },
  ]);
  t.match(await client.request('subscribe', { conversation_id: id }), { result: { head_sequence: 4 } });
  const customer = await ground.ready(demo.customer.access_token);
  const ofCustomer = await resume(customer, expired, { [supportCase]: 0 });
  t.match(ofCustomer, [
    { type: 'resync', reason: 'too_old', head_sequence: 1 },
    { type: 'resync', feed: true, reason: 'too_old' },
    { type: 'resumed' },
  ]);
  const feedOnly = await ground.ready();
  await feedOnly.request('resume', { cursor: expired, conversations: {} });
  t.match(await feedOnly.closes(), { code: 4300 }, 'nothing else would say that the feed has a hole');
  client.close();
  customer.close();
});

t.test('ranges that many sockets resume at once are read once', async (t) => {
  const cursor = await cursorOf(await ground.ready());
  const ids = await Promise.all(range(1, 5).map(() => missed.newConversation()));
  await Promise.all(ids.map((id) => ground.storeMessages(id, 20)));
  // A key has no feed.
  const clients = await Promise.all(range(1, 45).map(() => other.ready(demo.api_key)));
  let queries = 0;
  const query = other.database.query.bind(other.database);
  other.database.query = (statement, ...values) => {
    queries += 1;
    return query(statement, ...values);
  };
  t.teardown(() => {
    other.database.query = query;
  });
  const conversations = Object.fromEntries(ids.map((id) => [id, 0]));
  const answers = await Promise.all(clients.map((client) => resume(client, cursor, conversations)));
  for (const frames of answers) t.equal(created(frames).length, 100);
  t.ok(
    queries < clients.length,
    `${queries} queries for ${clients.length} resumes of ${ids.length} conversations`,
  );
  for (const client of clients) client.close();
});

t.test('heartbeats contain the heads that moved, for customers only their own', async (t) => {
  const team = await ground.ready();
  const customer = await ground.ready(demo.customer.access_token);
  for (const client of [team, customer]) {
    await client.request('subscribe', { conversation_id: supportCase });
    await client.frame('caught_up');
  }
  const before = Number((await team.frame('caught_up')).sequence);
  const publish = (sequence: number, customers: boolean) =>
    ground.publish(supportCase, {
      event: 'message.created',
      sequence,
      customer: customers ? {} : undefined,
    });
  await publish(before + 1, true);
  const moved = { [supportCase]: before + 1 };
  await Promise.all([heads(team, moved), heads(customer, moved)]);
  await Promise.all([heads(team, {}), heads(customer, {})]);
  const seen = customer.frames.length;
  await publish(before + 2, false);
  await heads(team, { [supportCase]: before + 2 });
  await heads(customer, {});
  await heads(customer, {});
  t.notOk(JSON.stringify(customer.frames.slice(seen)).includes(supportCase));
  team.close();
  customer.close();
});

t.test('a void is never named as a head', async (t) => {
  const conversationId = await missed.newConversation();
  const void_ = { kind: 'void', status: 'void' } as const;
  await missed.insertMessage(conversationId, { id: newId('message'), sequence: 1 });
  await missed.insertMessage(conversationId, { id: newId('message'), sequence: 2, ...void_ });
  const cursor = await cursorOf(await other.ready());
  const client = await ground.ready();
  t.match(await client.request('subscribe', { conversation_id: conversationId }), {
    result: { head_sequence: 1 },
  });
  t.match(await client.frame('caught_up'), { sequence: 1 });
  await ground.engine.publish(conversationId, { kind: 'void', stream: conversationId, sequence: 3 });
  await missed.insertMessage(conversationId, { id: newId('message'), sequence: 3, ...void_ });
  await heads(client, {});
  await ground.publish(conversationId, { event: 'message.created', sequence: 4 });
  await heads(client, { [conversationId]: 4 });
  const named = client.frames.flatMap((frame) => Object.values(frame.heads ?? {}));
  t.strictSame([...new Set(named)], [4]);

  await missed.insertMessage(conversationId, { id: newId('message'), sequence: 4 });
  await missed.insertMessage(conversationId, { id: newId('message'), sequence: 5, ...void_ });
  const late = await other.ready();
  const frames = await resume(late, cursor, { [conversationId]: 1 });
  t.match(
    frames.find(({ type }) => type === 'caught_up'),
    { sequence: 4 },
  );
  client.close();
  late.close();
});

t.test('a node that hands out no cursor samples less often', async (t) => {
  const [quiet, asked] = await Promise.all([TimedCursors.start(t), TimedCursors.start(t)]);
  const isEnough = () => asked.cursors.current() !== '' && asked.samples >= 30;
  await until(isEnough, { what: 'thirty samples of the other one' });
  t.ok(quiet.samples < asked.samples, `${quiet.samples} samples of ${asked.samples}`);
  t.ok(quiet.cursors.read(quiet.cursors.current()), 'and has a cursor all the same');
  const before = quiet.samples;
  await until(() => quiet.samples >= before + 20, { what: 'samples from then on' });
});

/** The cursors of a node to which everything arrives at once, over a clock that the test moves. */
class TimedCursors {
  nowMs = 0;
  #samples = 0;
  #cursors: Cursors | undefined;

  static async start(t: Teardown, timing: CursorTiming = {}): Promise<TimedCursors> {
    // No worker deals with the rows that the demo account left here.
    await sql`DELETE FROM outbox`.execute(database.kysely);
    const node = new TimedCursors();
    const engine = {
      get wholeMs() {
        return node.nowMs;
      },
    };
    // Each sample reads the clock once.
    const now = () => {
      node.#samples += 1;
      return node.nowMs;
    };
    const cursors = await Cursors.start(database, engine, log, { now, sampleEveryMs: 10, ...timing });
    t.teardown(() => cursors.close());
    node.#cursors = cursors;
    return node;
  }

  /** Samples that were taken. */
  get samples(): number {
    return this.#samples;
  }

  get cursors(): Cursors {
    return this.#cursors!;
  }

  /** The transaction that the present cursor names. */
  get xid(): bigint {
    return BigInt(this.cursors.read(this.cursors.current())!.xid);
  }

  /** Resolves behind a sample that began after this call. */
  async sampled(): Promise<void> {
    const enough = this.#samples + 2;
    await until(() => this.#samples >= enough, { what: 'a sample' });
  }

  /** Takes a sample and lets it become old enough to be handed out. */
  async age(): Promise<void> {
    await this.sampled();
    this.nowMs += 60_000;
    await this.sampled();
  }
}

const FILES = { presignDownload: async () => '' };

/** Returns the id of the message's notification, which is written with it. */
async function send(tx: Tx, conversationId: string, sequence: number, recipientId: string): Promise<string> {
  const author = { accountId: demo.account_id, conversationId, authorId: demo.users.ada.id };
  const { roster_version: rosterVersion } = await tx.kysely
    .selectFrom('conversations')
    .select('roster_version')
    .where('id', '=', conversationId)
    .executeTakeFirstOrThrow();
  const notifications = [{ category: 'chat.message', title: 'Ada', recipients: [recipientId] }] as const;
  const plan = { rosterVersion, senderType: 'user', preview: 'Text', notifications } as const;
  const [row] = await insertMessages(tx, [{ message: newMessage(author), sequence, plan }]);
  return row!.notificationIds[0]!;
}

/** Commits a transaction with a row in the outbox. `meanwhile` runs before the commit. */
async function changeWithEvent(meanwhile = async () => {}): Promise<{ xid: bigint; outboxId: number }> {
  return database.transaction(async (tx) => {
    const name = newId('message');
    await enqueue(tx, defineTopic(name), {});
    const { rows } = await sql<{ xid: string; id: number }>`
      SELECT pg_current_xact_id()::text AS xid, id FROM outbox WHERE topic = ${name}`.execute(tx.kysely);
    await meanwhile();
    return { xid: BigInt(rows[0]!.xid), outboxId: rows[0]!.id };
  });
}

async function setAttempts(outboxId: number, attempts: number): Promise<void> {
  await sql`UPDATE outbox SET attempts = ${attempts} WHERE id = ${outboxId}`.execute(database.kysely);
}

async function removeOutbox(outboxId: number): Promise<void> {
  await database.kysely.deleteFrom('outbox').where('id', '=', outboxId).execute();
}

/** As nodes of earlier versions made them. */
async function encodedCursor(fields: {
  databaseId?: string;
  xid?: string;
  expiresAtMs?: number;
}): Promise<string> {
  const { value } = await database.kysely
    .selectFrom('settings')
    .select('value')
    .where('name', '=', 'cursor_secret')
    .executeTakeFirstOrThrow();
  const [content = ''] = String(await cursorOf(await ground.ready())).split('.');
  const [databaseId, xid, expiresAtMs] = JSON.parse(Buffer.from(content, 'base64url').toString());
  const known = { databaseId, xid, expiresAtMs, ...fields };
  const changed = JSON.stringify([known.databaseId, known.xid, known.expiresAtMs]);
  const encoded = Buffer.from(changed).toString('base64url');
  const seal = createHmac('sha256', value).update(encoded).digest().subarray(0, 16).toString('base64url');
  return `${encoded}.${seal}`;
}

/** Waits for a heartbeat with exactly these heads. */
async function heads(client: Client, expected: Readonly<Record<string, number>>): Promise<void> {
  const start = client.frames.length;
  const text = JSON.stringify(expected);
  await until(() => client.frames.slice(start).some((frame) => JSON.stringify(frame.heads) === text), {
    what: `heads ${text}; got ${JSON.stringify(client.frames.slice(start))}`,
  });
}
