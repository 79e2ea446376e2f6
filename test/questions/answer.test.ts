/** Questions of messages, and their answers (docs/contract.md#questions). */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { user } from '../messages/cases.ts';
import { borrowTestApp, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { visitorsOf } from '../widgets/fixture.ts';
import { BUTTONS, NEWEST, Questions } from './asked.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const questions = new Questions(app);
const { cases } = questions;
const FORBIDDEN = '403 insufficient_permissions null';
const CONFLICT = '409 resource_conflict null';
const YES = { revision: 1, option: 'yes' };
const FORM = {
  text: 'How many?',
  type: 'form',
  fields: [
    { name: 'count', type: 'number', minimum: 1, maximum: 10, required: true },
    { name: 'why', type: 'text', label: 'Why?', max_length: 10 },
    { name: 'sure', type: 'boolean' },
    { name: 'where', type: 'select', options: [{ value: 'pier', label: 'The pier' }, { value: 'dock' }] },
  ],
};

t.test('a question is shown as asked, with a body for those that know no questions', async (t) => {
  const id = await cases.conversation('internal');
  const sent = await questions.asked(id);
  t.match(sent, {
    body: 'Shall we sail?\n\n- Yes, now\n- no',
    question: {
      type: 'buttons',
      text: 'Shall we sail?',
      options: [
        { value: 'yes', label: 'Yes, now' },
        { value: 'no', label: 'no' },
      ],
      fields: null,
      answerable_by: 'readers',
      actor_ids: null,
      revision: 1,
      status: 'open',
      ended_at: null,
      answer: null,
    },
  });
  const days = (Date.parse(sent.question.expires_at) - Date.parse(sent.created_at)) / 86_400_000;
  t.ok(days > 6.9 && days < 7.1, 'it is open for a week by default');
  t.strictSame(await questions.read(sent.id), sent);
  t.equal((await cases.read(sent.id)).question, undefined, 'a stable version has none');
  t.equal((await questions.asked(id, BUTTONS, { body: 'Well?' })).body, 'Well?', 'a body of its own');
  const form = await questions.asked(id, FORM);
  t.equal(form.body, 'How many?\n\n- count\n- Why?\n- sure\n- where: The pier / dock');
  t.match(form.question.fields, [
    {
      name: 'count',
      label: 'count',
      required: true,
      minimum: 1,
      maximum: 10,
      max_length: null,
      options: null,
    },
    { name: 'why', label: 'Why?', required: false, max_length: 10 },
    { name: 'sure', type: 'boolean', max_length: null },
    {
      name: 'where',
      options: [
        { value: 'pier', label: 'The pier' },
        { value: 'dock', label: 'dock' },
      ],
    },
  ]);
  t.equal((await cases.sent(id, {}, NEWEST)).question, null);
  const again = { client_message_id: randomUUID() };
  t.equal((await questions.asked(id, BUTTONS, again)).id, (await questions.asked(id, FORM, again)).id);
});

t.test('it is answered once, by whichever comes first', async (t) => {
  const sent = await questions.asked(await cases.conversation('internal'));
  const tokens = [ada.access_token, demo.api_key];
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      questions.act('answer', sent.id, { revision: 1, option: n % 2 ? 'yes' : 'no' }, tokens[n % 2]),
    ),
  );
  const won = answers.filter(({ status }) => status === 200);
  t.equal(won.length, 1);
  const [first] = won;
  for (const answer of answers) if (answer !== first) t.equal(refusalOf(answer), CONFLICT);
  const shown = await questions.read(sent.id);
  t.strictSame((first!.body as unknown as typeof shown).question, shown.question);
  const { by, at } = shown.question.answer!;
  t.match(shown.question, { status: 'answered', ended_at: at, answer: { revision: 1, values: null } });
  t.strictSame(
    (await cases.audited(sent.conversation_id!)).map(({ action, actor_id }) => [action, actor_id]),
    [['message.question_answered', by]],
  );
  t.equal(await questions.refused('withdraw', sent.id, undefined, grace.access_token), CONFLICT);
});

