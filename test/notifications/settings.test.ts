/** A user's choice of notifications and times (docs/contract.md#notification-settings). */

import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { NotificationSettings } from '@parley/protocol/resources/notification-settings.ts';
import t from 'tap';
import { notifyUsers } from '../../src/core/notifications/feed/notify-users.ts';
import { mayInterrupt, reachesSockets } from '../../src/core/notifications/settings/settings.ts';
import type { Client } from '../gateway/fixture.ts';
import { cursorOf, resume } from '../gateway/missed.ts';
import { Cases } from '../messages/cases.ts';
import { borrowTestApp, type CallOptions, type Refusal, refusalOf } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import { until } from '../support/until.ts';
import { newReader, openSocket, type Reader } from './readers.ts';

const app = await borrowTestApp(t);
const { database } = app;
const cases = new Cases(app);
const PATH = '/v1/messaging/notification-settings';
const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const HOURS = { from: '22:00', to: '07:00', timezone: 'Europe/Berlin', days: [...DAYS] };
/** Within the next year, as answers write it. */
const SOON = new Date(Date.now() + 86_400_000).toISOString().replace('Z', '000Z');
const ALL = { socket: true, push: true, mail: true };

t.test('the defaults, and settings as a whole', async (t) => {
  const reader = await newReader(app);
  const defaults = await settings(reader, 'GET');
  t.strictSame(defaults, {
    object: 'notification_settings',
    categories: Object.fromEntries(
      [
        'chat.message',
        'chat.mention',
        'chat.added',
        'agent.alert',
        'agent.run_completed',
        'approval.requested',
        'draft.proposed',
        'conversation.assigned',
        'email.failed',
        'system.broadcast',
        'webhook.disabled',
      ].map((category) => [category, ALL]),
    ),
    mute_until: null,
    do_not_disturb: null,
    digest_after_minutes: null,
    updated_at: null,
  });
  const set = await settings(reader, 'PUT', {
    categories: { 'chat.message': { push: false }, 'order.updated': { socket: false, mail: false } },
    mute_until: SOON.replace('Z', '+00:00'),
    do_not_disturb: { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' },
    digest_after_minutes: 60,
  });
  t.strictSame(set, {
    ...defaults,
    categories: {
      ...defaults.categories,
      'chat.message': { ...ALL, push: false },
      'order.updated': { socket: false, push: true, mail: false },
    },
    mute_until: SOON,
    do_not_disturb: HOURS,
    digest_after_minutes: 60,
    updated_at: set.updated_at,
  });
  t.strictSame(await settings(reader, 'GET'), set);
  t.strictSame(await settings(await newReader(app), 'GET'), defaults, "another user's are its own");
  const emptied = await settings(reader, 'PUT', {});
  t.ok(emptied.updated_at! > set.updated_at!);
  t.strictSame({ ...emptied, updated_at: null }, defaults, 'what is left out has its default');
});

t.test('a mute that has ended is shown as none', async (t) => {
  const reader = await newReader(app);
  await settings(reader, 'PUT', { mute_until: SOON });
  await database.kysely
    .updateTable('notification_settings')
    .set({ mute_until: '2020-01-01T00:00:00Z' })
    .where('actor_id', '=', reader.id)
    .execute();
  t.equal((await settings(reader, 'GET')).mute_until, null);
});

t.test('invalid notification settings are refused', async (t) => {
  const reader = await newReader(app);
  const cases: [what: string, body: object, refusal: string][] = [
    ['an unknown field', { muted: true }, '422 validation_failed muted'],
    ['a category of another form', { categories: { chat: {} } }, '422 validation_failed categories'],
    ['an unknown channel', { categories: { 'a.b': { sms: true } } }, '422 validation_failed categories'],
    ['no time', { mute_until: 'tomorrow' }, '400 invalid_format mute_until'],
    ['a time that has passed', { mute_until: '2020-01-01T00:00:00Z' }, '422 validation_failed mute_until'],
    ['a time far away', { mute_until: '2100-01-01T00:00:00Z' }, '422 validation_failed mute_until'],
    ['hours without an end', { do_not_disturb: { from: '22:00' } }, '400 missing_field do_not_disturb.to'],
    [
      'no time of day',
      { do_not_disturb: { ...HOURS, to: '24:00' } },
      '422 validation_failed do_not_disturb.to',
    ],
    [
      'no timezone',
      { do_not_disturb: { ...HOURS, timezone: 'Pier' } },
      '400 invalid_format do_not_disturb.timezone',
    ],
    [
      'an offset',
      { do_not_disturb: { ...HOURS, timezone: '+01:00' } },
      '400 invalid_format do_not_disturb.timezone',
    ],
    ['no days', { do_not_disturb: { ...HOURS, days: [] } }, '422 validation_failed do_not_disturb.days'],
    [
      'a day twice',
      { do_not_disturb: { ...HOURS, days: ['monday', 'monday'] } },
      '422 validation_failed do_not_disturb.days',
    ],
    ['too early a digest', { digest_after_minutes: 4 }, '422 validation_failed digest_after_minutes'],
    ['too late a digest', { digest_after_minutes: 10_081 }, '422 validation_failed digest_after_minutes'],
  ];
  for (const [what, body, refusal] of cases) {
    const answer = await app.call<Refusal>('PUT', PATH, { ...as(reader), body });
    t.match(refusalOf(answer), refusal, what);
  }
  t.match(await settings(reader, 'GET'), { updated_at: null }, 'nothing was changed');
  const key = await app.call<Refusal>('GET', PATH, { headers: as(reader).headers! });
  t.equal(refusalOf(key), '403 insufficient_permissions null', 'a key has none');
  const old = await app.call<object>('GET', PATH, { token: reader.token });
  t.equal(old.status, 400, 'since 1.2.harbor');
});

t.test('a category that is kept off sockets: live, of other causes, and in a resume', async (t) => {
  const [quiet, other] = [await newReader(app), await newReader(app)];
  const members = [quiet, other].map(({ id }) => ({ type: 'user', actorId: id }) as const);
  const conversationId = await cases.conversation('internal', ...members);
  const sockets = [await openSocket(t, app, quiet), await openSocket(t, app, other)] as const;
  const cursor = await cursorOf(await openSocket(t, app, quiet));
  const send = (body: string, mentions: readonly string[] = []) =>
    cases.sent(conversationId, { body, mentions });
  const events = ({ frames }: Client) =>
    frames
      .filter(({ event }) => event === 'notification.created')
      .map(({ data }) => data as Notification)
      .filter(({ category }) => category !== 'chat.added');

  await send('before');
  for (const one of sockets) await until(() => events(one).length === 1, { what: 'an event' });
  await settings(quiet, 'PUT', {
    categories: { 'chat.message': { socket: false }, 'order.updated': { socket: false } },
  });
  await send('unheard');
  await database.transaction((tx) =>
    notifyUsers(tx, [quiet.id, other.id], {
      account_id: app.demo.account_id,
      category: 'order.updated',
      title: 'Order',
      body: null,
      sender_id: null,
      sender_type: 'system',
      resource: null,
      message_id: null,
      agent_run_id: null,
      cause: { key: 'order', at: new Date().toISOString() },
    }),
  );
  await send('@you', [quiet.id, other.id]);
  for (const one of sockets)
    await until(() => events(one).some(({ body }) => body === '@you'), { what: 'a mention' });
  await until(() => events(sockets[1]).length === 4, { what: 'every event of the other' });
  t.strictSame(
    events(sockets[0]).map(({ body }) => body),
    ['before', '@you'],
  );
  const { body: feed } = await app.call<List<Notification>>('GET', '/v1/messaging/notifications', {
    token: quiet.token,
  });
  t.strictSame(
    feed.data.flatMap(({ category, body }) => (category === 'chat.added' ? [] : `${body}`)).sort(),
    ['@you', 'before', 'null', 'unheard'],
    'the feed has all of them',
  );
  const late = await openSocket(t, app, quiet);
  await resume(late, cursor, {});
  t.ok(events(late).some(({ body }) => body === '@you'));
  t.notOk(events(late).some(({ category, body }) => category === 'order.updated' || body === 'unheard'));
});

t.test('an erased person has no settings any more', async (t) => {
  const reader = await newReader(app);
  await settings(reader, 'PUT', { categories: { 'halibut.caught': { push: false } } });
  t.strictSame(await storedText(database, 'halibut'), ['public.notification_settings.categories']);
  const answer = await app.call('POST', `/v1/users/${reader.id}/actions/erase`, {
    headers: as(reader).headers!,
    body: { messages: 'keep' },
  });
  t.equal(answer.status, 201);
  t.strictSame(await storedText(database, 'halibut'), []);
});

t.test('muted categories and channels are not notified', async (t) => {
  const set = {
    categories: {
      'chat.message': { socket: true, push: false, mail: true },
      'chat.added': { ...ALL, socket: false },
    },
    mute_until: '2026-06-01T12:00:00Z',
    do_not_disturb: null,
  };
  const may = (category: string, channel: 'push' | 'mail', at: string) =>
    mayInterrupt(set, category, channel, new Date(at));
  const [muted, after] = ['2026-06-01T11:59:59.999Z', '2026-06-01T12:00:00Z'];
  t.strictSame(
    [
      may('chat.message', 'push', after),
      may('chat.message', 'mail', after),
      may('order.updated', 'push', after),
    ],
    [false, true, true],
    'by category; one without settings has every channel',
  );
  t.strictSame([may('chat.message', 'mail', muted), may('order.updated', 'push', muted)], [false, false]);
  t.strictSame(
    [
      reachesSockets(set, 'chat.message'),
      reachesSockets(set, 'chat.added'),
      reachesSockets(set, 'order.updated'),
    ],
    [true, false, true],
  );
});

/**
 * Instants around the hours: quiet or not. Clocks of Berlin, New York, Lord Howe (30 minutes) and
 * Sydney are changed.
 */
const INSTANTS: [hours: string, timezone: string, instants: [at: string, quiet: boolean][]][] = [
  [
    '09:00-17:30',
    'Asia/Kolkata',
    [
      ['2026-05-05T03:29:59Z', false],
      ['2026-05-05T03:30:00Z', true],
      ['2026-05-05T11:59:59Z', true],
      ['2026-05-05T12:00:00Z', false],
    ],
  ],
  // Winter time from 01:00Z on the last Sunday of October, summer time from 01:00Z on the last one
  // of March.
  [
    '22:00-07:00',
    'Europe/Berlin',
    [
      ['2026-03-28T20:59:59Z', false],
      ['2026-03-28T21:00:00Z', true],
      ['2026-03-29T04:59:59Z', true],
      ['2026-03-29T05:00:00Z', false],
      ['2026-03-29T19:59:59Z', false],
      ['2026-03-29T20:00:00Z', true],
      ['2026-10-24T20:00:00Z', true],
      ['2026-10-25T05:59:59Z', true],
      ['2026-10-25T06:00:00Z', false],
    ],
  ],
  // 02:30 is not there on 29 March, and is there twice on 25 October.
  [
    '22:00-02:30',
    'Europe/Berlin',
    [
      ['2026-03-29T00:59:59Z', true],
      ['2026-03-29T01:00:00Z', false],
      ['2026-10-25T00:29:59Z', true],
      ['2026-10-25T00:30:00Z', true],
      ['2026-10-25T01:29:59Z', true],
      ['2026-10-25T01:30:00Z', false],
      ['2026-10-26T01:29:59Z', true],
      ['2026-10-26T01:30:00Z', false],
    ],
  ],
  [
    '02:30-06:00',
    'Europe/Berlin',
    [
      ['2026-03-29T00:59:59Z', false],
      ['2026-03-29T01:00:00Z', true],
      ['2026-10-25T00:29:59Z', false],
      ['2026-10-25T00:30:00Z', true],
      ['2026-10-25T01:00:00Z', true],
      ['2026-10-25T04:59:59Z', true],
      ['2026-10-25T05:00:00Z', false],
    ],
  ],
  [
    '02:10-02:50',
    'Europe/Berlin',
    [
      ['2026-03-29T01:00:00Z', false],
      ['2026-03-29T00:30:00Z', false],
    ],
  ],
  // Back by an hour at 06:00Z on 1 November, ahead at 07:00Z on 8 March.
  [
    '23:00-01:30',
    'America/New_York',
    [
      ['2026-11-01T05:29:59Z', true],
      ['2026-11-01T05:45:00Z', true],
      ['2026-11-01T06:29:59Z', true],
      ['2026-11-01T06:30:00Z', false],
      ['2026-03-08T06:29:59Z', true],
      ['2026-03-08T06:30:00Z', false],
    ],
  ],
  // Back by half an hour from 02:00 to 01:30 at 15:00Z on 4 April.
  [
    '22:00-01:45',
    'Australia/Lord_Howe',
    [
      ['2026-04-04T14:44:59Z', true],
      ['2026-04-04T14:45:00Z', true],
      ['2026-04-04T15:14:59Z', true],
      ['2026-04-04T15:15:00Z', false],
      ['2026-10-03T14:00:00Z', true],
      ['2026-10-03T15:15:00Z', false],
    ],
  ],
  // Ahead from 02:00 to 03:00 at 16:00Z on 3 October.
  [
    '21:00-03:00',
    'Australia/Sydney',
    [
      ['2026-10-03T15:59:59Z', true],
      ['2026-10-03T16:00:00Z', false],
      ['2026-10-03T10:59:59Z', false],
      ['2026-10-03T11:00:00Z', true],
    ],
  ],
  [
    '00:00-00:00',
    'Europe/Berlin',
    [
      ['2026-10-25T00:59:59Z', true],
      ['2026-07-01T12:00:00Z', true],
    ],
  ],
];

t.test('do-not-disturb hours follow the time zone', async (t) => {
  for (const [hours, timezone, instants] of INSTANTS) {
    for (const [at, quiet] of instants)
      t.equal(isQuiet(hours, timezone, at), quiet, `${hours} ${timezone} ${at}`);
  }
});

t.test('days are those on which the hours begin', async (t) => {
  const friday = ['friday'] as const;
  // 1 May 2026 is a Friday.
  for (const [at, quiet] of [
    ['2026-04-30T20:00:00Z', false],
    ['2026-05-01T01:00:00Z', false],
    ['2026-05-01T20:00:00Z', true],
    ['2026-05-02T04:59:59Z', true],
    ['2026-05-02T05:00:00Z', false],
    ['2026-05-02T20:00:00Z', false],
  ] as const) {
    t.equal(isQuiet('22:00-07:00', 'Europe/Berlin', at, friday), quiet, at);
  }
  t.equal(isQuiet('08:00-08:00', 'Europe/Berlin', '2026-05-02T05:59:59Z', friday), true, 'a whole day');
  t.equal(isQuiet('08:00-08:00', 'Europe/Berlin', '2026-05-02T06:00:00Z', friday), false, 'and no more');
});

function isQuiet(
  hours: string,
  timezone: string,
  at: string,
  days: readonly (typeof DAYS)[number][] = DAYS,
): boolean {
  const [from, to] = hours.split('-') as [string, string];
  const set = { categories: {}, mute_until: null, do_not_disturb: { from, to, timezone, days: [...days] } };
  return !mayInterrupt(set, 'chat.message', 'push', new Date(at));
}

function as({ token }: Reader): CallOptions {
  return { token, headers: { 'Service-Version': '1.2.harbor' } };
}

async function settings(reader: Reader, method: 'GET' | 'PUT', body?: object): Promise<NotificationSettings> {
  const answer = await app.call<NotificationSettings>(method, PATH, { ...as(reader), ...(body && { body }) });
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body;
}
