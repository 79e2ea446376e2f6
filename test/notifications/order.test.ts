/**
 * A feed is in the order of arrival, by the clock of Postgres: messages that enter the timeline or
 * end their stream late, and nodes with wrong clocks included
 * (src/core/notifications/DECISIONS.md#ids-of-notifications-are-in-the-order-of-the-feed).
 */

import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { sql } from 'kysely';
import t from 'tap';
import { insertDue } from '../../src/core/messages/timeline/notified-store.ts';
import { type NewNotification, notifyUsers } from '../../src/core/notifications/feed/notify-users.ts';
import { readMessage } from '../../src/core/resources/message.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { Cases, message } from '../messages/cases.ts';
import { borrowTestApp } from '../support/app.ts';
import { hastenJobs } from '../support/hasten-jobs.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { newReader, type Reader } from './readers.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const cases = new Cases(app);
const HOUR_MS = 3_600_000;

t.test(
  'a schedule and a draft stand where they entered the timeline, and stay the same to edits',
  async (t) => {
    const reader = await newReader(app);
    const { id } = await cases.open({ type: 'user', actorId: reader.id });
    const scheduled = await cases.sent(id, { body: 'schedule', scheduled_at: await timeIn(HOUR_MS) });
    const draft = await cases.draft(id, { body: 'draft' });
    await cases.sent(id, { body: 'first' });
    message(await cases.act('approve', draft.id), 200);
    await cases.sent(id, { body: 'second' });
    await edit(scheduled.id, { scheduled_at: await timeIn(2_000) });
    await arrived(reader, ['schedule', 'second', 'draft', 'first']);
    const last = await cases.sent(id, { body: 'last' });
    const before = await arrived(reader, ['last', 'schedule', 'second', 'draft', 'first']);

    for (const [one, body] of [
      [scheduled, 'schedule'],
      [draft, 'draft'],
      [last, 'last'],
    ] as const) {
      await edit(one.id, { body: `${body}, edited` });
    }
    const edited = await arrived(reader, [
      'last, edited',
      'schedule, edited',
      'second',
      'draft, edited',
      'first',
    ]);
    t.strictSame(
      edited.map((row) => row.id),
      before.map((row) => row.id),
    );
    for (const one of [scheduled, draft]) {
      const { status } = await app.call('DELETE', `/v1/messaging/messages/${one.id}`);
      t.equal(status, 200);
    }
    await arrived(reader, ['last, edited', 'second', 'first']);
  },
);

t.test('a schedule that was not sent stands where it ended', async (t) => {
  const reader = await newReader(app, 'member');
  const id = await cases.conversation('internal', { type: 'user', actorId: reader.id });
  const fields = { body: 'schedule', scheduled_at: await timeIn(HOUR_MS) };
  const scheduled = await cases.sent(id, fields, { token: reader.token });
  await cases.sent(id, { body: 'first' });
  await arrived(reader, ['first']);
  // The server was away for a day: what becomes due now comes too late.
  await sql`UPDATE messages SET scheduled_at = now() - interval '25 hours' WHERE id = ${scheduled.id}`.execute(
    database.kysely,
  );
  await hastenJobs(database, { key: id });
  await arrived(reader, ['schedule', 'first']);
  await cases.sent(id, { body: 'second' });
  const [, { title } = { title: '' }] = await arrived(reader, ['second', 'schedule', 'first']);
  t.match(title, /was not sent/);
});

t.test('nodes whose clocks are an hour wrong', async (t) => {
  const reader = await newReader(app);
  const id = await cases.conversation('internal', { type: 'user', actorId: reader.id });
  const bodies: string[] = [];
  // This node's clock, back and forth: nothing but Postgres' own can then have made the order.
  const clock = shiftedClock(t);
  for (let n = 0; n < 12; n++) {
    clock.shiftMs = n % 2 === 0 ? HOUR_MS : -HOUR_MS;
    await cases.sent(id, { body: `${n}` }, { token: demo.api_key });
    bodies.unshift(`${n}`);
  }
  clock.shiftMs = 0;
  const data = await arrived(reader, bodies);
  t.ok(data.every(({ created_at }) => Math.abs(Date.parse(created_at) - Date.now()) < HOUR_MS / 2));
});

t.test('messages of one statement keep their order, in all of their conversations', async (t) => {
  const reader = await newReader(app);
  const member = { type: 'user', actorId: reader.id } as const;
  const ids = await Promise.all([1, 2, 3].map(() => cases.conversation('internal', member)));
  const sent = await Promise.all(
    Array.from({ length: 60 }, (_, n) => cases.sent(ids[n % 3]!, { body: `${n}` })),
  );
  t.equal(
    new Set(sent.map(({ created_at }) => created_at)).size,
    sent.length,
    'each has its own microsecond',
  );
  const inOrder = sent.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1));
  await arrived(
    reader,
    inOrder.map(({ body }) => body!),
  );
  for (const nth of ids.keys()) {
    const ofOne = inOrder.filter(({ body }) => Number(body) % 3 === nth);
    const sequences = ofOne.map(({ sequence }) => sequence!);
    t.strictSame(
      sequences,
      sequences.toSorted((a, b) => b - a),
    );
  }
});

