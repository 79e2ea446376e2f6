/**
 * See, read, dismiss, mark-all and the summary (docs/contract.md#notifications) over HTTP, on a
 * whole server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Notification, NotificationSummary } from '@parley/protocol/resources/notification.ts';
import t from 'tap';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { MARK_ALL_BATCH } from '../../src/core/notifications/feed/mark.ts';
import { borrowTestApp, type CallAnswer, type CallOptions, type Refusal, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { insertRow, newReader, openSocket, type Reader } from './readers.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const PATH = '/v1/messaging/notifications';

type Status = Notification['status'];
type Move = 'see' | 'read' | 'dismiss';
const STATUSES = ['unseen', 'seen', 'read', 'dismissed'] as const;
const MOVES = ['see', 'read', 'dismiss'] as const;

t.test('each move answers the notification: every field and no other', async (t) => {
  const reader = await newReader(app);
  const id = await insertRow(app, reader, { title: 'Ada', body: 'ahoy' });
  const unseen = (await feed(reader))[0]!;
  t.match(unseen, { id, status: 'unseen', seen_at: null, read_at: null, dismissed_at: null });

  const seen = await move(reader, id, 'see');
  t.strictSame(seen, {
    ...unseen,
    status: 'seen',
    seen_at: seen.updated_at,
    updated_at: seen.updated_at,
  });
  t.ok(seen.updated_at > unseen.updated_at);
  t.match(seen.updated_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

  const read = await move(reader, id, 'read');
  t.strictSame(read, { ...seen, status: 'read', read_at: read.updated_at, updated_at: read.updated_at });
  t.ok(read.updated_at > seen.updated_at);
  t.strictSame(await feed(reader), [read], 'the list shows the same');

  const dismissed = await move(reader, id, 'dismiss');
  const { updated_at } = dismissed;
  t.strictSame(dismissed, { ...read, status: 'dismissed', dismissed_at: updated_at, updated_at });
  t.ok(updated_at > read.updated_at);
  t.strictSame(await feed(reader), [], 'and it is gone from the list');
});

t.test('every move from every state', async (t) => {
  const expected: Record<Move, Record<Status, Status | 'refused'>> = {
    see: { unseen: 'seen', seen: 'seen', read: 'read', dismissed: 'refused' },
    read: { unseen: 'read', seen: 'read', read: 'read', dismissed: 'refused' },
    dismiss: { unseen: 'dismissed', seen: 'dismissed', read: 'dismissed', dismissed: 'dismissed' },
  };
  const reader = await newReader(app);
  for (const name of MOVES) {
    for (const from of STATUSES) {
      const what = `${name} what is ${from}`;
      const id = await insertRow(app, reader, { status: from });
      const before = await stored(id);
      const answer = await act(reader, id, name);
      const status = expected[name][from];
      if (status === 'refused') {
        t.equal(refusalOf(answer as CallAnswer<Refusal>), '409 resource_conflict null', what);
        t.strictSame(await stored(id), before, what);
        continue;
      }
      const { body } = answer as CallAnswer<Notification>;
      t.strictSame([answer.status, body.status], [200, status], what);
      const after = await stored(id);
      if (status === from) t.strictSame(after, before, `${what}: nothing was written`);
      else t.ok(after.updated_at > before.updated_at, what);
    }
  }
  const id = await insertRow(app, reader);
  const read = await move(reader, id, 'read');
  t.equal(read.seen_at, read.read_at, 'reading is seeing');
  t.strictSame(await move(reader, id, 'see'), read);
  t.strictSame(await move(reader, id, 'read'), read, 'the first time counts');
  const dismissed = await move(reader, await insertRow(app, reader), 'dismiss');
  t.strictSame([dismissed.seen_at, dismissed.read_at], [null, null], 'putting away is not seeing');
});

t.test('all of a feed at once', async (t) => {
  const expected = {
    seen: { left: ['seen', 'seen', 'read', 'dismissed'], summary: { unseen: 0, unread: 2, total: 3 } },
    read: { left: ['read', 'read', 'read', 'dismissed'], summary: { unseen: 0, unread: 0, total: 3 } },
    dismissed: {
      left: ['dismissed', 'dismissed', 'dismissed', 'dismissed'],
      summary: { unseen: 0, unread: 0, total: 0 },
    },
  } as const;
  for (const [status, { left, summary }] of Object.entries(expected)) {
    const [reader, other] = [await newReader(app), await newReader(app)];
    const ids: string[] = [];
    for (const from of STATUSES) ids.push(await insertRow(app, reader, { status: from }));
    const ofOther = await insertRow(app, other);
    const before = await Promise.all(ids.map(stored));
    const answer = await markAll(reader, { status });
    t.strictSame(answer.status, 200, status);
    t.strictSame(answer.body, { object: 'notification_summary', ...summary }, status);
    const after = await Promise.all(ids.map(stored));
    t.strictSame(
      after.map((row) => row.status),
      left,
      status,
    );
    for (const [index, row] of after.entries()) {
      const was = before[index]!;
      if (row.status === was.status) t.strictSame(row, was, `${status}: ${was.status} is as it was`);
      else t.ok(row.updated_at > was.updated_at && row.changed_in !== was.changed_in, `${status}: changed`);
    }
    t.equal((await stored(ofOther)).status, 'unseen', 'nobody else’s');
    const again = await markAll(reader, { status });
    t.strictSame([again.status, again.text], [200, answer.text], 'again');
    t.strictSame(await Promise.all(ids.map(stored)), after, 'changes nothing');
  }
  const empty = await markAll(await newReader(app), { status: 'read' });
  t.strictSame(empty.body, { object: 'notification_summary', unseen: 0, unread: 0, total: 0 });
});

t.test(
  'more than one batch: each notification moves once and is published once, on an open socket',
  async (t) => {
    const reader = await newReader(app);
    const total = 2 * MARK_ALL_BATCH + 7;
    await database.query(
      {
        name: 'test-many-notifications',
        text: `
        INSERT INTO notifications (id, account_id, recipient_id, category, title, status, created_at, updated_at)
        SELECT notification_id(at, n::text, $2), $1, $2, 'chat.message', 'row', CASE n % 3 WHEN 0 THEN 'read' ELSE 'unseen' END, at, at
        FROM generate_series(1, $3::int) n, LATERAL (SELECT now() - (n % 50) * interval '1 ms' AS at) AS t`,
      },
      demo.account_id,
      reader.id,
      total,
    );
    const client = await openSocket(t, app, reader, demo.service_version);
    const unread = total - Math.floor(total / 3);
    t.strictSame(await summary(reader), { object: 'notification_summary', unseen: unread, unread, total });
    const answer = await markAll(reader, { status: 'read' });
    t.strictSame(answer.body, { object: 'notification_summary', unseen: 0, unread: 0, total });

    const updates = () => client.frames.filter(({ event }) => event === 'notification.updated');
    await until(() => updates().length >= unread || undefined, { what: `${unread} events` });
    // Sent behind them on the same stream: had there been more, they would be here by now.
    const last = await insertRow(app, reader);
    await move(reader, last, 'see');
    await client.frame(({ data }) => data?.id === last);
    t.equal(updates().length, unread + 1);
    t.equal(new Set(updates().map(({ data }) => data?.id)).size, unread + 1);
    t.ok(updates().every(({ data }) => data?.status === 'read' || data?.id === last));
  },
);

t.test('the summary counts one’s own feed', async (t) => {
  const reader = await newReader(app);
  const none = { object: 'notification_summary', unseen: 0, unread: 0, total: 0 };
  t.strictSame(await summary(reader), none);
  const counts = { unseen: 4, seen: 3, read: 2, dismissed: 5 };
  for (const [status, count] of Object.entries(counts)) {
    for (let n = 0; n < count; n++) await insertRow(app, reader, { status: status as Status });
  }
  t.strictSame(await summary(reader), { object: 'notification_summary', unseen: 4, unread: 7, total: 9 });
  t.strictSame(await summary({ token: demo.api_key }), none, 'a key has no notifications');
  t.strictSame(await summary({ token: await app.tokenOf(demo.agent.actor_id) }), none, 'nor has an agent');
});

t.test('the feed’s socket receives each change as REST answered it, and nothing for a no-op', async (t) => {
  const [reader, other] = [await newReader(app), await newReader(app)];
  const [client, stranger] = [
    await openSocket(t, app, reader, demo.service_version),
    await openSocket(t, app, other, demo.service_version),
  ];
  const id = await insertRow(app, reader);
  const answers: Notification[] = [];
  for (const name of ['see', 'see', 'read', 'see', 'read', 'dismiss', 'dismiss'] as const) {
    const answer = await move(reader, id, name);
    answers.push(answer);
    // An event shows its resource as it is by then, which on a busy machine may be after the next
    // change.
    await client.frame(({ data }) => data?.updated_at === answer.updated_at);
  }
  const changes = answers.filter((answer, index) => answer.updated_at !== answers[index - 1]?.updated_at);
  t.equal(changes.length, 3);
  t.strictSame(
    client.frames.filter(({ type }) => type === 'event').map(({ event, at, data }) => ({ event, at, data })),
    changes.map((data) => ({ event: 'notification.updated', at: data.updated_at, data })),
  );
  t.strictSame(
    stranger.frames.filter(({ type }) => type === 'event'),
    [],
    'nobody else hears of it',
  );
});

t.test('an Idempotency-Key: the first answer again, and nothing is done again', async (t) => {
  const reader = await newReader(app);
  const id = await insertRow(app, reader);
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await act(reader, id, 'see', { headers });
  await move(reader, id, 'read');
  const again = await act(reader, id, 'see', { headers });
  t.strictSame([again.status, again.text], [200, first.text]);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  t.equal(first.headers.get('Idempotent-Replayed'), null);

  const allHeaders = { 'Idempotency-Key': randomUUID() };
  const marked = await markAll(reader, { status: 'read' }, { headers: allHeaders });
  const fresh = await insertRow(app, reader);
  const replayed = await markAll(reader, { status: 'read' }, { headers: allHeaders });
  t.strictSame([replayed.status, replayed.text], [200, marked.text]);
  t.equal(replayed.headers.get('Idempotent-Replayed'), 'true');
  t.equal((await stored(fresh)).status, 'unseen');
  const other = await markAll(reader, { status: 'seen' }, { headers: allHeaders });
  t.equal(refusalOf(other as CallAnswer<Refusal>), '422 validation_failed Idempotency-Key');
});

t.test('at once: one of each wins, and nothing goes back', async (t) => {
  const reader = await newReader(app);
  for (let round = 0; round < 5; round++) {
    const id = await insertRow(app, reader);
    const answers = await Promise.all([...MOVES, ...MOVES].map((name) => act(reader, id, name)));
    for (const { status } of answers) t.ok(status === 200 || status === 409, `${status}`);
    const row = await stored(id);
    t.equal(row.status, 'dismissed');
    t.equal(row.dismissed_at, row.updated_at, 'the last of them is the last');
  }
  const ids = await Promise.all(Array.from({ length: 30 }, () => insertRow(app, reader)));
  const answers = await Promise.all([
    ...Array.from({ length: 4 }, () => markAll(reader, { status: 'read' })),
    ...ids.map((id) => act(reader, id, 'see')),
  ]);
  t.ok(answers.every(({ status }) => status === 200));
  for (const row of await Promise.all(ids.map(stored))) {
    t.equal(row.status, 'read');
    t.equal(row.read_at, row.updated_at, 'read once');
  }
});

t.test('whose notification: one’s own; any other is not there', async (t) => {
  const [reader, other] = [await newReader(app), await newReader(app)];
  const id = await insertRow(app, reader);
  const { api_key, account_id } = demo.other_account;
  const elsewhere: CallOptions = { token: api_key, headers: { 'Service-Account': account_id } };
  for (const name of MOVES) {
    const absent = await act(reader, newId('notification'), name);
    t.equal(refusalOf(absent as CallAnswer<Refusal>), '404 resource_not_found id');
    const strangers: [string, CallOptions][] = [
      ['another reader', { token: other.token }],
      ['an admin', { token: demo.users.ada.access_token }],
      ['an admin’s key', { token: demo.api_key }],
      ['an agent', { token: await app.tokenOf(demo.agent.actor_id) }],
      ['another account', elsewhere],
    ];
    for (const [who, options] of strangers) {
      const { status, text } = await app.call('POST', `${PATH}/${id}/actions/${name}`, options);
      t.strictSame([status, text], [404, absent.text], `${name} by ${who}`);
    }
  }
  t.equal((await stored(id)).status, 'unseen');
});

t.test('marking notifications refuses invalid requests', async (t) => {
  const reader = await newReader(app);
  const id = await insertRow(app, reader);
  const role = await createRole(database, {
    accountId: demo.account_id,
    name: 'no reader',
    permissions: ['messaging:create', 'messaging:update'],
  });
  const { token: sender } = await newReader(app, role.id);
  const all = `${PATH}/actions/mark-all`;
  const one = `${PATH}/${id}/actions`;
  const counts = `${PATH}/summary`;
  const endpoints: [method: string, path: string, body?: object][] = [
    ['GET', counts],
    ['POST', `${one}/see`],
    ['POST', `${one}/read`],
    ['POST', `${one}/dismiss`],
    ['POST', all, { status: 'seen' }],
  ];
  const callers: [CallOptions, string][] = [
    [{ headers: { Authorization: undefined } }, '401 invalid_credentials Authorization'],
    [{ token: sender }, '403 insufficient_permissions null'],
    [{ token: demo.customer.access_token }, '403 insufficient_permissions null'],
    [{ headers: { 'Service-Version': '1.0.harbor' } }, '400 api_version_too_old Service-Version'],
    [{ headers: { 'Service-Account': undefined } }, '400 parameter_missing Service-Account'],
    [
      { headers: { 'Service-Account': demo.other_account.account_id } },
      '404 resource_not_found Service-Account',
    ],
  ];
  for (const [method, path, body] of endpoints) {
    for (const [options, expected] of callers) {
      const answer = await app.call(method, path, { token: reader.token, body, ...options });
      t.equal(refusalOf(answer), expected, `${method} ${path} ${JSON.stringify(options)}`);
    }
    const unknown = await app.call(method, `${path}?include[]=sender`, { token: reader.token, body });
    t.equal(refusalOf(unknown), '400 parameter_unknown include[]', path);
    const other = await app.call(method === 'GET' ? 'POST' : 'GET', path, { token: reader.token });
    t.equal(refusalOf(other), '405 method_not_allowed null', path);
  }

  const bodies: [path: string, options: CallOptions, expected: string][] = [
    [all, {}, '400 missing_field status'],
    [all, { body: {} }, '400 missing_field status'],
    [all, { body: { status: null } }, '400 missing_field status'],
    [all, { body: { status: 1 } }, '400 invalid_format status'],
    [all, { body: { status: ['seen'] } }, '400 invalid_format status'],
    [all, { body: { status: 'unseen' } }, '422 validation_failed status'],
    [all, { body: { status: 'Seen' } }, '422 validation_failed status'],
    [all, { body: { status: '' } }, '422 validation_failed status'],
    [all, { body: { status: 'seen', category: 'chat.added' } }, '422 validation_failed category'],
    [all, { body: [] }, '400 invalid_format null'],
    [all, { rawBody: '{"status":' }, '400 invalid_format null'],
    [`${one}/see`, { body: { status: 'seen' } }, '422 validation_failed status'],
    [`${one}/read`, { body: [] }, '400 invalid_format null'],
    [`${one}/unsee`, {}, '404 resource_not_found null'],
  ];
  for (const [path, options, expected] of bodies) {
    const answer = await app.call('POST', path, { token: reader.token, ...options });
    t.equal(refusalOf(answer), expected, `${path} ${JSON.stringify(options)}`);
  }
  t.equal((await stored(id)).status, 'unseen');
  const empty = await app.call('POST', `${one}/see`, { token: reader.token, body: {} });
  t.equal(empty.status, 200, 'an empty body is none');
});

function act(
  { token }: Reader,
  id: string,
  name: Move,
  options: CallOptions = {},
): Promise<CallAnswer<Notification | Refusal>> {
  return app.call('POST', `${PATH}/${id}/actions/${name}`, { token, ...options });
}

async function move(reader: Reader, id: string, name: Move): Promise<Notification> {
  const { status, text, body } = await act(reader, id, name);
  if (status !== 200) throw new Error(`${name}: ${status} ${text}`);
  return body as Notification;
}

function markAll(
  { token }: Reader,
  body: object,
  options: CallOptions = {},
): Promise<CallAnswer<NotificationSummary | Refusal>> {
  return app.call('POST', `${PATH}/actions/mark-all`, { token, body, ...options });
}

async function summary({ token }: Pick<Reader, 'token'>): Promise<NotificationSummary> {
  const { status, text, body } = await app.call<NotificationSummary>('GET', `${PATH}/summary`, { token });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body;
}

async function feed({ token }: Reader): Promise<readonly Notification[]> {
  const { body } = await app.call<List<Notification>>('GET', PATH, { token });
  return body.data;
}

function stored(id: string) {
  return database.kysely
    .selectFrom('notifications')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}
