/**
 * Snoozes, mutes that end, read positions and former members (docs/contract.md#own-state) over
 * HTTP, on a whole server.
 */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import t from 'tap';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const NEWEST = { headers: { 'Service-Version': NEWEST_VERSION } };
const BY_GRACE = { token: grace.access_token, ...NEWEST };
const BY_CUSTOMER = { token: demo.customer.access_token, ...NEWEST };
const GRACE = { type: 'user', actor_id: grace.id };
const ELSEWHERE = {
  token: demo.other_account.api_key,
  headers: { ...NEWEST.headers, 'Service-Account': demo.other_account.account_id },
};
const HOUR_MS = 3_600_000;

t.test('a snooze ends with its time, with a message of another author, or by hand', async (t) => {
  const { id } = await conversations.create({ participants: [GRACE] });
  await send(id);
  t.strictSame(snoozeOf(await conversations.get(id, '', NEWEST)), [false, null]);
  t.equal('snoozed' in (await conversations.get(id)), false, 'older versions do not have it');

  const at = inFuture(HOUR_MS);
  const snoozed = await act(id, 'snooze', { until: at });
  t.strictSame([snoozed.snoozed, Date.parse(snoozed.snoozed_until!)], [true, Date.parse(at)]);
  t.strictSame(snoozeOf(await conversations.get(id, '', BY_GRACE)), [false, null], 'one’s own state');
  await send(id);
  t.strictSame(await snoozeNow(id), [true, snoozed.snoozed_until], 'one’s own message does not end it');
  await conversations.update(id, { title: 'Renamed' }, BY_GRACE_AS_OWNER);
  await until(async () => (await newest(id)).kind === 'system_event', { what: 'the system event' });
  t.equal((await snoozeNow(id))[0], true, 'nor does a system event');
  const reply = await send(id, {}, BY_GRACE);
  t.strictSame(await snoozeNow(id), [false, null], 'another author’s does');
  await conversations.ok('DELETE', `/v1/messaging/messages/${reply.id}`);
  t.equal((await snoozeNow(id))[0], false, 'also when it was deleted since');

  t.strictSame(snoozeOf(await act(id, 'snooze')), [true, null], 'without a time');
  t.strictSame(snoozeOf(await act(id, 'snooze', { until: null })), [true, null]);
  t.strictSame(snoozeOf(await act(id, 'unsnooze')), [false, null]);
  t.strictSame(snoozeOf(await act(id, 'unsnooze')), [false, null], 'twice is once');

  await act(id, 'snooze', { until: inFuture(HOUR_MS) });
  await passTime(id, 'snoozed_until');
  t.strictSame(await snoozeNow(id), [false, null], 'its time has come, and nothing was written');
  t.strictSame(snoozeOf(await act(id, 'snooze')), [true, null], 'again');
  await sql`UPDATE conversations SET purged_through = 1000000 WHERE id = ${id}`.execute(database.kysely);
  t.equal((await snoozeNow(id))[0], false, 'what came and was purged has ended it');
});

t.test('an invalid snooze is refused', async (t) => {
  const { id } = await conversations.create({ participants: [GRACE] });
  const strange = await conversations.create();
  const calls: [what: string, id: string, body: object, options: CallOptions, expected: string][] = [
    ['the past', id, { until: inFuture(-1_000) }, {}, '422 validation_failed until'],
    ['more than a year', id, { until: inFuture(367 * 24 * HOUR_MS) }, {}, '422 validation_failed until'],
    ['a local time', id, { until: '2030-03-31T02:30:00' }, {}, '400 invalid_format until'],
    ['a number', id, { until: 5 }, {}, '400 invalid_format until'],
    ['an unknown field', id, { for: 'ever' }, {}, '422 validation_failed for'],
    ['a key', id, {}, { token: demo.api_key }, '409 resource_conflict null'],
    ['a customer', demo.conversations.case, {}, BY_CUSTOMER, '403 insufficient_permissions null'],
    ['not a member', strange.id, {}, BY_GRACE, '404 resource_not_found id'],
    ['another account', id, {}, ELSEWHERE, '404 resource_not_found id'],
  ];
  for (const [what, id, body, options, expected] of calls) {
    const answer = await conversations.answer('POST', `${PATH}/${id}/actions/snooze`, {
      ...NEWEST,
      body,
      ...options,
    });
    t.equal(refusalOf(answer as never), expected, what);
  }
  const options = { headers: { ...NEWEST.headers, 'Idempotency-Key': randomUUID() } };
  const first = await conversations.answer('POST', `${PATH}/${id}/actions/snooze`, options);
  await act(id, 'unsnooze');
  const again = await conversations.answer('POST', `${PATH}/${id}/actions/snooze`, options);
  t.strictSame([again.status, again.text], [200, first.text]);
  t.equal((await snoozeNow(id))[0], false, 'a replay does nothing again');
});

