/** Reading a conversation reads its notifications (docs/contract.md#notifications). */

import { isDeepStrictEqual } from 'node:util';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Notification, NotificationSummary } from '@parley/protocol/resources/notification.ts';
import { sql } from 'kysely';
import t from 'tap';
import { markConversationRead } from '../../src/core/notifications/feed/mark-conversation.ts';
import { notifyUsers } from '../../src/core/notifications/feed/notify-users.ts';
import { cursorOf, resume } from '../gateway/missed.ts';
import { Cases } from '../messages/cases.ts';
import { borrowTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { newReader, openSocket, type Reader } from './readers.ts';

const app = await borrowTestApp(t);
const { database, demo } = app;
const cases = new Cases(app);

t.test('up to the number, no further, and only of that conversation', async (t) => {
  const { reader, id } = await member();
  const elsewhere = await conversationOf(reader);
  await notifyOf(reader, id);
  const other = await openSocket(t, app, reader);
  const cursor = await cursorOf(await openSocket(t, app, reader));
  for (let n = 1; n <= 5; n++) await cases.sent(id, { body: `${n}` });
  await cases.sent(elsewhere, { body: 'elsewhere' });
  const [, second, third] = (await feed(reader)).toReversed().filter(({ body }) => body !== null);
  await move(reader, second!, 'see');
  await move(reader, third!, 'dismiss');
  t.match(await summary(reader), { unseen: 5, unread: 6, total: 6 });

  await markRead(reader, id, 3);
  await counts(reader, { unseen: 3, unread: 3, total: 6 });
  t.strictSame(await statuses(reader), {
    conversation: 'read',
    1: 'read',
    2: 'read',
    4: 'unseen',
    5: 'unseen',
    elsewhere: 'unseen',
  });
  const read = (await feed(reader)).find(({ body }) => body === '1')!;
  t.ok(read.seen_at === read.read_at && read.read_at === read.updated_at, 'reading is seeing');
  const told = () =>
    other.frames.filter(({ event, data }) => event === 'notification.updated' && data?.status === 'read');
  await until(() => told().length === 3, { what: 'the other socket' });
  t.strictSame(
    told().find(({ data }) => data?.body === '1')?.data,
    { ...read, message_id: read.message_id, agent_run_id: null },
    'a socket of the same user receives it as the list shows it',
  );
  const missed = await resume(await openSocket(t, app, reader), cursor, {});
  t.equal(
    missed.filter(({ event, data }) => event === 'notification.updated' && data?.status === 'read').length,
    3,
    'and so does one that was away',
  );

  await markRead(reader, id, 3);
  await markRead(reader, id, 2);
  await other.request('mark_read', { conversation_id: id, sequence: 5 });
  await counts(reader, { unseen: 1, unread: 1, total: 6 }, 'over the socket too');
  await outboxDone();
  t.equal(told().length, 5, 'each once');
});

t.test('a notification that is made after its message was read', async () => {
  const { reader, id } = await member();
  const { id: messageId } = await cases.sent(id, { body: 'streamed' });
  await database.kysely.deleteFrom('notifications').where('message_id', '=', messageId).execute();
  await markRead(reader, id, 1);
  await outboxDone();
  // As a node that takes over the effects of another one.
  await sql`INSERT INTO outbox (topic, payload, created_at, due_at)
    VALUES ('messages.sent', ${JSON.stringify({ messages: [{ conversation_id: id, id: messageId }] })}, now(), now() - interval '1 minute')`.execute(
    database.kysely,
  );
  await until(async () => (await summary(reader)).total === 1, { what: 'a late notification' });
  await counts(reader, { unseen: 0, unread: 0, total: 1 });
});

t.test('a message behind the read position that is committed later', async () => {
  const { reader, id } = await member();
  await cases.sent(id, { body: '1' });
  const [late, next] = [newId('message'), newId('message')];
  await database.transaction(async (tx) => {
    await insert(id, late, 2).execute(tx.kysely);
    await insert(id, next, 3).execute(database.kysely);
    await markRead(reader, id, 3);
    await until(async () => (await summary(reader)).unread === 0, { what: 'the first message' });
    await notifyOfMessage(reader, late).execute(tx.kysely);
  });
  await counts(reader, { unseen: 0, unread: 0, total: 2 });
});

t.test('a message that is committed between two looks at the timeline', async (t) => {
  const { reader, id } = await member();
  await cases.sent(id, { body: '1' });
  await insert(id, newId('message'), 3).execute(database.kysely);
  let looks = 0;
  const timeline = {
    settle: async () => {
      looks += 1;
      const late = newId('message');
      await insert(id, late, 2).execute(database.kysely);
      await notifyOfMessage(reader, late).execute(database.kysely);
      return false;
    },
  };
  const range = { conversation_id: id, actor_id: reader.id, after: 0, through: 3 };
  await markConversationRead({ database, timeline }, range);
  await counts(reader, { unseen: 0, unread: 0, total: 2 });
  t.equal(looks, 1);
});

t.test('notifications that are seen while the reading waits for them', async (t) => {
  const { reader, id } = await member();
  for (let n = 1; n <= 3; n++) await cases.sent(id, { body: `${n}` });
  const [third, second, first] = await feed(reader);
  const see = `UPDATE notifications SET status = 'seen', seen_at = clock_timestamp() WHERE recipient_id = $1 AND id = $2`;
  const other = await database.pool.connect();
  t.teardown(() => other.release(true));
  await other.query('BEGIN');
  await other.query(see, [reader.id, third!.id]);
  await markRead(reader, id, 3);
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const isWaiting = async () => (await database.pool.query(waiting)).rowCount! > 0;
  await until(isWaiting, { what: 'the reading to wait' });
  for (const { id } of [second!, first!]) await database.pool.query(see, [reader.id, id]);
  await other.query('COMMIT');
  await until(async () => (await summary(reader)).unread === 0, { what: 'all of them to be read' });
});

t.test('a long absence: in batches, and nothing from before the reader joined', async (t) => {
  const { id } = await member();
  const at = (n: number) => `2026-01-01T00:00:00.${String(n).padStart(6, '0')}Z`;
  await sql`INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, author_id,
      sender_id, body, created_at, updated_at)
    SELECT ${`${id}_`} || n, ${demo.account_id}, ${id}, n, 'chat', 'sent', 'internal', ${demo.users.grace.id},
      ${demo.users.grace.id}, n::text, ${at(0)}::timestamptz + n * interval '1 us', ${at(0)}::timestamptz + n * interval '1 us'
    FROM generate_series(1, 1300) n`.execute(database.kysely);
  const reader = await newReader(app);
  await sql`INSERT INTO participants (id, account_id, conversation_id, actor_id, type, created_at)
    VALUES (${newId('participant')}, ${demo.account_id}, ${id}, ${reader.id}, 'user', ${at(200)}::timestamptz)`.execute(
    database.kysely,
  );
  await sql`INSERT INTO notifications (id, account_id, recipient_id, category, title, message_id, created_at, updated_at)
    SELECT notification_id(m.created_at, m.id, ${reader.id}), m.account_id, ${reader.id}, 'chat.message', 'old', m.id, m.created_at,
      m.created_at FROM messages m WHERE m.conversation_id = ${id}`.execute(database.kysely);
  await markRead(reader, id, 1_300);
  await counts(reader, { unseen: 0, unread: 0, total: 1_300 });
  await outboxDone();
  const { rows } = await sql<{ transactions: string }>`
    SELECT count(DISTINCT changed_in) AS transactions FROM notifications
    WHERE recipient_id = ${reader.id}`.execute(database.kysely);
  t.equal(Number(rows[0]!.transactions), 3);

  const newcomer = await newReader(app);
  await sql`INSERT INTO participants (id, account_id, conversation_id, actor_id, type)
    VALUES (${newId('participant')}, ${demo.account_id}, ${id}, ${newcomer.id}, 'user')`.execute(
    database.kysely,
  );
  await sql`INSERT INTO notifications (id, account_id, recipient_id, category, title, message_id)
    SELECT notification_id(m.created_at, m.id, ${newcomer.id}), m.account_id, ${newcomer.id}, 'chat.message', 'old', m.id
    FROM messages m WHERE m.conversation_id = ${id} AND m.sequence IN (1, 1300)`.execute(database.kysely);
  await markRead(newcomer, id, 1_300);
  await counts(newcomer, { unseen: 1, unread: 1, total: 2 }, 'it does not go on below the time of joining');
});

function insert(conversationId: string, messageId: string, sequence: number) {
  return sql`
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, author_id, sender_id, body)
    VALUES (${messageId}, ${demo.account_id}, ${conversationId}, ${sequence}, 'chat', 'sent', 'internal',
      ${demo.users.grace.id}, ${demo.users.grace.id}, ${`${sequence}`})`;
}

function notifyOfMessage({ id }: Reader, messageId: string) {
  return sql`
    INSERT INTO notifications (id, account_id, recipient_id, category, title, body, message_id)
    SELECT notification_id(moment_of(m), m.id, ${id}), m.account_id, ${id}, 'chat.message', 'late', m.body, m.id
    FROM messages m WHERE m.id = ${messageId}`;
}

async function member(): Promise<{ reader: Reader; id: string }> {
  const reader = await newReader(app);
  return { reader, id: await conversationOf(reader) };
}

function conversationOf({ id }: Reader): Promise<string> {
  return cases.conversation('internal', { type: 'user', actorId: id });
}

/** Notifies of the conversation itself, as being added does. */
function notifyOf(reader: Reader, conversationId: string) {
  return database.transaction((tx) =>
    notifyUsers(tx, [reader.id], {
      account_id: demo.account_id,
      category: 'chat.added',
      title: 'conversation',
      body: null,
      sender_id: null,
      sender_type: 'system',
      message_id: null,
      agent_run_id: null,
      resource: { type: 'entity', id: conversationId },
      cause: { key: 'conversation', at: '2026-01-01T00:00:00Z' },
    }),
  );
}

async function markRead({ token }: Reader, conversationId: string, sequence: number): Promise<void> {
  const path = `/v1/messaging/conversations/${conversationId}/actions/mark-read`;
  const { status, text } = await app.call('POST', path, { token, body: { sequence } });
  if (status !== 200) throw new Error(text);
}

async function move({ token }: Reader, { id }: Notification, name: 'see' | 'dismiss'): Promise<void> {
  await app.call('POST', `/v1/messaging/notifications/${id}/actions/${name}`, { token });
}

async function feed({ token }: Reader): Promise<readonly Notification[]> {
  const { body } = await app.call<List<Notification>>('GET', '/v1/messaging/notifications?limit=100', {
    token,
    headers: { 'Service-Version': '1.2.harbor' },
  });
  return body.data;
}

/** By body, or title where there is none. */
async function statuses(reader: Reader): Promise<Record<string, string>> {
  return Object.fromEntries((await feed(reader)).map(({ title, body, status }) => [body ?? title, status]));
}

async function summary({ token }: Reader): Promise<NotificationSummary> {
  const path = '/v1/messaging/notifications/summary';
  return (await app.call<NotificationSummary>('GET', path, { token })).body;
}

async function counts(
  reader: Reader,
  { unseen, unread, total }: Omit<NotificationSummary, 'object'>,
  what = 'counts',
): Promise<void> {
  const wanted = { object: 'notification_summary', unseen, unread, total };
  await until(async () => isDeepStrictEqual(await summary(reader), wanted), {
    what: `${what}: ${JSON.stringify(wanted)}`,
  });
}

/** Waits until every effect of what was answered is there. */
async function outboxDone(): Promise<void> {
  const left = () => database.kysely.selectFrom('outbox').select('id').limit(1).executeTakeFirst();
  await until(async () => (await left()) === undefined, { what: 'an empty outbox' });
}
