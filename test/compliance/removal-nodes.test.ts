/**
 * Content that one node redacts or deletes is gone on the other: over REST, on open sockets, and on
 * sockets that come back.
 */

import { connect, type Message } from '@parley/client';
import t from 'tap';
import { createGroup, startCluster } from '../support/cluster.ts';
import { Listener, type TestNode } from '../support/node.ts';
import { until } from '../support/until.ts';

const cluster = await startCluster(t);
const [one, other] = cluster.nodes;

const client = connect({
  url: other.baseUrl,
  account: other.demo.account_id,
  version: '1.2.harbor',
  token: other.demo.users.ada.access_token,
});
t.teardown(() => client.close());

t.test('a redaction reaches the readers of every node', async (t) => {
  const id = await createGroup(one, 'Redacted');
  const updates: Message[] = [];
  client.subscribe(id, {
    afterSequence: 0,
    onMessage: () => {},
    onUpdate: (message) => updates.push(message),
  });
  const listening = await other.listen(id);
  const { body: sent } = await one.send(id, { body: 'mackerel 1' });
  await until(() => listening.created().length === 1, { what: 'the message' });
  const { cursor } = listening;
  // Both times from memory: the second page has its rows kept.
  for (let page = 0; page < 3; page++) await other.page(id);
  const { status } = await call(one, 'POST', `/v1/messaging/messages/${sent.id}/actions/redact`, {
    reason: 'It names a patient.',
  });
  t.equal(status, 200);
  await until(() => listening.frames.some(({ event }) => event === 'message.updated'), {
    what: 'its tombstone',
  });
  t.equal((await other.page(id))[0]?.body, null);
  await until(() => updates.length > 0, { what: 'the tombstone in the SDK' });
  t.match(updates[0], { id: sent.id, body: null, redaction: { reason: 'It names a patient.' } });
  const late = await other.listen(id, { afterSequence: 0 });
  const back = await other.listen(id, { cursor, afterSequence: 0 });
  for (const listener of [late, back]) {
    t.equal(listener.created()[0]?.data?.body, null);
    t.notMatch(JSON.stringify(listener.frames), 'mackerel');
  }
});

t.test('a deletion and a restore reach the readers of every node', async (t) => {
  const id = await createGroup(one, 'Deleted');
  const listening = await other.listen(id);
  const ends: unknown[] = [];
  const removals: unknown[] = [];
  client.on('conversation.removed', (lost) => void removals.push(lost));
  client.subscribe(id, { afterSequence: 0, onMessage: () => {}, onEnd: (why) => ends.push(why) });
  await one.send(id, { body: 'mackerel 2' });
  await until(() => listening.created().length === 1, { what: 'the message' });
  const { cursor } = listening;
  const path = `/v1/messaging/conversations/${id}`;
  t.equal((await call(one, 'DELETE', path)).status, 200);
  const removed = await until(() => listening.frames.find(({ event }) => event === 'conversation.removed'), {
    what: 'conversation.removed',
  });
  t.match(removed.data, { id });
  await until(() => listening.frames.some(({ reason }) => reason === 'revoked'), {
    what: 'the end of the stream',
  });
  await until(() => ends.length > 0 && removals.length > 0, { what: 'the end in the SDK' });
  t.strictSame([ends[0], removals[0]], ['revoked', { id, object: 'conversation', reason: 'deleted' }]);
  t.equal((await other.send(id)).status, 410);
  t.equal((await other.call('GET', path)).status, 410);
  const back = await Listener.open(other, id, { cursor, afterSequence: 1 });
  t.match(
    back.frames.filter(({ event }) => event === 'conversation.removed').at(-1)?.data,
    { id },
    'a resume',
  );
  t.equal(back.created().length, 0);
  t.equal((await call(other, 'POST', `${path}/actions/restore`)).status, 200);
  await until(async () => (await one.send(id)).status === 201, { what: 'a send after the restore' });
  await until(() => back.frames.some(({ event }) => event === 'conversation.added'), {
    what: 'conversation.added',
  });
});

/** In the version that has these endpoints; the sockets speak the version before. */
async function call(node: TestNode, method: string, path: string, body?: object): Promise<Response> {
  const headers = { ...node.headers(), 'Service-Version': '1.2.harbor' };
  const response = await fetch(`${node.baseUrl}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  await response.arrayBuffer();
  return response;
}
