/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, src/contract/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import { randomUUID } from 'node:crypto';
import t from 'tap';
import { deliveryProblems } from '../../support/check-delivery.ts';
import { checkCluster, onFreshGroup, startCluster } from '../../support/cluster.ts';
import type { Listener, TestNode } from '../../support/node.ts';
import { until } from '../../support/until.ts';

const shared = await startCluster(t);

t.test('2,000 concurrent sends over two nodes reach every subscriber once, in order', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId } = cluster;
  const listeners = await Promise.all([
    nodes[0].listen(conversationId),
    nodes[0].listen(conversationId, { token: nodes[0].demo.users.grace.access_token }),
    nodes[1].listen(conversationId),
    nodes[1].listen(conversationId, { token: nodes[1].demo.users.vera.access_token }),
  ]);
  const answers = await Promise.all(
    Array.from({ length: 2_000 }, (_, index) => sendAsClient(nodes[index % 2 === 0 ? 0 : 1], conversationId)),
  );
  t.equal(answers.filter(({ status }) => status === 201).length, 2_000);
  const sequences = answers.map(({ body }) => Number(body.sequence));
  t.equal(new Set(sequences).size, 2_000, 'no number twice');
  t.same(
    await checkCluster(
      cluster,
      listeners,
      answers.map((answer, index) => ({
        clientMessageId: '',
        sequence: sequences[index],
        status: answer.status,
      })),
    ),
    [],
  );
  for (const listener of listeners) t.equal(listener.created().length, 2_000);
  // Distinct ones, since a node that is stopped for seconds may publish again what another has
  // taken over. That of having been added to the group may come before or after the subscription.
  const notified = (listener: Listener) =>
    new Set(
      listener
        .notifications()
        .filter(({ data }) => data?.category !== 'chat.added')
        .map(({ data }) => data?.id),
    ).size;
  await until(() => listeners.every((listener) => notified(listener) >= 2_000), {
    what: 'a notification of every message on both nodes',
  });
  for (const listener of listeners) t.equal(notified(listener), 2_000, 'one notification a message');
});

t.test('twenty concurrent resends over two nodes make one message, and every caller gets it', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId } = cluster;
  const listener = await nodes[1].listen(conversationId);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      nodes[index % 2 === 0 ? 0 : 1].send(
        conversationId,
        { client_message_id: 'again', body: `attempt ${index}` },
        // One author: each node's key is an actor of its own.
        nodes[0].demo.users.ada.access_token,
      ),
    ),
  );
  t.same([...new Set(answers.map(({ status }) => status))], [201]);
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  t.equal(new Set(answers.map(({ body }) => body.body)).size, 1);
  t.same(await checkCluster(cluster, [listener], []), []);
  t.equal(listener.created().length, 1);
});

t.test('a subscriber that joins under load gets replay and live as one', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId } = cluster;
  const sends = Array.from({ length: 600 }, (_, index) =>
    sendAsClient(nodes[index % 2 === 0 ? 0 : 1], conversationId),
  );
  await sends[0];
  const listeners = await Promise.all([
    nodes[0].listen(conversationId, { afterSequence: 0 }),
    nodes[1].listen(conversationId, { afterSequence: 0 }),
  ]);
  await Promise.all(sends);
  t.same(await checkCluster(cluster, listeners, []), []);
  for (const listener of listeners) t.equal(listener.created().length, 600);
});

t.test('a draft that is approved on two nodes at once is sent once', async (t) => {
  const { nodes } = shared;
  const { demo } = nodes[0];
  const conversationId = demo.conversations.case;
  const token = demo.users.grace.access_token;
  const listeners = await Promise.all(nodes.map((node) => node.listen(conversationId)));
  const act = (node: TestNode, id: unknown, name: string, body: object = {}) =>
    node.call('POST', `/v1/messaging/messages/${id}/actions/${name}`, body, token);
  const draft = async (node: TestNode) => {
    const { body } = await node.send(conversationId, { mode: 'draft', channel: 'message' }, token);
    return body;
  };

  const sent: { status: number; body: Record<string, unknown> }[] = [];
  for (let round = 0; round < 6; round++) {
    const { id } = await draft(nodes[round % 2 === 0 ? 0 : 1]);
    const answers = await Promise.all([...nodes, ...nodes].map((node) => act(node, id, 'approve')));
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409, 409], `round ${round}`);
    sent.push(...answers.filter(({ status }) => status === 200));
  }
  // The customer writes through the other node at that moment: an approval that has not seen it is
  // refused.
  for (let round = 0; round < 6; round++) {
    const { id } = await draft(nodes[0]);
    const seen = sent.reduce((most, { body }) => Math.max(most, Number(body.sequence)), 0);
    const [approval, question] = await Promise.all([
      act(nodes[0], id, 'approve', { if_last_sequence: seen }),
      nodes[1].send(conversationId, {}, demo.customer.access_token),
    ]);
    t.equal(question.status, 201);
    sent.push(question);
    if (approval.status === 200) {
      t.ok(Number(approval.body.sequence) < Number(question.body.sequence), 'the customer came behind it');
      sent.push(approval);
    } else {
      t.match(approval, { status: 409, body: { error: { param: 'if_last_sequence' } } });
      await act(nodes[1], id, 'reject');
    }
  }
  const acknowledged = sent.map(({ body, status }) => ({
    ...{ clientMessageId: '', status },
    sequence: Number(body.sequence),
  }));
  t.strictSame(await checkCluster({ ...shared, conversationId }, listeners, acknowledged), []);
  for (const listener of listeners) {
    t.equal(listener.created().length, acknowledged.length, 'each approved draft came once');
  }
});

t.test('the checker finds what is wrong', async (t) => {
  const stored = [1, 2, 3, 4];
  t.same(deliveryProblems([1, 2, 3, 4], stored), []);
  for (const wrong of [
    [1, 2, 4],
    [1, 3, 2, 4],
    [1, 2, 2, 3, 4],
    [],
    [2, 3, 4],
    [1, 2, 3, 4, 5],
    [4, 3, 2, 1],
  ]) {
    t.not(deliveryProblems(wrong, stored).length, 0, JSON.stringify(wrong));
  }
});

/**
 * Repeats a send under its id while it is refused for a moment, as the nodes of a busy machine do.
 */
function sendAsClient(node: TestNode, conversationId: string): ReturnType<TestNode['send']> {
  const fields = { client_message_id: randomUUID() };
  return until(
    async () => {
      const answer = await node.send(conversationId, fields);
      return answer.status === 503 ? undefined : answer;
    },
    { what: 'a send that is not refused for a moment' },
  );
}
