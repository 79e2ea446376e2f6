/** Questions over two nodes: one answer counts, and what follows from it outlives its node. */

import t from 'tap';
import { createGroup, startCluster } from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';
import { until } from '../support/until.ts';
import { type Received, WebhookReceiver } from '../support/webhook-receiver.ts';
import { BUTTONS } from './asked.ts';

const cluster = await startCluster(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const nodes = cluster.nodes.map((node) => node.at('1.5.harbor-preview.1'));
const [one, other] = nodes as [TestNode, TestNode];
const { users } = one.demo;
const id = await createGroup(one, 'Questions');
const receiver = await WebhookReceiver.start(t);
await one.call('POST', '/v1/account/question-callbacks/actions/rotate-secret', {});

const ask = async (fields: object = {}) => {
  const sent = await one.send(id, { body: undefined, question: { ...BUTTONS, ...fields } });
  if (sent.status !== 201) throw new Error(JSON.stringify(sent.body));
  return String(sent.body.id);
};
const answer = (node: TestNode, messageId: string, option: string, token: string) =>
  node.call('POST', `/v1/messaging/messages/${messageId}/actions/answer`, { revision: 1, option }, token);

t.test('answers at the same moment on both nodes', async (t) => {
  const asked = await Promise.all(
    Array.from({ length: 20 }, (_, n) => ask({ callback_url: `${receiver.url}/${n}` })),
  );
  for (const [n, messageId] of asked.entries()) {
    const answers = await Promise.all([
      answer(one, messageId, 'yes', users.ada.access_token),
      answer(other, messageId, 'no', users.grace.access_token),
      answer(one, messageId, 'no', users.grace.access_token),
      answer(other, messageId, 'yes', users.ada.access_token),
    ]);
    const counted = answers.filter(({ status }) => status === 200);
    t.equal(counted.length, 1, `question ${n}`);
    t.strictSame(
      answers.filter((it) => it !== counted[0]).map(({ status }) => status),
      [409, 409, 409],
    );
    const shown = await other.call('GET', `/v1/messaging/messages/${messageId}`);
    t.strictSame(shown.body.question, counted[0]!.body.question);
    const called = await until(() => callsOf(n), { what: 'the callback' });
    t.match(called[0]!.event.data, { answer: (shown.body.question as { answer: object }).answer });
  }
  t.equal(receiver.received.length, asked.length, 'each is called once');
});

t.test('the callback of an answer whose node dies at once comes from the other node', async (t) => {
  const messageId = await ask({ callback_url: `${receiver.url}/killed` });
  receiver.answer = () => undefined;
  const { status } = await answer(other, messageId, 'yes', users.ada.access_token);
  const [first] = await until(() => callsOf('killed'), { what: 'the first try' });
  await other.kill('SIGKILL');
  receiver.answer = () => 200;
  t.equal(status, 200);
  const [, second] = await until(() => callsOf('killed', 2), { what: 'the try of the other node' });
  t.strictSame(second!.event, first!.event);
  t.equal(second!.headers['webhook-id'], first!.headers['webhook-id']);
});

/** Returns the calls of a path once there are so many. */
function callsOf(path: string | number, least = 1): Received[] | undefined {
  const calls = receiver.received.filter((call) => call.path === `/hook/${path}`);
  return calls.length >= least ? calls : undefined;
}