t.test('a form takes what it asked for', async (t) => {
  const id = await cases.conversation('internal');
  const sent = await questions.asked(id, FORM);
  const refused = async (values: unknown, expected: string, rest: object = {}) =>
    t.equal(await questions.refused('answer', sent.id, { revision: 1, values, ...rest }), expected);
  await refused(undefined, '400 missing_field values');
  await refused({}, '400 missing_field values.count');
  await refused(undefined, '422 validation_failed option', { option: 'yes' });
  await refused({ count: 3 }, '422 validation_failed values', { option: 'yes' });
  await refused({ count: 0 }, '422 validation_failed values.count');
  await refused({ count: 11 }, '422 validation_failed values.count');
  await refused({ count: '3' }, '400 invalid_format values.count');
  await refused({ count: 3, sure: 'yes' }, '400 invalid_format values.sure');
  await refused({ count: 3, sure: '' }, '400 invalid_format values.sure');
  await refused({ count: 3, why: 4 }, '400 invalid_format values.why');
  await refused({ count: 3, why: 'eleven char' }, '422 validation_failed values.why');
  await refused({ count: 3, where: 'sea' }, '422 validation_failed values.where');
  await refused({ count: 3, other: 1 }, '422 validation_failed values.other');
  await refused({ count: 3, __proto__: 1, constructor: 1 }, '422 validation_failed values.constructor');
  await refused({ count: 3, 'No!': 1 }, '422 validation_failed values');
  await refused({ count: null }, '400 missing_field values.count');
  await refused({ count: { $gt: 1 } }, '400 invalid_format values.count');
  await refused([3], '400 invalid_format values');
  await refused({ count: 3, why: 'a\u0000b' }, '400 invalid_format values.why');
  await refused({ count: 3 }, '422 validation_failed extra', { extra: 1 });
  const huge = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, 1]));
  await refused(huge, '422 validation_failed values');
  await refused({ count: 3, why: 'x'.repeat(100_000) }, '422 validation_failed values.why');
  const values = { count: 3, why: ' ', sure: false, where: 'dock' };
  const { question } = await questions.answered(sent.id, { revision: 1, values });
  t.strictSame(question.answer?.values, { count: 3, sure: false, where: 'dock' });
  t.equal(question.answer?.option, null);

  const select = await questions.asked(id, { ...BUTTONS, type: 'select' });
  const of = (body: object) => questions.refused('answer', select.id, { revision: 1, ...body });
  t.equal(await of({}), '400 missing_field option');
  t.equal(await of({ option: 'maybe' }), '422 validation_failed option');
  t.equal(await of({ values: {} }), '422 validation_failed values');
  t.equal(await of({ revision: 0, option: 'yes' }), '422 validation_failed revision');
  t.equal(await questions.refused('answer', select.id, { option: 'yes' }), '400 missing_field revision');
});

