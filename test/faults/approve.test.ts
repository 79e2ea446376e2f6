import t from 'tap';
import { checkCluster, startCluster } from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';

t.test('a draft that is approved on two nodes at once is sent once', async (t) => {
  const cluster = await startCluster(t);
  const { nodes } = cluster;
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
  // The customer writes through the other node at that moment: an approval that has not seen it is refused.
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
  t.strictSame(await checkCluster({ ...cluster, conversationId }, listeners, acknowledged), []);
  for (const listener of listeners) {
    t.equal(listener.created().length, acknowledged.length, 'each approved draft came once');
  }
});
