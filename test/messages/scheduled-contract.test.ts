/**
 * Scheduled messages as a client meets them: over HTTP and on sockets, on a whole server with its
 * queue.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage, MessageOutcome } from '@parley/protocol/resources/chat-message.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { personWith } from '../accounts/fixture.ts';
import { Client } from '../gateway/fixture.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { hastenJobs } from '../support/hasten-jobs.ts';
import { until } from '../support/until.ts';
import { Cases, message, shownActor, user } from './cases.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);
/** Later than the requests that still change a message, also on a busy machine. */
const SOON_MS = 5_000;
const NEWEST = { headers: { 'Service-Version': NEWEST_VERSION } };

t.test('from the schedule to the sockets: every field and no other', async (t) => {
  const conversationId = await cases.conversation('internal');
  const [reader, feed] = await Promise.all([
    listen(grace.access_token, conversationId),
    listen(ada.access_token),
  ]);
  const later = await timeIn(60_000);
  const scheduled = await cases.sent(conversationId, {
    body: 'good morning',
    client_message_id: 'exact',
    scheduled_at: later,
    attachments: [{ kind: 'link', url: 'https://example.com/' }],
  });
  const { id, created_at } = scheduled;
  t.strictSame(scheduled, {
    id,
    object: 'chat_message',
    kind: 'scheduled',
    status: 'scheduled',
    visibility: 'internal',
    conversation: null,
    sequence: null,
    body: 'good morning',
    subject: null,
    sender: null,
    author: null,
    attachments: null,
    reply_to: null,
    resource: null,
    channel: 'message',
    scheduled_at: later,
    agent_run: null,
    streaming_state: null,
    client_message_id: 'exact',
    edited_at: null,
    deleted_at: null,
    created_at,
    updated_at: created_at,
  });
  t.match(await outcomeOf(id), { status: 'scheduled', result: null, reason: null, at: null });
  const waiting = await app.call<List<ChatMessage>>(
    'GET',
    `/v1/messaging/conversations/${conversationId}/messages?status=scheduled`,
    { token: grace.access_token },
  );
  t.strictSame(waiting.body.data, [scheduled]);
  t.match(await eventOf(reader, 'scheduled.updated', id), { data: { status: 'scheduled', outcome: null } });

  const scheduledAt = await timeIn(SOON_MS);
  const { body: moved } = await app.call<ChatMessage>('PATCH', `/v1/messaging/messages/${id}`, {
    token: grace.access_token,
    body: { scheduled_at: scheduledAt },
  });
  const created = await reader.frame(({ event }) => event === 'message.created');
  const sent = { ...moved, status: 'sent', sequence: 1, updated_at: created.at };
  t.strictSame(created, {
    type: 'event',
    event: 'message.created',
    conversation_id: conversationId,
    sequence: 1,
    at: created.at,
    data: {
      ...sent,
      client_message_id: null,
      sender: shownActor(grace.id, 'user', 'Grace Hopper', grace.email),
      attachments: (created.data as unknown as ChatMessage).attachments,
    },
  });
  t.match(created.data, { attachments: [{ kind: 'link', url: 'https://example.com/' }] });
  t.ok(String(created.at) >= scheduledAt, 'not early');
  t.strictSame(await cases.read(id), sent);
  const ended = await reader.frame(
    ({ event, data }) => event === 'scheduled.updated' && data?.status === 'sent' && data.id === id,
  );
  t.match(ended, { sequence: 1, data: { outcome: { result: 'sent', reason: null } } });
  const { at } = await outcomeOf(id);
  t.strictSame(await outcomeOf(id), {
    object: 'message_outcome',
    message_id: id,
    status: 'sent',
    result: 'sent',
    reason: null,
    at,
  });
  const told = await feed.frame(({ event }) => event === 'notification.created');
  t.match(told.data, { category: 'chat.message', body: 'good morning', resource: null });
});

