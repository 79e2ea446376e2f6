/**
 * The notifications of the SDK against the real server: a feed that stays right, and its counts.
 */

import { isDeepStrictEqual } from 'node:util';
import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { Random } from '../../../test/support/random.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { type Client, connect, type Notifications } from '../index.ts';
import type { NotificationQuery } from '../notifications/feed-snapshot.ts';
import { openNetwork } from './network.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace } = demo.users;
const PATH = '/v1/messaging/notifications';
const NEW = { headers: { 'Service-Version': NEWEST_VERSION } };
const BY_GRACE = { ...NEW, token: grace.access_token };

t.test('it is paged, grows at the top, and marks are followed on every device', async (t) => {
  for (let n = 0; n < 5; n++) await notify(`first ${n}`);
  const [client, other] = [open(t), open(t)];
  const feed = opened(t, client, { pageSize: 2 });
  const elsewhere = opened(t, other);
  await until(() => feed.snapshot.status === 'ready' && elsewhere.snapshot.summary !== null, {
    what: 'the feed',
  });
  t.strictSame(titlesOf(feed), ['first 4', 'first 3']);
  t.equal(feed.snapshot.hasMore, true);
  t.equal(await feed.loadMore(), true);
  t.strictSame(titlesOf(feed), ['first 4', 'first 3', 'first 2', 'first 1']);
  const known = feed.snapshot.notifications;

  await notify('second');
  await until(() => titlesOf(feed)[0] === 'second', { what: 'a new one' });
  t.equal(feed.snapshot.notifications[1], known[0], 'the others are the same objects');
  await until(() => feed.snapshot.summary?.unread === 6, { what: 'the count' });

  const { id } = feed.snapshot.notifications[0]!;
  await feed.markRead(id);
  t.match(feed.snapshot.notifications[0], { id, status: 'read' }, 'at once');
  await until(() => elsewhere.snapshot.notifications[0]?.status === 'read', { what: 'it on another device' });
  await until(() => elsewhere.snapshot.summary?.unread === 5, { what: 'the count there' });
  await elsewhere.markAll('seen');
  await until(() => feed.snapshot.notifications.every(({ status }) => status !== 'unseen'), {
    what: 'all seen',
  });
  await until(() => feed.snapshot.summary?.unseen === 0, { what: 'nothing unseen' });
  await elsewhere.dismiss(id);
  await until(() => !titlesOf(feed).includes('second'), { what: 'it is put away' });
  await t.rejects(feed.markRead(id), { name: 'ParleyError', code: 'resource_conflict' });
  await t.rejects(feed.markSeen('ntf_nothing'), { name: 'ParleyError', code: 'resource_not_found' });
});

t.test('messages notify with their sender; what is read or deleted is followed', async (t) => {
  const client = open(t);
  const feed = opened(t, client, { category: 'chat.message' });
  const unseen = opened(t, client, { category: 'chat.message', status: 'unseen' });
  await until(() => feed.snapshot.status === 'ready' && unseen.snapshot.status === 'ready', {
    what: 'the feeds',
  });
  const { direct } = demo.conversations;
  const by = { ...NEW, token: ada.access_token };
  const path = `/v1/messaging/conversations/${direct}/messages`;
  const sends = ['ahoy', 'aye'].map((body) =>
    app.call<{ id: string; sequence: number }>('POST', path, {
      ...by,
      body: { body, client_message_id: body },
    }),
  );
  const [erased, sent] = (await Promise.all(sends)).map(({ body }) => body) as [
    { id: string },
    { id: string; sequence: number },
  ];
  await until(() => feed.snapshot.notifications.length === 2, { what: 'the notifications' });
  await until(() => feed.snapshot.notifications[0]?.sender?.name === 'Ada Lovelace', { what: 'its sender' });
  t.equal(unseen.snapshot.notifications.length, 2);
  await app.call('PATCH', `/v1/messaging/messages/${sent.id}`, { ...by, body: { body: 'aye, aye' } });
  await app.call('DELETE', `/v1/messaging/messages/${erased.id}`, by);
  await until(() => feed.snapshot.notifications.length === 1, { what: 'one is withdrawn' });
  await until(() => feed.snapshot.notifications[0]?.body === 'aye, aye', { what: 'the edit' });
  await client.conversations.markRead(direct, sent.sequence);
  await until(() => feed.snapshot.notifications[0]?.status === 'read', { what: 'it is read' });
  await until(() => unseen.snapshot.notifications.length === 0, { what: 'it is not unseen' });
});