t.test('a question that could not be asked is refused', async (t) => {
  const { id, customerId } = await cases.open(user(vera.id, 'viewer'));
  const wrong: readonly (readonly [question: object, expected: string, fields?: object])[] = [
    [{}, '400 missing_field question.text'],
    [{ ...BUTTONS, text: ' ' }, '422 validation_failed question.text'],
    [{ ...BUTTONS, text: 'x'.repeat(2_001) }, '422 validation_failed question.text'],
    [{ ...BUTTONS, type: 'poll' }, '422 validation_failed question.type'],
    [{ ...BUTTONS, options: undefined }, '400 missing_field question.options'],
    [{ ...BUTTONS, options: [] }, '422 validation_failed question.options'],
    [{ ...BUTTONS, fields: FORM.fields }, '422 validation_failed question.fields'],
    [{ ...BUTTONS, more: 1 }, '422 validation_failed question.more'],
    [
      { ...BUTTONS, options: [{ value: 'a' }, { value: 'a' }] },
      '422 validation_failed question.options[1].value',
    ],
    [{ ...BUTTONS, options: [{ value: 'a\nb' }] }, '422 validation_failed question.options[0].value'],
    [
      { ...BUTTONS, options: Array.from({ length: 26 }, (_, n) => ({ value: `${n}` })) },
      '422 validation_failed question.options',
    ],
    [{ ...FORM, fields: undefined }, '400 missing_field question.fields'],
    [{ ...FORM, options: BUTTONS.options }, '422 validation_failed question.options'],
    [{ ...FORM, fields: [FORM.fields[0], FORM.fields[0]] }, '422 validation_failed question.fields[1].name'],
    [form({ name: 'Count', type: 'text' }), '422 validation_failed question.fields[0].name'],
    [form({ name: 'a', type: 'select' }), '400 missing_field question.fields[0].options'],
    [
      form({ name: 'a', type: 'text', options: BUTTONS.options }),
      '422 validation_failed question.fields[0].options',
    ],
    [form({ name: 'a', type: 'text', minimum: 1 }), '422 validation_failed question.fields[0].minimum'],
    [
      form({ name: 'a', type: 'number', minimum: 2, maximum: 1 }),
      '422 validation_failed question.fields[0].maximum',
    ],
    [
      form({ name: 'a', type: 'number', max_length: 1 }),
      '422 validation_failed question.fields[0].max_length',
    ],
    [form({ name: 'a', type: 'text', max_length: 0 }), '422 validation_failed question.fields[0].max_length'],
    [
      form(
        ...Array.from({ length: 20 }, (_, n) => ({
          name: `f${n}`,
          type: 'select',
          options: Array.from({ length: 25 }, (_, o) => ({ value: `${o}`, label: 'x'.repeat(40) })),
        })),
      ),
      '422 validation_failed question',
    ],
    [{ ...BUTTONS, answerable_by: 'all' }, '422 validation_failed question.answerable_by'],
    [{ ...BUTTONS, answerable_by: 'actors' }, '400 missing_field question.actor_ids'],
    [{ ...BUTTONS, answerable_by: 'team', actor_ids: [ada.id] }, '422 validation_failed question.actor_ids'],
    [{ ...BUTTONS, answerable_by: 'customer' }, '422 validation_failed question.answerable_by'],
    [{ ...BUTTONS, actor_ids: [grace.id] }, '422 validation_failed question.actor_ids[0]'],
    [{ ...BUTTONS, actor_ids: [ada.id, ada.id] }, '422 validation_failed question.actor_ids[1]'],
    [{ ...BUTTONS, actor_ids: [vera.id] }, '422 validation_failed question.actor_ids[0]'],
    [{ ...BUTTONS, actor_ids: [customerId] }, '422 validation_failed question.actor_ids[0]'],
    [{ ...BUTTONS, actor_ids: [newId('actor')] }, '422 validation_failed question.actor_ids[0]'],
    [{ ...BUTTONS, expires_at: '2020-01-01T00:00:00Z' }, '422 validation_failed question.expires_at'],
    [{ ...BUTTONS, expires_at: 'soon' }, '400 invalid_format question.expires_at'],
    [BUTTONS, '422 validation_failed question', { mode: 'draft', channel: 'message' }],
    [
      BUTTONS,
      '422 validation_failed question',
      { scheduled_at: new Date(Date.now() + 60_000).toISOString() },
    ],
  ];
  for (const [question, expected, fields] of wrong) {
    t.equal(
      refusalOf(await questions.ask(id, question, fields)),
      expected,
      JSON.stringify(question).slice(0, 200),
    );
  }
  t.equal(refusalOf(await cases.send(id, { question: BUTTONS })), '422 validation_failed question', 'at 1.4');
});

t.test('who may answer', async (t) => {
  const { id, customerId, customerToken } = await cases.open(user(vera.id, 'viewer'));
  const [note, reply] = [
    await questions.asked(id),
    await questions.asked(id, BUTTONS, { audience: 'customer' }),
  ];
  const answer = (asked: { readonly id: string }, token: string) =>
    questions.refused('answer', asked.id, YES, token);
  t.equal(await answer(note, grace.access_token), FORBIDDEN, 'not its author');
  t.equal(await answer(note, vera.access_token), FORBIDDEN, 'no viewer');
  t.equal(await answer(note, customerToken), '404 resource_not_found id', 'a note is nothing to a customer');
  for (const name of ['answer', 'withdraw'] as const) {
    const headers = { Authorization: undefined };
    t.match(
      await questions.refused(name, note.id, name === 'answer' ? YES : undefined, '', { headers }),
      /^401/,
    );
  }
  t.equal(await answer({ id: newId('message') }, ada.access_token), '404 resource_not_found id');
  t.equal(await answer(await cases.sent(id), ada.access_token), CONFLICT, 'a message that asks nothing');

  const shown = await questions.read(reply.id, customerToken);
  t.match(shown.question, { status: 'open', actor_ids: null });
  const lanes = await cases.lanes(id);
  const own = await questions.answered(reply.id, YES, customerToken);
  t.not((await cases.lanes(id))[0], lanes[0], 'a customer that answers moves the case');
  t.match(own.question, { status: 'answered', answer: { by: null, option: 'yes' } });
  t.equal((await questions.read(reply.id)).question.answer?.by, customerId);

  const external = (question: object) =>
    questions.asked(id, { ...BUTTONS, ...question }, { audience: 'customer' });
  const toTeam = await external({ answerable_by: 'team' });
  t.equal(await answer(toTeam, customerToken), FORBIDDEN);
  t.equal((await questions.answered(toTeam.id, YES)).question.answer?.by, ada.id);
  t.equal(
    (await questions.read(toTeam.id, customerToken)).question.answer?.by,
    null,
    'the team has no names',
  );
  const toCustomer = await external({ answerable_by: 'customer' });
  t.equal(await answer(toCustomer, ada.access_token), FORBIDDEN);
  t.equal((await questions.answered(toCustomer.id, YES, customerToken)).question.answer?.by, customerId);
  const toActors = await external({ actor_ids: [ada.id, customerId] });
  t.equal(toActors.question.answerable_by, 'actors');
  t.strictSame((await questions.read(toActors.id, customerToken)).question.actor_ids, null);
  t.equal(await answer(toActors, demo.api_key), FORBIDDEN);
  t.equal((await questions.answered(toActors.id, YES)).question.status, 'answered');
  t.equal(
    refusalOf(await questions.ask(id, BUTTONS, {}, { token: customerToken })),
    '422 validation_failed question',
    'customers ask nothing',
  );
  t.equal(await questions.refused('withdraw', (await external({})).id, undefined, customerToken), FORBIDDEN);
});

