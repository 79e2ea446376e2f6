/** How questions and answers go with messages, conversations and persons; their event. */

import { randomUUID } from 'node:crypto';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { purgePrefix } from '../../src/features/compliance/purge.ts';
import { holdings } from '../../src/features/questions/holdings.ts';
import { startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { BUTTONS, NEWEST, Questions } from './asked.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo, database } = app;
const { ada, grace } = demo.users;
const questions = new Questions(app);
const { cases } = questions;
const YES = { revision: 1, option: 'yes' };
const ANSWERED = { status: 'answered', answer: { by: ada.id, option: 'yes', values: null, revision: 1 } };

t.test('each end is an event of webhooks, once', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const created = await app.call('POST', '/v1/webhooks', {
    body: { url: receiver.url, event_types: ['message.question_ended'] },
    ...NEWEST,
  });
  t.equal(created.status, 201, created.text);
  const id = await cases.conversation('internal');
  const ends = () =>
    receiver.received.map(({ event }) => [event.data.message_id, event.data.status] as const);
  const [one, two, three, four] = [
    await questions.asked(id),
    await questions.asked(id),
    await questions.asked(id),
    await questions.asked(id),
  ];
  await questions.answered(one.id, YES);
  await questions.act('withdraw', two.id, undefined);
  await app.call('DELETE', `/v1/messaging/messages/${three.id}`, { ...NEWEST, token: grace.access_token });
  await database.kysely
    .updateTable('questions')
    .set({ expires_at: '2020-01-01T00:00:00Z' })
    .where('message_id', '=', four.id)
    .execute();
  await until(() => receiver.received.length >= 4, { what: 'the events' });
  const expected = [
    [one.id, 'answered'],
    [two.id, 'withdrawn'],
    [three.id, 'withdrawn'],
    [four.id, 'expired'],
  ];
  t.strictSame(ends().toSorted(), expected.toSorted());
  const { event, headers } = receiver.received.find(({ event: { data } }) => data.message_id === one.id)!;
  t.equal(event.type, 'message.question_ended');
  t.equal(event.conversation_id, id);
  t.equal(headers['service-version'], NEWEST_VERSION);
  t.match(event.data, { object: 'question_end', conversation_id: id, ...ANSWERED });
  t.equal(event.timestamp, event.data.ended_at);
  t.equal(new Set(receiver.received.map(({ headers: { 'webhook-id': of } }) => of)).size, 4);
});

t.test('an area has the event from the version of the webhook on', async (t) => {
  const add = async (version: string, filter: string) => {
    const receiver = await WebhookReceiver.start(t);
    const body = { url: receiver.url, event_types: [filter] };
    const created = await app.call('POST', '/v1/webhooks', { body, headers: { 'Service-Version': version } });
    t.equal(created.status, 201, created.text);
    return () => receiver.received.map(({ event }) => event.type);
  };
  const [stable, all, newest] = [
    await add('1.4.harbor', 'message.*'),
    await add('1.4.harbor', '*'),
    await add(NEWEST_VERSION, 'message.*'),
  ];
  const { id } = await questions.asked(await cases.conversation('internal'));
  await questions.answered(id, YES);
  await until(() => newest().includes('message.question_ended'), { what: 'the end' });
  for (const received of [stable, all]) {
    await until(() => received().includes('message.updated'), { what: 'the answer' });
    t.notOk(received().includes('message.question_ended'));
  }
});

t.test('a conversation that is deleted withdraws what it asks', async (t) => {
  const id = await cases.conversation('internal');
  const [open, answered] = [await questions.asked(id), await questions.asked(id)];
  await questions.answered(answered.id, YES);
  const deleted = await app.call('DELETE', `/v1/messaging/conversations/${id}`, {
    token: ada.access_token,
    ...NEWEST,
  });
  t.equal(deleted.status, 200, deleted.text);
  await until(async () => (await rowOf(open.id))?.status === 'withdrawn', { what: 'the withdrawal' });
  t.equal((await rowOf(answered.id))?.status, 'answered');
  t.equal(await questions.refused('answer', open.id, YES), '410 resource_gone id');
});

t.test('a purge removes what was asked, and ends it', async (t) => {
  const id = await cases.conversation('internal');
  const sent = await questions.asked(id);
  await database.transaction((tx) => purgePrefix(tx, id, sent.sequence!));
  t.equal(await rowOf(sent.id), undefined);
  for (const [name, body] of [
    ['answer', YES],
    ['withdraw', undefined],
  ] as const) {
    t.equal(await questions.refused(name, sent.id, body), '404 resource_not_found id');
  }
});

t.test('answers of a customer are those of the person that it becomes', async (t) => {
  const { id, customerId, customerToken } = await cases.open();
  const sent = await questions.asked(id, BUTTONS, { audience: 'customer' });
  await questions.answered(sent.id, YES, customerToken);
  const named = await questions.asked(id, { ...BUTTONS, actor_ids: [customerId] }, { audience: 'customer' });
  const to = `act_${randomUUID()}`;
  const events: { readonly id: string }[] = [];
  await database.transaction((tx) =>
    holdings.movePerson!(tx, { from: customerId, to, conversationIds: [id], events: events as never }),
  );
  t.equal((await questions.read(sent.id)).question.answer?.by, to);
  t.strictSame((await questions.read(named.id)).question.actor_ids, [to]);
  t.strictSame(
    events.map((event) => event.id),
    [sent.id, named.id],
  );
});

t.test('an erasure with messages removes what the person answered, except under legal hold', async (t) => {
  const [held, free] = [await cases.conversation('internal'), await cases.conversation('internal')];
  const [kept, gone] = [await questions.asked(held), await questions.asked(free)];
  for (const { id } of [kept, gone]) await questions.answered(id, YES);
  await cases.set(held, { legal_hold: 'held' });
  const person = { accountId: demo.account_id, id: ada.id, names: [], texts: [], title: null };
  const { signal } = new AbortController();
  await holdings.erasePerson!(database, { ...person, removesMessages: false, signal });
  t.match((await questions.read(gone.id)).question, ANSWERED);
  await holdings.erasePerson!(database, { ...person, removesMessages: true, signal });
  t.match((await questions.read(gone.id)).question, {
    status: 'answered',
    answer: { by: ada.id, option: null, values: null },
  });
  t.match((await questions.read(kept.id)).question, ANSWERED, 'under legal hold');
});

async function rowOf(messageId: string) {
  return database.kysely
    .selectFrom('questions')
    .select('status')
    .where('message_id', '=', messageId)
    .executeTakeFirst();
}