t.test('random changes over a connection that breaks end as a fresh feed', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const client = open(t, network.url);
  const feeds: [Notifications, string][] = [
    [opened(t, client, { pageSize: 100 }), ''],
    [opened(t, client, { pageSize: 100, status: 'unseen' }), '&status=unseen'],
    [opened(t, client, { pageSize: 5, category: 'order.updated' }), '&category=order.updated'],
  ];
  await until(() => feeds.every(([{ snapshot }]) => snapshot.status === 'ready'), { what: 'the feeds' });
  const random = new Random(20_261_126);
  for (let change = 0; change < 120; change++) {
    if (change % 30 === 20) network.cut();
    const { body } = await app.call<List<Notification>>('GET', `${PATH}?limit=20`, BY_GRACE);
    const move = random.pick(['see', 'read', 'dismiss', 'new', 'new', 'new', 'all']);
    if (move === 'new') await notify(`random ${change}`, random.pick(['order.updated', 'order.created']));
    else if (move === 'all')
      await app.call('POST', `${PATH}/actions/mark-all`, { ...BY_GRACE, body: { status: 'seen' } });
    else await app.call('POST', `${PATH}/${random.pick(body.data).id}/actions/${move}`, BY_GRACE);
  }
  for (const [feed, query] of feeds) {
    await until(
      async () => {
        const { body } = await app.call<List<Notification>>(
          'GET',
          `${PATH}?limit=100&include[]=sender${query}`,
          BY_GRACE,
        );
        const { notifications, hasMore } = feed.snapshot;
        const fresh = hasMore ? body.data.slice(0, notifications.length) : body.data;
        return notifications.length > 0 && isDeepStrictEqual(notifications, fresh);
      },
      { what: `the fresh feed ${query}` },
    );
  }
  await until(
    async () => {
      const { body } = await app.call('GET', `${PATH}/summary`, BY_GRACE);
      return feeds.every(([{ snapshot }]) => isDeepStrictEqual(snapshot.summary, body));
    },
    { what: 'the counts' },
  );
});

t.test('settings are read and replaced', async (t) => {
  const client = open(t);
  const settings = await client.setNotificationSettings({ digest_after_minutes: 30 });
  t.equal(settings.digest_after_minutes, 30);
  t.strictSame(await client.notificationSettings(), settings);
  await t.rejects(client.setNotificationSettings({ digest_after_minutes: 1 }), {
    name: 'ParleyError',
    code: 'validation_failed',
    param: 'digest_after_minutes',
  });
  const key = open(t, app.baseUrl, demo.api_key);
  await t.rejects(key.notificationSettings(), { name: 'ParleyError', code: 'insufficient_permissions' });
});

async function notify(title: string, category = 'order.updated'): Promise<void> {
  const body = { recipient_ids: [grace.id], category, title };
  const { status, text } = await app.call('POST', PATH, { ...NEW, body });
  if (status !== 201) throw new Error(text);
}

function titlesOf({ snapshot }: Notifications): readonly string[] {
  return snapshot.notifications.map(({ title }) => title);
}

function opened(t: Teardown, client: Client, query: NotificationQuery = {}): Notifications {
  const feed = client.notifications(query);
  t.teardown(() => feed.close());
  return feed;
}

function open(t: Teardown, url = app.baseUrl, token = grace.access_token): Client {
  const client = connect({ url, account: demo.account_id, token, mostWaitMs: 200 });
  t.teardown(() => client.close());
  return client;
}