t.test('a visitor answers by the token of a widget', async (t) => {
  const visitors = visitorsOf(app);
  const shop = await visitors.widget();
  const [ann, bob] = [await visitors.visitor(shop), await visitors.visitor(shop)];
  const { id } = await visitors.openCase(ann.access_token);
  const asks = { audience: 'customer' };
  const key = { token: demo.api_key };
  const sent = await questions.asked(id, { ...BUTTONS, answerable_by: 'customer' }, asks, key);
  const note = await questions.asked(id, BUTTONS, {}, key);
  const missing = '404 resource_not_found id';
  t.equal(await questions.refused('answer', sent.id, YES, bob.access_token), missing);
  t.equal(await questions.refused('answer', note.id, YES, ann.access_token), missing);
  t.match((await questions.answered(sent.id, YES, ann.access_token)).question, {
    status: 'answered',
    answer: { by: ann.customer_id, option: 'yes' },
  });
  t.equal(await questions.refused('answer', sent.id, YES, ann.access_token), CONFLICT);
});

t.test('those that are asked are notified', async (t) => {
  const id = await cases.conversation('internal');
  const sent = await questions.asked(id, { ...BUTTONS, actor_ids: [ada.id] });
  t.strictSame(sent.mentions, [ada.id]);
  const categories = async () =>
    database.kysely
      .selectFrom('notifications')
      .select(['category', 'recipient_id'])
      .where('message_id', '=', sent.id)
      .execute();
  await until(async () => (await categories()).length > 0, { what: 'the notification' });
  t.strictSame(await categories(), [{ category: 'chat.mention', recipient_id: ada.id }]);
});

t.test('an edit needs another answer', async (t) => {
  const sent = await questions.asked(await cases.conversation('internal'));
  const edit = (body: object) =>
    app.call('PATCH', `/v1/messaging/messages/${sent.id}`, { token: grace.access_token, body, ...NEWEST });
  await edit({ metadata: { a: 'b' } });
  t.equal((await questions.read(sent.id)).question.revision, 1, 'metadata is nothing that people see');
  await edit({ body: 'Shall we sink?' });
  const edited = await questions.read(sent.id);
  t.equal(edited.question.revision, 2);
  t.equal(await questions.refused('answer', sent.id, YES), '409 resource_conflict revision');
  const { question } = await questions.answered(sent.id, { ...YES, revision: 2 });
  t.equal(question.answer?.revision, 2);
  await edit({ body: 'Shall we sail?' });
  t.strictSame((await questions.read(sent.id)).question, question, 'an answer stays what it is');
});

t.test('a question is withdrawn, once', async (t) => {
  const id = await cases.conversation('internal', user(vera.id));
  const sent = await questions.asked(id);
  t.equal(await questions.refused('withdraw', sent.id, undefined, vera.access_token), FORBIDDEN);
  for (const token of [grace.access_token, ada.access_token]) {
    const answer = await questions.act('withdraw', sent.id, undefined, token);
    t.equal(answer.status, 200);
    t.match(answer.body, { question: { status: 'withdrawn', answer: null } });
  }
  t.equal(await questions.refused('answer', sent.id, YES), CONFLICT);
  t.strictSame(
    (await cases.audited(id)).map(({ action }) => action),
    ['message.question_withdrawn'],
  );
  t.equal(
    await questions.refused('withdraw', (await cases.sent(id)).id, undefined, ada.access_token),
    CONFLICT,
  );
});