t.test('a mute ends by itself', async (t) => {
  const { id } = await conversations.create({ participants: [GRACE] });
  const own = (await conversations.members(id)).find(({ actor }) => actor?.id === grace.id)!;
  const at = new Date(Date.now() + HOUR_MS).toISOString().replace('Z', '+00:00');
  const muted = await mute(id, own.id, { notifications: 'muted', muted_until: at });
  t.strictSame([muted.notifications, Date.parse(muted.muted_until!)], ['muted', Date.parse(at)]);
  t.strictSame(await mute(id, own.id, { notifications: 'muted', muted_until: at }), muted, 'twice is once');
  const before = await rosterVersion(id);
  const longer = await mute(id, own.id, { notifications: 'muted', muted_until: inFuture(2 * HOUR_MS) });
  t.not(longer.muted_until, muted.muted_until);
  t.ok((await rosterVersion(id)) > before, 'another end is another roster');

  const quiet = await send(id);
  await passTime(id, 'muted_until', grace.id);
  const loudNow = await send(id);
  await until(async () => (await notified(loudNow.id)).length === 1, { what: 'a notification' });
  t.strictSame(await notified(quiet.id), [], 'it was muted then');
  const [, ended] = (await participants(id)).data;
  t.strictSame([ended?.notifications, ended?.muted_until], ['unmuted', null]);

  const [forEver] = [await mute(id, own.id, { notifications: 'muted' })];
  t.strictSame([forEver.notifications, forEver.muted_until], ['muted', null]);
  const loud = await mute(id, own.id, { notifications: 'unmuted' });
  t.strictSame([loud.notifications, loud.muted_until], ['unmuted', null]);
  const [adas] = (await participants(id)).data;

  const refusals: [what: string, participant: string, body: object, expected: string][] = [
    ['alone', own.id, { muted_until: inFuture(HOUR_MS) }, '422 validation_failed muted_until'],
    [
      'with unmuted',
      own.id,
      { notifications: 'unmuted', muted_until: inFuture(HOUR_MS) },
      '422 validation_failed muted_until',
    ],
    [
      'the past',
      own.id,
      { notifications: 'muted', muted_until: inFuture(-1_000) },
      '422 validation_failed muted_until',
    ],
    [
      'a local time',
      own.id,
      { notifications: 'muted', muted_until: '2030-10-27T02:30:00' },
      '400 invalid_format muted_until',
    ],
    [
      'another’s',
      adas!.id,
      { notifications: 'muted', muted_until: inFuture(HOUR_MS) },
      '403 insufficient_permissions null',
    ],
  ];
  for (const [what, participant, body, expected] of refusals) {
    const path = `${PATH}/${id}/participants/${participant}`;
    t.equal(refusalOf(await app.call('PATCH', path, { ...BY_GRACE, body })), expected, what);
  }
  const older = await app.call('PATCH', `${PATH}/${id}/participants/${own.id}`, {
    token: grace.access_token,
    body: { notifications: 'muted', muted_until: at },
  });
  t.equal(refusalOf(older), '422 validation_failed muted_until', 'older versions do not know it');
});