t.test('until it is sent, it is for its author, admins and keys, and the team of a case', async (t) => {
  const group = await cases.conversation('internal', user(vera.id));
  const { id: caseId, customerToken } = await cases.open(user(vera.id));
  const { id: otherCase, customerToken: stranger } = await cases.open();
  await cases.setParticipant(group, vera.id, { role: 'owner' });
  const soon = { scheduled_at: await timeIn(3_600_000) };
  const own = { token: grace.access_token };
  const inGroup = await cases.sent(group, soon, own);
  const inCase = await cases.sent(caseId, { ...soon, audience: 'customer' }, own);
  const byCustomer = await cases.sent(caseId, soon, { token: customerToken });
  await cases.sent(otherCase, soon, { token: stranger });
  t.match(byCustomer, { status: 'scheduled', visibility: 'external', author: null });

  const readers: [who: string, token: string, seen: ChatMessage[], unseen: ChatMessage[]][] = [
    ['its author', grace.access_token, [inGroup, inCase, byCustomer], []],
    ['an admin', ada.access_token, [inGroup, inCase, byCustomer], []],
    ['a key', demo.api_key, [inGroup, inCase, byCustomer], []],
    ['another member, owner of the group', vera.access_token, [inCase, byCustomer], [inGroup]],
    ['the customer', customerToken, [byCustomer], [inGroup, inCase]],
    ['another customer', stranger, [], [inGroup, inCase, byCustomer]],
  ];
  for (const [who, token, seen, unseen] of readers) {
    for (const { id } of seen) {
      const answer = await app.call<ChatMessage>('GET', `/v1/messaging/messages/${id}`, { token });
      t.match(answer, { status: 200, body: { id, status: 'scheduled' } }, who);
    }
    for (const { id } of unseen) {
      const answer = await app.call('GET', `/v1/messaging/messages/${id}`, { token });
      t.equal(refusalOf(answer), '404 resource_not_found id', who);
      const isReader = token === vera.access_token;
      const refusal = isReader ? '403 insufficient_permissions null' : '404 resource_not_found id';
      t.equal(refusalOf(await cases.act('cancel', id, { token })), refusal, who);
    }
  }
  const listed = async (conversation: string, token: string, status = 'scheduled') => {
    const path = `/v1/messaging/conversations/${conversation}/messages?status=${status}`;
    const { body } = await app.call<List<ChatMessage>>('GET', path, { token });
    return body.data?.map(({ id }) => id);
  };
  for (const token of [grace.access_token, ada.access_token, demo.api_key]) {
    t.strictSame(await listed(group, token), [inGroup.id]);
  }
  t.strictSame(await listed(group, vera.access_token), []);
  t.strictSame(await listed(caseId, vera.access_token), [byCustomer.id, inCase.id]);
  t.strictSame(await listed(caseId, customerToken), [byCustomer.id]);
  const drafts = await app.call('GET', `/v1/messaging/conversations/${caseId}/messages?status=draft`, {
    token: customerToken,
  });
  t.equal(refusalOf(drafts), '403 insufficient_permissions null');

  const canceled = message(await cases.act('cancel', byCustomer.id, { token: customerToken }), 200);
  t.match(canceled, { status: 'canceled', author: null });
  t.strictSame(await listed(caseId, customerToken, 'canceled'), [byCustomer.id]);
  t.strictSame(await listed(caseId, stranger, 'canceled'), undefined, 'of another case nothing');
});

t.test('scheduled.updated reaches those that see the message alone, after a break as well', async (t) => {
  const group = await cases.conversation('internal', user(vera.id));
  const { id: caseId, customerToken } = await cases.open(user(vera.id));
  const [author, member, team, customer] = await Promise.all([
    listen(grace.access_token, group),
    listen(vera.access_token, group),
    listen(vera.access_token, caseId),
    listen(customerToken, caseId),
  ]);
  const cursors = [author, member, customer].map(
    ({ frames }) => frames.find(({ type }) => type === 'ready')!.cursor,
  );
  const soon = { scheduled_at: await timeIn(3_600_000) };
  const inGroup = await cases.sent(group, soon);
  const byCustomer = await cases.sent(caseId, soon, { token: customerToken });
  t.match(await eventOf(author, 'scheduled.updated', inGroup.id), {
    conversation_id: group,
    data: { status: 'scheduled', body: 'ahoy', outcome: null },
  });
  t.match(await eventOf(team, 'scheduled.updated', byCustomer.id), { conversation_id: caseId });
  t.match(await eventOf(customer, 'scheduled.updated', byCustomer.id), {
    conversation_id: caseId,
    data: { author: null, outcome: null },
  });
  const { id: last } = await cases.sent(group, { body: 'the last' });
  await eventOf(member, 'message.created', last);
  t.notMatch(JSON.stringify(member.frames), inGroup.id);

  const resumed = async (token: string, cursor: unknown, conversation: string) => {
    const client = await listen(token);
    await client.request('resume', { cursor, conversations: { [conversation]: 0 } });
    await client.frame('resumed');
    return client.frames.filter(({ event }) => event === 'scheduled.updated').map(({ data }) => data!.id);
  };
  t.ok((await resumed(grace.access_token, cursors[0], group)).includes(inGroup.id), 'the author');
  const missed = await resumed(vera.access_token, cursors[1], group);
  t.notOk(missed.includes(inGroup.id), 'another member');
  t.ok((await resumed(customerToken, cursors[2], caseId)).includes(byCustomer.id), 'a customer');
});