t.test('the same cause makes one notification, however often and at once', async (t) => {
  const reader = await newReader(app);
  const id = await cases.conversation('internal', { type: 'user', actorId: reader.id });
  const sent = await cases.sent(id, { body: 'ahoy' });
  const [made] = await arrived(reader, ['ahoy']);
  const row = (await readMessage(database, sent.id))!;
  const notifications = [{ category: 'chat.message', title: made!.title, recipients: [reader.id] }] as const;
  const due = [
    { row, plan: { rosterVersion: 0, senderType: 'user', preview: 'Text', notifications } as const },
  ];
  const at = await timeIn(-2 * HOUR_MS);
  const ofCause = notification({ title: 'cause', cause: { key: 'cause', at } });
  const rounds = await Promise.all(
    Array.from({ length: 8 }, () => Promise.all([insertDue(database, due), notify(reader, ofCause)])),
  );
  t.equal(rounds.flatMap(([, others]) => others).length, 1);
  for (const [ofMessage] of rounds) {
    const own = ofMessage.filter(({ recipient_id }) => recipient_id === reader.id);
    t.match(own, [{ id: made!.id, created_at: made!.created_at }]);
  }
  await notify(reader, notification({ title: 'other', cause: { key: 'other', at } }));
  t.equal((await feed(reader)).length, 3, 'another cause of the same moment is another one');
  t.ok((await feed(reader)).some((one) => one.title === 'cause' && one.created_at === at));

  await app.call('POST', `/v1/messaging/notifications/${made!.id}/actions/dismiss`, { token: reader.token });
  const again = await insertDue(database, due);
  t.match(
    again.find(({ recipient_id }) => recipient_id === reader.id),
    { id: made!.id, status: 'dismissed' },
    'and one that was dismissed does not return',
  );
});

t.test('a row in time is in one index; a late one and a changed one are in both', async (t) => {
  const reader = await newReader(app);
  const now = await timeIn(0);
  const late = await timeIn(-5_000);
  await notify(reader, notification({ title: 'in time', cause: { key: 'in time', at: now } }));
  await notify(reader, notification({ title: 'late', cause: { key: 'late', at: late } }));
  await notify(reader, notification({ title: 'read', cause: { key: 'read', at: now } }));
  const read = (await feed(reader)).find(({ title }) => title === 'read');
  await app.call('POST', `/v1/messaging/notifications/${read!.id}/actions/read`, { token: reader.token });
  const { rows } = await sql<{ title: string }>`
    SELECT title FROM notifications WHERE recipient_id = ${reader.id} AND changed_in IS NOT NULL
    ORDER BY title`.execute(database.kysely);
  t.strictSame(rows, [{ title: 'late' }, { title: 'read' }]);
});

t.test('ids: in the order of time, of one form', async (t) => {
  const times = [
    '1970-01-01T00:00:00Z',
    '2026-11-22T00:00:00Z',
    '2026-11-22T00:00:00.000001Z',
    '2100-01-01T00:00:00Z',
  ];
  const { rows } = await sql<{ id: string }>`
    SELECT notification_id(at, 'cause', 'act_1') AS id FROM unnest(${times}::timestamptz[]) AS t(at)`.execute(
    database.kysely,
  );
  const ids = rows.map(({ id }) => id);
  t.strictSame(ids, ids.toSorted());
  for (const id of ids) t.match(id, /^ntf_[0-9a-f]{24}$/);
  t.equal(parseInt(ids[1]!.slice(4, 17), 16), Date.parse(times[1]!) * 1_000);
});

function notify({ id }: Reader, notification: NewNotification) {
  return database.transaction((tx) => notifyUsers(tx, [id, id], notification));
}

function notification(fields: Pick<NewNotification, 'title' | 'cause'>): NewNotification {
  return {
    account_id: demo.account_id,
    category: 'chat.message',
    body: null,
    sender_id: null,
    sender_type: 'system',
    resource: null,
    message_id: null,
    agent_run_id: null,
    ...fields,
  };
}

async function feed({ token }: Reader): Promise<readonly Notification[]> {
  const { body } = await app.call<List<Notification>>('GET', '/v1/messaging/notifications?limit=100', {
    token,
  });
  return body.data.filter(({ category }) => category !== 'chat.added');
}

/** Waits for a feed with these bodies in this order, newest first. */
async function arrived(reader: Reader, bodies: readonly string[]): Promise<readonly Notification[]> {
  let data: readonly Notification[] = [];
  const expected = bodies.join('\n');
  await until(
    async () => {
      data = await feed(reader);
      return data.map(({ body }) => body).join('\n') === expected;
    },
    { what: `the feed ${bodies.join(', ')}` },
  );
  return data;
}

async function edit(id: string, body: object): Promise<void> {
  message(
    await app.call('PATCH', `/v1/messaging/messages/${id}`, { token: demo.users.grace.access_token, body }),
    200,
  );
}

/** By Postgres' clock. */
async function timeIn(ms: number): Promise<string> {
  const [row] = await database.query(
    statement<[ms: number], { at: string }>('test-time')`
    SELECT clock_timestamp() + $1 * interval '1 millisecond' AS at`,
    ms,
  );
  return row!.at;
}

/** The clock of this process, until the end of the test. */
function shiftedClock(t: Teardown): { shiftMs: number } {
  const clock = { shiftMs: 0 };
  const Real = Date;
  class Shifted extends Real {
    constructor(...given: readonly [value?: string | number | Date]) {
      super(given[0] ?? Shifted.now());
    }

    static override now(): number {
      return Real.now() + clock.shiftMs;
    }
  }
  globalThis.Date = Shifted as DateConstructor;
  t.teardown(() => {
    globalThis.Date = Real;
  });
  return clock;
}