t.test('read positions of others, and former members', async (t) => {
  const { id } = await conversations.create({
    participants: [GRACE, { type: 'user', actor_id: vera.id }, { type: 'agent', actor_id: demo.agent.id }],
  });
  const { sequence } = await send(id);
  await conversations.ok('POST', `${PATH}/${id}/actions/mark-read`, { ...BY_GRACE, body: { sequence } });
  const { data } = await participants(id);
  t.strictSame(
    data.map(({ type, last_read_sequence }) => [type, last_read_sequence]),
    [
      ['user', 0],
      ['user', sequence],
      ['user', 0],
      ['agent', null],
    ],
  );
  t.equal('last_read_sequence' in (await conversations.members(id))[0]!, false, 'older versions do not');

  const [, graces, veras] = data;
  await conversations.ok('DELETE', `${PATH}/${id}/participants/${veras!.id}`);
  await conversations.ok('DELETE', `${PATH}/${id}/participants/${graces!.id}`, BY_GRACE);
  const names = async (query: string) =>
    (await participants(id, query)).data.map(({ actor, membership }) => [actor?.name, membership]);
  const left = ['Grace Hopper', 'left'];
  const removed = ['Vera Rubin', 'removed'];
  t.match(await names(''), [
    ['Ada Lovelace', 'active'],
    [/./, 'active'],
  ]);
  t.strictSame(await names('membership[]=left'), [left]);
  t.strictSame(await names('membership[]=left&membership[]=removed'), [left, removed]);
  t.equal((await names('membership[]=active&membership[]=left&membership[]=removed')).length, 4);
  t.strictSame(await names('membership[]=hidden'), []);
  const first = await participants(id, 'membership[]=removed&membership[]=left&limit=1');
  t.equal(first.data[0]?.last_read_sequence, null, 'a former member reads no more');
  const second = await conversations.ok<List<Participant>>('GET', first.page_info.next_page_url!, NEWEST);
  t.strictSame(
    second.data.map((one) => one.id),
    [veras!.id],
  );
  t.strictSame(
    (await conversations.ok<List<Participant>>('GET', second.page_info.previous_page_url!, NEWEST)).data.map(
      (one) => one.id,
    ),
    [graces!.id],
  );
  for (const query of ['membership[]=gone', 'membership[]=']) {
    const answer = await app.call('GET', `${PATH}/${id}/participants?${query}`, NEWEST);
    t.equal(refusalOf(answer), '400 parameter_invalid membership[]', query);
  }

  const { conversation, customer } = await conversations.createCase();
  const options = { token: await app.tokenOf(customer.actor!.id), ...NEWEST };
  await conversations.ok('DELETE', `${PATH}/${conversation.id}/participants/${customer.id}`);
  await conversations.add(conversation.id, { type: 'customer', actor_id: customer.actor!.id });
  const { data: seen } = await conversations.ok<List<Participant>>(
    'GET',
    `${PATH}/${conversation.id}/participants?membership[]=active&membership[]=left`,
    options,
  );
  t.strictSame(
    seen.map((one) => [one.id, one.last_read_sequence]),
    [[customer.id, 0]],
    'a customer sees itself alone',
  );
});

const BY_GRACE_AS_OWNER = { token: demo.api_key };

function act(id: string, action: 'snooze' | 'unsnooze', body: object = {}): Promise<Conversation> {
  return conversations.ok('POST', `${PATH}/${id}/actions/${action}`, { ...NEWEST, body });
}

function mute(id: string, participantId: string, body: object): Promise<Participant> {
  return conversations.ok('PATCH', `${PATH}/${id}/participants/${participantId}`, { ...BY_GRACE, body });
}

function participants(id: string, query = ''): Promise<List<Participant>> {
  return conversations.ok('GET', `${PATH}/${id}/participants?${query}`, NEWEST);
}

async function snoozeNow(id: string) {
  return snoozeOf(await conversations.get(id, '', NEWEST));
}

function snoozeOf({ snoozed, snoozed_until }: Conversation) {
  return [snoozed, snoozed_until];
}

/** Has the time of a participant come, as if hours had passed. */
async function passTime(id: string, column: 'snoozed_until' | 'muted_until', actorId = ada.id) {
  await sql`UPDATE participants SET ${sql.ref(column)} = now() - interval '1 ms'
    WHERE conversation_id = ${id} AND actor_id = ${actorId}`.execute(database.kysely);
}

async function rosterVersion(id: string): Promise<number> {
  const { roster_version } = await database.kysely
    .selectFrom('conversations')
    .select('roster_version')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return roster_version;
}

async function notified(messageId: string): Promise<{ recipient_id: string }[]> {
  return database.kysely
    .selectFrom('notifications')
    .select('recipient_id')
    .where('message_id', '=', messageId)
    .execute();
}

async function newest(id: string): Promise<ChatMessage> {
  const { data } = await conversations.ok<List<ChatMessage>>('GET', `${PATH}/${id}/messages?limit=1`);
  return data[0]!;
}

function send(id: string, fields: object = {}, options: CallOptions = {}): Promise<ChatMessage> {
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return conversations.ok<ChatMessage>('POST', `${PATH}/${id}/messages`, { body, ...options });
}

function inFuture(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}