t.test('messages that cannot be scheduled', async (t) => {
  const [open, archived, { id: caseId }] = await Promise.all([
    cases.conversation('internal', user(vera.id, 'viewer')),
    cases.conversation('internal'),
    cases.open(),
  ]);
  await cases.set(archived, { status: 'archived' });
  const soon = await timeIn(60_000);
  const refusals: readonly (readonly [string, object, string])[] = [
    [open, { scheduled_at: 'tomorrow' }, '400 invalid_format scheduled_at'],
    [open, { scheduled_at: '2031-01-01T00:00:00' }, '400 invalid_format scheduled_at'],
    [open, { scheduled_at: 1_900_000_000 }, '400 invalid_format scheduled_at'],
    [open, { scheduled_at: await timeIn(-1_000) }, '422 validation_failed scheduled_at'],
    [open, { scheduled_at: await timeIn(367 * 86_400_000) }, '422 validation_failed scheduled_at'],
    [open, { scheduled_at: soon, client_message_id: '' }, '400 missing_field client_message_id'],
    [open, { scheduled_at: soon, body: '' }, '400 missing_field body'],
    [
      open,
      { scheduled_at: soon, mentions: [demo.other_account.account_id] },
      '422 validation_failed mentions[0]',
    ],
    [archived, { scheduled_at: soon }, '409 resource_conflict null'],
    [caseId, { mode: 'draft', channel: 'message', scheduled_at: soon }, '422 validation_failed scheduled_at'],
  ];
  for (const [conversationId, fields, expected] of refusals) {
    t.equal(refusalOf(await cases.send(conversationId, fields)), expected, JSON.stringify(fields));
  }
  const scheduled = { scheduled_at: soon };
  t.equal(
    refusalOf(await cases.send(open, scheduled, { token: vera.access_token })),
    '403 insufficient_permissions null',
  );
  const { text: absent } = await cases.send('cnv_absent', scheduled);
  const foreign = { 'Service-Account': demo.other_account.account_id };
  const { api_key: token } = demo.other_account;
  const { text } = await cases.send(open, scheduled, { token, headers: foreign });
  t.equal(text, absent, "another account's is an absent one");
});

t.test('a resend and a replay answer what the first one did', async (t) => {
  const conversationId = await cases.conversation('internal');
  const fields = { client_message_id: 'again', scheduled_at: await timeIn(60_000) };
  const headers = { 'Idempotency-Key': 'scheduled-1' };
  const first = await cases.send(conversationId, fields, { headers });
  const replayed = await cases.send(conversationId, fields, { headers });
  t.equal(replayed.text, first.text);
  t.equal(replayed.headers.get('Idempotent-Replayed'), 'true');
  const original = message(first, 201);
  t.strictSame(await cases.sent(conversationId, fields), original);
  t.strictSame(await cases.sent(conversationId, { ...fields, scheduled_at: await timeIn(90_000) }), original);
  const { scheduled_at: _, ...now } = fields;
  t.strictSame(await cases.sent(conversationId, now), original, 'also without its time');
  t.strictSame(await cases.sent(conversationId, { ...fields, scheduled_at: await timeIn(-1) }), original);
  const twelve = await Promise.all(
    Array.from({ length: 12 }, () => cases.sent(conversationId, { ...fields, client_message_id: 'at once' })),
  );
  t.equal(new Set(twelve.map(({ id }) => id)).size, 1);
});

