/** Two nodes that show the same rows: content that is withdrawn on one leaves the memory of the other. */

import t from 'tap';
import type { List } from '../../src/protocol/lists.ts';
import type { Notification } from '../../src/protocol/resources/notification.ts';
import { createGroup, startCluster } from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';
import { until } from '../support/until.ts';

const cluster = await startCluster(t);
const [writer, reader] = cluster.nodes;
const { ada, grace } = writer.demo.users;

for (const withdrawal of ['a deletion', 'an edit'] as const) {
  t.test(`notifications: ${withdrawal}`, async (t) => {
    const group = await createGroup(writer, withdrawal, ['ada', 'grace']);
    const { body: message } = await writer.send(group, { body: 'a secret' }, ada.access_token);
    const feed = () => feedOf(reader, grace.access_token);
    await until(async () => (await feed()).includes('a secret'), { what: 'the notification' });
    await feed();
    const before = await bytesOf(reader, 'notifications');
    t.ok(before > 0);

    const path = `/v1/messaging/messages/${message.id}`;
    const { status } =
      withdrawal === 'an edit'
        ? await writer.call('PATCH', path, { body: 'nothing' }, ada.access_token)
        : await writer.call('DELETE', path, undefined, ada.access_token);
    t.equal(status, 200);
    // No page is read meanwhile: the reader's node removes it without being asked for it.
    const isRemoved = async () => (await bytesOf(reader, 'notifications')) < before;
    await until(isRemoved, { what: 'less in memory' });
    await until(async () => !(await feed()).includes('a secret'), { what: 'the feed without it' });
  });
}

async function feedOf(node: TestNode, token: string): Promise<(string | null)[]> {
  const { status, body } = await node.call('GET', '/v1/messaging/notifications', undefined, token);
  if (status !== 200) throw new Error(`${status}`);
  return (body as unknown as List<Notification>).data.map((shown) => shown.body);
}

function bytesOf(node: TestNode, rows: string): Promise<number> {
  return node.metric(`parley_encoded_row_bytes{rows="${rows}"}`);
}
