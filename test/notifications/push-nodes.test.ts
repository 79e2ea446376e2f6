/** Web push over two nodes, one of which is killed while it sends. */

import t from 'tap';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createGroup, Load, startCluster } from '../support/cluster.ts';
import { startPushService } from '../support/push-service.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const service = await startPushService(t);
const cluster = await startCluster(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const database = await openDatabase({ url: cluster.databaseUrl, log });
t.teardown(() => database.close());

t.test('every notification is pushed, although a node dies with pushes under way', async (t) => {
  const [dying, other] = cluster.nodes;
  const { grace } = other.demo.users;
  const conversationId = await createGroup(dying, 'Pier');
  const [browser, desk] = [service.browser(), service.browser()];
  // The first node keeps in memory that no user has subscribed, and the subscriptions are made on
  // the other one.
  await dying.send(conversationId, { body: 'before' });
  for (const one of [browser, desk]) {
    const newest = other.at('1.2.harbor');
    const path = '/v1/messaging/push-subscriptions';
    t.equal((await newest.call('POST', path, one.toJSON(), grace.access_token)).status, 201);
  }
  desk.answers = 'silence';
  const load = new Load(t, () => dying, conversationId, { label: 'push', width: 8, pauseMs: 0 });
  await until(() => browser.received.length > 20 && desk.tries > 20, { what: 'pushes' });
  await dying.kill('SIGKILL');
  await load.stop();
  desk.answers = 201;
  const sent = load.acknowledged.length;
  t.ok(sent > 20);
  const pushed = (one: typeof browser) => new Set(one.received.map(({ payload }) => payload.notification_id));
  const wanted = async () => {
    // As after the leases of the node that has died.
    await database.query({
      name: 'test-end-leases',
      text: `UPDATE push_deliveries SET due_at = now() WHERE due_at > now() + interval '10 s'`,
    });
    const rows = await database.kysely
      .selectFrom('notifications as n')
      .innerJoin('messages as m', 'm.id', 'n.message_id')
      .select('n.id')
      .where('n.recipient_id', '=', grace.id)
      .where('m.conversation_id', '=', conversationId)
      .where('m.body', '<>', 'before')
      .execute();
    return rows.length >= sent ? rows.map(({ id }) => id) : undefined;
  };
  await until(
    async () => {
      const ids = await wanted();
      return [browser, desk].every((one) => ids?.every((id) => pushed(one).has(id)));
    },
    { what: 'every one of them' },
  );
  await until(
    async () =>
      (await database.kysely.selectFrom('push_deliveries').select('attempts').execute()).length === 0,
    {
      what: 'nothing to wait',
    },
  );
  t.strictSame(service.problems, []);
});