t.test('canceled before its time, or edited', async (t) => {
  const conversationId = await cases.conversation('internal');
  const reader = await listen(grace.access_token, conversationId);
  const [canceled, earlier, later] = await Promise.all([
    cases.sent(conversationId, { scheduled_at: await timeIn(SOON_MS) }),
    cases.sent(conversationId, { scheduled_at: await timeIn(60_000) }),
    cases.sent(conversationId, { scheduled_at: await timeIn(SOON_MS) }),
  ]);
  const answer = message(await cases.act('cancel', canceled.id), 200);
  t.strictSame(answer, { ...canceled, status: 'canceled', updated_at: answer.updated_at });
  t.ok(answer.updated_at > canceled.updated_at);
  t.match(await outcomeOf(canceled.id), { status: 'canceled', result: 'canceled', reason: null });
  t.match(await reader.frame(({ data }) => data?.id === canceled.id && data.status === 'canceled'), {
    event: 'scheduled.updated',
    data: { outcome: { result: 'canceled' } },
  });
  t.strictSame(message(await cases.act('cancel', canceled.id), 200), answer, 'again changes nothing');

  const soon = await timeIn(SOON_MS);
  const edited = await edit(earlier.id, { scheduled_at: soon, body: 'sooner' });
  t.match(edited, { status: 'scheduled', scheduled_at: soon, body: 'sooner' });
  const late = await timeIn(3_600_000);
  t.match(await edit(later.id, { scheduled_at: late }), { status: 'scheduled', scheduled_at: late });
  const created = await reader.frame(({ event }) => event === 'message.created');
  t.match(created, { sequence: 1, data: { id: earlier.id, body: 'sooner' } });
  await until(async () => (await timeIn(0)) > canceled.scheduled_at!, {
    what: 'the time of the canceled one',
  });
  t.match(await cases.read(later.id), { status: 'scheduled' });
  t.equal(refusalOf(await cases.act('cancel', earlier.id)), '409 resource_conflict null');
});

t.test('a time that cannot be changed', async (t) => {
  const conversationId = await cases.conversation('internal', user(vera.id));
  const { id: caseId, customerToken } = await cases.open();
  const soon = { scheduled_at: await timeIn(3_600_000) };
  const waiting = await cases.sent(conversationId, soon);
  const sent = await cases.sent(conversationId);
  const canceled = await cases.sent(conversationId, soon);
  message(await cases.act('cancel', canceled.id), 200);
  const draft = await cases.draft(caseId);
  const byCustomer = await cases.sent(caseId, soon, { token: customerToken });
  const later = { scheduled_at: await timeIn(7_200_000) };
  const patch = (id: string, body: object, options: CallOptions = {}) =>
    app.call('PATCH', `/v1/messaging/messages/${id}`, { token: grace.access_token, ...options, body });
  const refusals: readonly (readonly [string, object, string, CallOptions?])[] = [
    [waiting.id, { scheduled_at: 'tomorrow' }, '400 invalid_format scheduled_at'],
    [waiting.id, { scheduled_at: await timeIn(-1) }, '422 validation_failed scheduled_at'],
    [waiting.id, { scheduled_at: await timeIn(367 * 86_400_000) }, '422 validation_failed scheduled_at'],
    [waiting.id, later, '403 insufficient_permissions null', { token: ada.access_token }],
    [waiting.id, later, '403 insufficient_permissions null', { token: vera.access_token }],
    [byCustomer.id, later, '403 insufficient_permissions null', { token: customerToken }],
    [sent.id, later, '409 resource_conflict scheduled_at'],
    [canceled.id, later, '409 resource_conflict null'],
    [draft.id, later, '422 validation_failed scheduled_at'],
  ];
  for (const [id, body, expected, options] of refusals) {
    t.equal(refusalOf(await patch(id, body, options)), expected, JSON.stringify(body));
  }
  t.strictSame(await cases.read(waiting.id), waiting, 'nothing of that has changed it');
  const headers = { 'Idempotency-Key': 'moved-1' };
  const [moved, replayed] = [
    await patch(waiting.id, later, { headers }),
    await patch(waiting.id, later, { headers }),
  ];
  t.match(moved.body, { status: 'scheduled', scheduled_at: later.scheduled_at });
  t.equal(replayed.text, moved.text);
  await cases.set(conversationId, { status: 'archived' });
  t.equal((await patch(waiting.id, soon)).status, 200, 'as every edit, also in an archived conversation');
});

