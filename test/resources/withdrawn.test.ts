/** Two nodes that show the same rows: content withdrawn on one leaves the memory of the other. */

import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import t from 'tap';
import { createGroup, startCluster } from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';
import { until } from '../support/until.ts';

const cluster = await startCluster(t);
const [writer, reader] = cluster.nodes;
const { ada, grace } = writer.demo.users;

for (const withdrawal of ['a deletion', 'an edit'] as const) {
  t.test(`notifications: ${withdrawal}`, async () => {
    const group = await createGroup(writer, withdrawal, ['ada', 'grace']);
    const { body: message } = await writer.send(group, { body: 'a secret' }, ada.access_token);
    const feed = () => feedOf(reader, grace.access_token);
    await until(async () => (await feed()).includes('a secret'), { what: 'the notification' });
    const before = await bytesAfter(feed, 'notifications');

    await withdraw(withdrawal, `${message.id}`);
    // No page is read meanwhile: the reader's node removes it without being asked for it.
    const isRemoved = async () => (await bytesOf(reader, 'notifications')) < before;
    await until(isRemoved, { what: 'less in memory' });
    await until(async () => !(await feed()).includes('a secret'), { what: 'the feed without it' });
  });
}

for (const withdrawal of ['a deletion', 'an edit'] as const) {
  t.test(`messages: ${withdrawal}`, async (t) => {
    const group = await createGroup(writer, `${withdrawal} in a timeline`, ['ada', 'grace']);
    const { body: message } = await writer.send(group, { body: 'a secret' }, ada.access_token);
    const bodies = async () => (await reader.page(group, grace.access_token)).map(({ body }) => body);
    t.strictSame(await bodies(), ['a secret']);
    const before = await bytesAfter(bodies, 'messages');
    await withdraw(withdrawal, `${message.id}`);
    await until(async () => (await bytesOf(reader, 'messages')) < before, { what: 'less in memory' });
    t.strictSame(await bodies(), [withdrawal === 'an edit' ? 'nothing' : null]);
  });
}

async function withdraw(withdrawal: 'a deletion' | 'an edit', id: string): Promise<void> {
  const path = `/v1/messaging/messages/${id}`;
  const { status } =
    withdrawal === 'an edit'
      ? await writer.call('PATCH', path, { body: 'nothing' }, ada.access_token)
      : await writer.call('DELETE', path, undefined, ada.access_token);
  if (status !== 200) throw new Error(`${status}`);
}

async function feedOf(node: TestNode, token: string): Promise<(string | null)[]> {
  const { status, body } = await node.call('GET', '/v1/messaging/notifications', undefined, token);
  if (status !== 200) throw new Error(`${status}`);
  return (body as unknown as List<Notification>).data.map((shown) => shown.body);
}

/**
 * Reads until the reader's node keeps the rows in memory, and returns their bytes. A frame of the
 * message that arrives after a read removes again what that read kept.
 */
async function bytesAfter(read: () => Promise<unknown>, rows: string): Promise<number> {
  let bytes = 0;
  const areKept = async () => {
    await read();
    bytes = await bytesOf(reader, rows);
    return bytes > 0;
  };
  await until(areKept, { what: `${rows} in memory` });
  return bytes;
}

function bytesOf(node: TestNode, rows: string): Promise<number> {
  return node.metric(`parley_encoded_row_bytes{rows="${rows}"}`);
}
