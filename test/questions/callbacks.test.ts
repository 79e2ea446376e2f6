/**
 * Callbacks of questions: where workflows hear of their end
 * (docs/contract.md#callbacks-of-questions).
 */

import type { NewQuestionCallbacks } from '@parley/protocol/resources/question-callbacks.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { type Received, WebhookReceiver } from '../support/webhook-receiver.ts';
import { BUTTONS, NEWEST, Questions } from './asked.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo, database } = app;
const { ada, grace } = demo.users;
const questions = new Questions(app);
const { cases } = questions;
const PATH = '/v1/account/question-callbacks';
const YES = { revision: 1, option: 'yes' };
const KEY: CallOptions = { token: demo.api_key };
const id = await cases.conversation('internal');

const rotate = async () => {
  const { status, body, text } = await app.call<NewQuestionCallbacks>(
    'POST',
    `${PATH}/actions/rotate-secret`,
    NEWEST,
  );
  if (status !== 201) throw new Error(text);
  return body;
};
const withCallback = (callback_url: string) => ({ ...BUTTONS, callback_url });

t.test('the secret is shown once', async (t) => {
  const { body: none } = await app.call('GET', PATH, NEWEST);
  t.strictSame(none, {
    object: 'question_callbacks',
    has_secret: false,
    previous_secret_until: null,
    updated_at: null,
  });
  t.equal(
    refusalOf(await questions.ask(id, withCallback('http://127.0.0.1:1/a'), {}, KEY)),
    '409 resource_conflict question.callback_url',
    'no callback without a secret',
  );
  const { secret, ...made } = await rotate();
  t.match(secret, /^whsec_/);
  t.match(made, { has_secret: true, previous_secret_until: null });
  t.strictSame((await app.call('GET', PATH, NEWEST)).body, made);
  const again = await rotate();
  t.not(again.secret, secret);
  t.match(again.previous_secret_until, String);
  t.strictSame(
    (await app.call<{ data: object[] }>('GET', '/v1/webhooks', NEWEST)).body.data,
    [],
    'no webhook is listed',
  );
  for (const [method, path] of [
    ['GET', PATH],
    ['POST', `${PATH}/actions/rotate-secret`],
  ] as const) {
    const refused = await app.call(method, path, { ...NEWEST, token: grace.access_token });
    t.equal(refusalOf(refused), '403 insufficient_permissions null');
  }
});

t.test('who may have it posted, and where', async (t) => {
  const refused = async (url: string, expected: string, options: CallOptions = KEY) =>
    t.equal(refusalOf(await questions.ask(id, withCallback(url), {}, options)), expected, url);
  await refused('https://a.example/', '403 insufficient_permissions null', { token: grace.access_token });
  await refused('nowhere', '400 invalid_format question.callback_url');
  await refused('http://a.example/', '422 validation_failed question.callback_url');
  await refused('https://u:p@a.example/', '422 validation_failed question.callback_url');
  await refused('https://10.0.0.1/', '422 validation_failed question.callback_url');
  await refused(`https://a.example/${'x'.repeat(2_048)}`, '422 validation_failed question.callback_url');
});

t.test('the end of a question is posted once, signed, however it ends', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const { secret } = await rotate();
  const asked = [];
  for (const end of ['answered', 'withdrawn', 'deleted', 'expired']) {
    const sent = await questions.asked(id, withCallback(`${receiver.url}${end}`), {}, KEY);
    t.notMatch(JSON.stringify(sent), receiver.url, 'nobody is shown the address');
    asked.push(sent);
  }
  const [answered, withdrawn, deleted, expired] = asked;
  await questions.answered(answered!.id, YES);
  await questions.act('withdraw', withdrawn!.id, undefined, ada.access_token);
  await app.call('DELETE', `/v1/messaging/messages/${deleted!.id}`, { ...NEWEST, ...KEY });
  await database.kysely
    .updateTable('questions')
    .set({ expires_at: '2020-01-01T00:00:00Z' })
    .where('message_id', '=', expired!.id)
    .execute();
  const of = (path: string) => receiver.received.filter((one) => one.path.endsWith(path));
  await until(() => receiver.received.length >= 4, { what: 'the callbacks' });
  for (const [path, status, { id: message_id }] of [
    ['answered', 'answered', answered!],
    ['withdrawn', 'withdrawn', withdrawn!],
    ['deleted', 'withdrawn', deleted!],
    ['expired', 'expired', expired!],
  ] as const) {
    t.equal(of(path).length, 1, path);
    const [{ headers, text, event }] = of(path) as [Received];
    t.doesNotThrow(() => new Webhook(secret).verify(text, headers as Record<string, string>));
    t.equal(headers['service-version'], NEWEST_VERSION);
    t.match(event, { type: 'message.question_ended', conversation_id: id, data: { message_id, status } });
    const answer = status === 'answered' ? { by: ada.id, option: 'yes' } : null;
    t.match(event.data.answer, answer);
  }
});

t.test('it is tried again with the same id, and one address delays no other', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const failing = await questions.asked(id, withCallback(`${receiver.url}failing`), {}, KEY);
  let tries = 0;
  receiver.answer = () => (++tries === 1 ? 500 : 200);
  await questions.answered(failing.id, YES);
  await until(() => receiver.received.length === 1, { what: 'the first try' });
  await until(async () => (await deliveryOf(failing.id))?.attempts === 1, { what: 'its outcome' });
  await database.kysely
    .updateTable('webhook_deliveries')
    .set({ next_try_at: new Date().toISOString() })
    .where('resource_id', '=', failing.id)
    .execute();
  await until(() => receiver.received.length === 2, { what: 'the second try' });
  const [first, second] = receiver.received;
  t.equal(second!.headers['webhook-id'], first!.headers['webhook-id']);
  t.strictSame(second!.event.data, first!.event.data);
  await until(async () => (await deliveryOf(failing.id))?.status === 'delivered', { what: 'the end' });
  const { failing_since } = await database.kysely
    .selectFrom('webhooks')
    .select('failing_since')
    .where('is_callback', '=', true)
    .executeTakeFirstOrThrow();
  t.equal(failing_since, null);
});

function deliveryOf(messageId: string) {
  return database.kysely
    .selectFrom('webhook_deliveries')
    .select(['status', 'attempts'])
    .where('resource_id', '=', messageId)
    .executeTakeFirst();
}