t.test('sent now: in the timeline at once, once', async (t) => {
  const conversationId = await cases.conversation('internal', user(vera.id));
  const reader = await listen(ada.access_token, conversationId);
  const later = await timeIn(3_600_000);
  const [waiting, other] = await Promise.all([
    cases.sent(conversationId, { scheduled_at: later }),
    cases.sent(conversationId, { scheduled_at: later }),
  ]);
  const headers = { 'Idempotency-Key': 'now-1', 'Service-Version': NEWEST_VERSION };
  const answer = await cases.act('send-now', waiting.id, { headers });
  const sent = message(answer, 200);
  t.match(sent, {
    id: waiting.id,
    status: 'sent',
    sequence: 1,
    scheduled_at: later,
    sent_at: sent.updated_at,
  });
  const replayed = await cases.act('send-now', waiting.id, { headers });
  t.strictSame([replayed.status, replayed.text], [200, answer.text]);
  t.match(await reader.frame(({ event }) => event === 'message.created'), { data: { id: waiting.id } });
  t.match(await outcomeOf(waiting.id), { status: 'sent', result: 'sent', reason: null });
  for (const action of ['send-now', 'cancel'] as const) {
    t.equal(refusalOf(await cases.act(action, waiting.id, NEWEST)), '409 resource_conflict null', action);
  }
  await hastenJobs(database, { key: conversationId });
  t.match(await outcomeOf(waiting.id), { status: 'sent', result: 'sent' }, 'a job finds nothing to send');
  t.match((await cases.audited(conversationId)).at(-1), {
    action: 'scheduled.sent_now',
    actor_id: grace.id,
    details: { message_id: waiting.id },
  });
  const asAda = { ...NEWEST, token: ada.access_token };
  t.match(message(await cases.act('send-now', other.id, asAda), 200), { sequence: 2, status: 'sent' });

  const archived = await cases.sent(conversationId, { scheduled_at: later });
  await cases.set(conversationId, { status: 'archived' });
  t.equal(refusalOf(await cases.act('send-now', archived.id, NEWEST)), '409 resource_conflict null');
  await cases.set(conversationId, { status: 'active' });
  await cases.setParticipant(conversationId, grace.id, { membership: 'removed' });
  const refused = await cases.act('send-now', archived.id, asAda);
  t.equal(refusalOf(refused), '409 resource_conflict null', 'its author could not send it');
  t.match(refused.body.error.message, /no longer a participant/);
  const plain = await cases.sent(conversationId, {}, { token: ada.access_token });
  t.equal(refusalOf(await cases.act('send-now', plain.id, asAda)), '409 resource_conflict null');
});

t.test('sent now on a case: by its customer, and by the team', async (t) => {
  const writer = await personWith(app, ['messaging:read', 'messaging:create']);
  const { id, customerToken } = await cases.open(user(writer.id));
  const later = { scheduled_at: await timeIn(3_600_000) };
  const customer = { ...NEWEST, token: customerToken };
  const question = await cases.sent(id, later, customer);
  t.match(message(await cases.act('send-now', question.id, customer), 200), { status: 'sent', sequence: 1 });
  t.same(await cases.lanes(id), ['open', null]);
  const reply = await cases.sent(id, { ...later, audience: 'customer' });
  t.equal(refusalOf(await cases.act('send-now', reply.id, customer)), '404 resource_not_found id');
  const byWriter = { ...NEWEST, token: writer.token };
  t.equal(refusalOf(await cases.act('send-now', reply.id, byWriter)), '403 insufficient_permissions null');
  message(await cases.act('send-now', reply.id, { ...NEWEST, token: ada.access_token }), 200);
  t.same(await cases.lanes(id), ['waiting_external', null]);
});

t.test('sent now, canceled, put off and due at the same moment: one of them wins', async (t) => {
  const conversationId = await cases.conversation('internal');
  const rounds = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const { id } = await cases.sent(conversationId, { scheduled_at: await timeIn(SOON_MS) });
      await until(async () => (await timeIn(30)) >= (await cases.read(id)).scheduled_at!, {
        what: 'its time',
      });
      const later = { scheduled_at: await timeIn(3_600_000) };
      const [now, again, canceled, moved] = await Promise.all([
        cases.act('send-now', id, NEWEST),
        cases.act('send-now', id, NEWEST),
        cases.act('cancel', id),
        app.call('PATCH', `/v1/messaging/messages/${id}`, { token: grace.access_token, body: later }),
      ]);
      return { id, won: [now, again, canceled].filter(({ status }) => status === 200), moved, canceled };
    }),
  );
  for (const { id, won, moved, canceled } of rounds) {
    t.ok(won.length <= 1, 'one of them at most: the delivery may have been first');
    const { status } = await cases.read(id);
    t.equal(status, canceled.status === 200 ? 'canceled' : 'sent');
    t.match(await outcomeOf(id), { result: status });
    t.ok([200, 409].includes(moved.status), `${moved.status}`);
  }
  const { body } = await app.call<List<ChatMessage>>(
    'GET',
    `/v1/messaging/conversations/${conversationId}/messages?after_sequence=0&limit=100`,
  );
  const sent = body.data.map(({ id }) => id);
  t.strictSame(sent.length, new Set(sent).size);
  t.same(sent.length, rounds.filter(({ canceled }) => canceled.status !== 200).length);
});

