/**
 * The digest of unseen notifications (docs/contract.md#digests): what is queued and when, and the
 * text of the mail.
 */

import t from 'tap';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { digestMail } from '../../src/features/push/digests/digest-mail.ts';
import { type DigestRow, Digests, MAX_NAMED, readDigest } from '../../src/features/push/digests/digests.ts';
import { pushMetrics } from '../../src/features/push/metrics.ts';
import { createLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { startTestApp } from '../support/app.ts';
import { insertRow, newReader, type Reader } from './readers.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const NOON = new Date('2026-03-02T12:00:00Z');

t.test('what stayed unseen for long enough goes out as one mail, once over two nodes', async (t) => {
  const reader = await wanting({ digest_after_minutes: 30 });
  const other = await newReader(app);
  const seen = await unseen(reader, -50);
  const old = await unseen(reader, -40);
  await unseen(other, -40);
  await mark(reader, seen, 'see');
  await look(-12);
  t.equal(await queued(reader), undefined, 'not yet');
  const young = await unseen(reader, -1);
  const many = Array.from({ length: 8 }, () => nodeAt(0));
  await Promise.all(many.map((node) => node.look()));
  const digest = (await queued(reader))!;
  t.strictSame([digest.notification_ids, digest.more], [[young, old], 0], 'with what is younger');
  t.equal(await queued(other), undefined, 'other users get none');
  await Promise.all(many.map((node) => node.look()));
  t.strictSame(await queued(reader), digest, 'once');

  await database.kysely.deleteFrom('digests').where('actor_id', '=', reader.id).execute();
  await look(600);
  t.equal(await queued(reader), undefined, 'what was mailed is not mailed again');
  const next = await unseen(reader, 610);
  await look(639);
  t.equal(await queued(reader), undefined);
  await look(641);
  t.strictSame((await queued(reader))?.notification_ids, [next]);
  const later = await unseen(reader, 642);
  await look(680);
  t.strictSame(
    (await queued(reader))?.notification_ids,
    [later, next],
    'a mail that waits takes in the next',
  );
});

t.test('do-not-disturb hours, muting and categories', async (t) => {
  const hours = { from: '11:00', to: '13:00', timezone: 'UTC' };
  const disturbed = await wanting({ digest_after_minutes: 5, do_not_disturb: hours });
  const muted = await wanting({ digest_after_minutes: 5 });
  await database.kysely
    .updateTable('notification_settings')
    .set({ mute_until: '2026-03-02T13:00:00Z' })
    .where('actor_id', '=', muted.id)
    .execute();
  const choosy = await wanting({
    digest_after_minutes: 5,
    categories: { 'chat.message': { mail: false } },
  });
  const off = await wanting({ digest_after_minutes: null });
  const readers = [disturbed, muted, choosy, off];
  const ids = await Promise.all(readers.map((reader) => unseen(reader, -10)));
  const mention = await unseen(choosy, -8, { category: 'chat.mention' });
  await look(0);
  const shown = () => Promise.all(readers.map(async (reader) => (await queued(reader))?.notification_ids));
  t.strictSame(await shown(), [undefined, undefined, [mention], undefined]);
  await look(61);
  t.strictSame(await shown(), [[ids[0]], [ids[1]], [mention], undefined], 'delayed, not dropped');
  await set(choosy, { digest_after_minutes: null });
  await set(off, { digest_after_minutes: 5 });
  await look(62);
  t.strictSame(await shown(), [[ids[0]], [ids[1]], undefined, [ids[3]]], 'the last settings count');
});

t.test('a feed that nobody looks at makes one bounded row', async (t) => {
  const reader = await wanting({ digest_after_minutes: 5 });
  await database.query(
    {
      name: 'test-many-unseen',
      text: `
        INSERT INTO notifications (id, account_id, recipient_id, category, title, created_at, updated_at)
        SELECT notification_id(at, n::text, $2), $1, $2, 'chat.message', 'row', at, at
        FROM generate_series(1, 2100) n, LATERAL (SELECT $3::timestamptz - n * interval '10 s' AS at) AS t`,
    },
    demo.account_id,
    reader.id,
    NOON.toISOString(),
  );
  const late = await unseen(reader, -30 * 24 * 60);
  await Promise.all([look(0), look(0)]);
  const digest = (await queued(reader))!;
  t.strictSame([digest.notification_ids.length, digest.more], [MAX_NAMED, 2_100 - MAX_NAMED]);
  t.strictSame(digest.notification_ids, [...digest.notification_ids].sort().reverse());
  t.notOk(digest.notification_ids.includes(late), 'nothing of last month');
  await mark(reader, digest.notification_ids[0]!, 'read');
  const admin = (...args: string[]) =>
    runAdmin(args, readConfig({ DATABASE_URL: app.databaseUrl }), createLog('silent'));
  const { data } = (await admin('digest', 'list')) as { data: { user_id: string }[] };
  t.match(
    data.find(({ user_id }) => user_id === reader.id),
    { object: 'digest', id: digest.id, notifications: MAX_NAMED, more: 2_000 },
  );
  const shown = (await admin('digest', 'show', '--user', reader.id)) as { subject: string; text: string };
  t.equal(shown.subject, `${MAX_NAMED - 1 + 2_000} notifications that you have not seen`, 'as it is now');
  t.match(shown.text, 'And 2000 more.');
});

t.test('the text of a mail', async (t) => {
  const notifications = [
    {
      title: 'Ada <b> in Pier\r\nBcc: all@example.com',
      body: 'one & "two"\nthree <script>',
      created_at: '2026-03-02T12:00:00.000000Z',
    },
    { title: 'Grace', body: null, created_at: '2026-03-02T11:30:00.000000Z' },
  ];
  const mail = digestMail({ notifications, more: 3, timezone: 'Europe/Amsterdam' });
  t.equal(mail.subject, '5 notifications that you have not seen');
  t.equal(
    mail.text,
    `Ada <b> in Pier Bcc: all@example.com (Mar 2, 13:00 GMT+1)
  one & "two"
  three <script>

Grace (Mar 2, 12:30 GMT+1)

And 3 more.

You receive this because your notification settings ask for a digest of what you have not seen.
`,
  );
  t.match(mail.html, '<strong>Ada &lt;b&gt; in Pier Bcc: all@example.com</strong>');
  t.match(mail.html, 'one &amp; &quot;two&quot;<br>three &lt;script&gt;');
  t.notMatch(mail.html, /<script|<b>/);
  const [first] = notifications;
  const alone = digestMail({
    notifications: [{ ...first!, title: `${'😀'.repeat(200)}\n` }],
    more: 0,
    timezone: 'UTC',
  });
  t.equal(alone.subject, `${'😀'.repeat(119)}…`, 'one title is the subject, on one line');
});

function nodeAt(minutes: number): Digests {
  const now = () => new Date(NOON.getTime() + minutes * 60_000);
  const node = new Digests({
    database,
    metrics: pushMetrics(createMetrics()),
    log: createLog('silent'),
    now,
  });
  t.teardown(() => node.close());
  return node;
}

/** Looks for digests, that many minutes from noon. */
function look(minutes: number): Promise<void> {
  return nodeAt(minutes).look();
}

async function wanting(settings: object): Promise<Reader> {
  const reader = await newReader(app);
  await set(reader, settings);
  return reader;
}

async function set({ token }: Reader, body: object): Promise<void> {
  const { status, text } = await app.call('PUT', '/v1/messaging/notification-settings', {
    token,
    body,
    headers: { 'Service-Version': '1.2.harbor' },
  });
  if (status !== 200) throw new Error(text);
}

/** Makes a notification, that many minutes from noon. */
function unseen(reader: Reader, minutes: number, row: { category?: string } = {}): Promise<string> {
  const created_at = new Date(NOON.getTime() + minutes * 60_000).toISOString();
  return insertRow(app, reader, { ...row, created_at });
}

async function mark({ token }: Reader, id: string, move: string): Promise<void> {
  await app.call('POST', `/v1/messaging/notifications/${id}/actions/${move}`, { token });
}

function queued({ id }: Reader): Promise<DigestRow | undefined> {
  return readDigest(database, id);
}