t.test('a question expires, and its end decides against an answer', async (t) => {
  const id = await cases.conversation('internal');
  const sent = await questions.asked(id);
  const past = `2020-01-01T00:00:00.000000Z`;
  const overdue = await database.transaction(async (tx) => {
    // The expiry waits for the message, so that the answer below meets an overdue question.
    await tx.kysely.selectFrom('messages').select('id').where('id', '=', sent.id).forUpdate().execute();
    await tx.kysely
      .updateTable('questions')
      .set({ expires_at: past })
      .where('message_id', '=', sent.id)
      .execute();
    return sent.id;
  });
  t.equal(await questions.refused('answer', overdue, YES), CONFLICT);
  const isExpired = async () => (await questions.read(sent.id)).question.status === 'expired';
  await until(isExpired, { what: 'the end of the question' });
  t.match((await questions.read(sent.id)).question, { answer: null, ended_at: String });
});

t.test('a message that is deleted or redacted asks nothing', async (t) => {
  const id = await cases.conversation('internal');
  const [open, closed] = [await questions.asked(id, FORM), await questions.asked(id, FORM)];
  await questions.answered(closed.id, { revision: 1, values: { count: 2, why: 'rust' } });
  await app.call('DELETE', `/v1/messaging/messages/${open.id}`, { token: grace.access_token });
  const reason = { token: ada.access_token, body: { reason: 'a name' }, ...NEWEST };
  const redacted = await app.call('POST', `/v1/messaging/messages/${closed.id}/actions/redact`, reason);
  t.equal(redacted.status, 200, redacted.text);
  for (const { id: gone } of [open, closed]) {
    t.equal((await questions.read(gone)).question, null);
    t.equal(
      await questions.refused('answer', gone, { revision: 1, values: { count: 1 } }),
      '410 resource_gone id',
    );
  }
  const rows = await database.kysely
    .selectFrom('questions')
    .select(['status', 'expires_at'])
    .where('conversation_id', '=', id)
    .orderBy('status')
    .execute();
  t.strictSame(rows, [
    { status: 'answered', expires_at: null },
    { status: 'withdrawn', expires_at: null },
  ]);
});

t.test('places that are closed', async (t) => {
  const { id, customerId, customerToken } = await cases.open();
  const sent = await questions.asked(id, BUTTONS, { audience: 'customer' });
  await app.call('POST', `/v1/messaging/actors/${customerId}/actions/block`, {
    token: ada.access_token,
    ...NEWEST,
  });
  t.equal(await questions.refused('answer', sent.id, YES, customerToken), FORBIDDEN, 'a blocked customer');
  const archived = await app.call('PATCH', `/v1/messaging/conversations/${id}`, {
    token: ada.access_token,
    body: { status: 'archived' },
  });
  t.equal(archived.status, 200);
  t.equal(await questions.refused('answer', sent.id, YES), CONFLICT, 'an archived conversation');
  const left = await cases.conversation('internal');
  const asked = await questions.asked(left, BUTTONS, {}, { token: ada.access_token });
  const { body } = await app.call<{ participants: { id: string; actor: { id: string } }[] }>(
    'GET',
    `/v1/messaging/conversations/${left}?include[]=participants`,
  );
  const own = body.participants.find(({ actor }) => actor.id === grace.id)!;
  await app.call('DELETE', `/v1/messaging/conversations/${left}/participants/${own.id}`, {
    token: ada.access_token,
  });
  const missing = '404 resource_not_found id';
  t.equal(
    await questions.refused('answer', asked.id, YES, grace.access_token),
    missing,
    'one that was removed',
  );
});

t.test('a replay has the same answer', async (t) => {
  const sent = await questions.asked(await cases.conversation('internal'));
  const key = { headers: { 'Idempotency-Key': randomUUID() } };
  const [first, second] = [
    await questions.act('answer', sent.id, YES, undefined, key),
    await questions.act('answer', sent.id, YES, undefined, key),
  ];
  t.equal(first.status, 200);
  t.equal(second.text, first.text);
  t.equal(second.headers.get('Idempotent-Replayed'), 'true');
});

function form(...fields: object[]): object {
  return { ...FORM, fields };
}