t.test('on a case: team and customer', async (t) => {
  const { id, customerToken } = await cases.open();
  const customer = await listen(customerToken, id);
  const reply = await cases.sent(id, { audience: 'customer', scheduled_at: await timeIn(SOON_MS) });
  t.match(reply, { kind: 'scheduled', status: 'scheduled', visibility: 'external' });
  t.same(await cases.lanes(id), ['new', null], 'nothing has been said yet');
  const created = await customer.frame(({ event }) => event === 'message.created');
  t.match(created.data, { id: reply.id, author: null, sender: { name: 'Customer Service' } });
  t.same(await cases.lanes(id), ['waiting_external', null]);

  const question = await cases.sent(id, { scheduled_at: await timeIn(SOON_MS) }, { token: customerToken });
  t.match(question, { visibility: 'external', status: 'scheduled', author: null });
  await customer.frame(({ event, data }) => event === 'message.created' && data?.id === question.id);
  t.same(await cases.lanes(id), ['open', null]);
  const waiting = customer.frames.filter(({ event }) => event === 'scheduled.updated');
  t.same(
    [...new Set(waiting.map(({ data }) => data?.id))],
    [question.id],
    'customers see nothing of what else waits',
  );
});

t.test('its author is notified that it was not sent, once', async (t) => {
  const conversationId = await cases.conversation('internal');
  const [row, kept] = await Promise.all([
    cases.sent(conversationId, { body: 'too late', scheduled_at: await timeIn(60_000) }),
    cases.sent(conversationId, { body: 'kept', scheduled_at: await timeIn(60_000) }),
  ]);
  const feed = await listen(grace.access_token);
  // The server was away for a day: whatever becomes due now comes too late.
  await database.query(
    {
      name: 'test-late',
      text: `UPDATE messages SET scheduled_at = now() - interval '25 hours' WHERE id = $1`,
    },
    row.id,
  );
  await hastenJobs(database, { key: conversationId });
  const told = await feed.frame(({ event }) => event === 'notification.created');
  t.match(told.data, {
    category: 'system.broadcast',
    title: 'Your scheduled message in Pier was not sent',
    body: 'too late',
    sender: null,
  });
  t.match(await outcomeOf(row.id), { status: 'canceled', result: 'canceled', reason: 'too_late' });
  const { body } = await app.call<List<Notification>>('GET', '/v1/messaging/notifications?q=too+late', {
    token: grace.access_token,
  });
  t.equal(body.data.length, 1);
  t.match(await cases.read(kept.id), { status: 'scheduled' });
});

/** By Postgres' clock. */
async function timeIn(ms: number): Promise<string> {
  const [row] = await database.query(
    statement<[ms: number], { at: string }>('test-time')`
    SELECT clock_timestamp() + $1 * interval '1 millisecond' AS at`,
    ms,
  );
  return row!.at;
}

async function outcomeOf(id: string): Promise<MessageOutcome> {
  return (await app.call<MessageOutcome>('GET', `/v1/messaging/messages/${id}/outcome`)).body;
}

async function edit(id: string, body: object): Promise<ChatMessage> {
  return message(
    await app.call('PATCH', `/v1/messaging/messages/${id}`, { token: grace.access_token, body }),
    200,
  );
}

/** A socket, subscribed to the conversation. */
async function listen(token: string, conversationId?: string): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': demo.service_version,
    'Service-Account': demo.account_id,
  };
  const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => client.close());
  await client.frame('ready');
  if (conversationId !== undefined) await client.request('subscribe', { conversation_id: conversationId });
  return client;
}

function eventOf(client: Client, event: string, id: string) {
  return client.frame((frame) => frame.event === event && frame.data?.id === id);
}
