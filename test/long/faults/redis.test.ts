/**
 * Faults of one Redis, and of the links to it, under two nodes: one cluster for all faults.
 *
 * Without influence: ASIDE, PAGES, ANSWERS, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/core/registration, src/features/mail,
 * src/platform/outbound.
 */

import { Redis } from 'ioredis';
import t from 'tap';
import { redisName } from '../../../src/platform/engine/partitions.ts';
import { delivery } from '../../campaigns/delivery.ts';
import { redisAway } from '../../campaigns/redis-away.ts';
import { checkCluster, Load, onFreshGroup, startClusterBehindLinks } from '../../support/cluster.ts';
import { until } from '../../support/until.ts';

const shared = await startClusterBehindLinks(t, 7);

t.test('FLUSHALL and a counter rewound by hand under load: no number twice, no error', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId, redis } = cluster;
  const client = new Redis(redis.url);
  t.teardown(() => client.disconnect());
  const listeners = await Promise.all([nodes[0].listen(conversationId), nodes[1].listen(conversationId)]);
  const loads = nodes.map((node, index) => new Load(t, () => node, conversationId, { label: `n${index}` }));
  const grown = (by: number) => {
    const target = loads[0]!.acknowledged.length + by;
    return until(() => loads[0]!.acknowledged.length >= target, { what: 'more sends' });
  };
  await grown(50);
  await redis.flushall();
  await grown(50);
  await client.set(redisName('seq', conversationId), '3');
  await grown(50);
  await client.set(redisName('seq', conversationId), 'not a number');
  await grown(50);
  await Promise.all(loads.map((load) => load.stop()));

  const sent = loads.flatMap((load) => load.sent);
  t.strictSame([...new Set(sent.map(({ status }) => status))], [201]);
  t.same(
    await checkCluster(
      cluster,
      listeners,
      loads.flatMap((load) => load.acknowledged),
    ),
    [],
  );
});

t.test('Redis restarted under load: both nodes send again', async (t) => {
  const cluster = await onFreshGroup(shared);
  const { nodes, conversationId, redis } = cluster;
  const listeners = await Promise.all([nodes[0].listen(conversationId), nodes[1].listen(conversationId)]);
  const loads = nodes.map((node, index) => new Load(t, () => node, conversationId, { label: `r${index}` }));
  await until(() => loads[1]!.acknowledged.length >= 50, { what: 'some sends' });
  await redis.kill();
  await redis.start();
  const before = loads.map((load) => load.acknowledged.length);
  await until(() => loads.every((load, index) => load.acknowledged.length > before[index]! + 10), {
    what: 'both nodes to send again',
  });
  await Promise.all(loads.map((load) => load.stop()));
  t.same(
    await checkCluster(
      cluster,
      listeners,
      loads.flatMap((load) => load.acknowledged),
    ),
    [],
  );
});

for (const fault of ['stopped', 'hung'] as const) {
  t.test(`Redis ${fault}: both nodes send, readers get everything, and all is well afterwards`, async (t) => {
    const cluster = await onFreshGroup(shared);
    const { nodes, conversationId, redis } = cluster;
    const listeners = await Promise.all(nodes.map((node) => node.listen(conversationId)));
    const send = async (client_message_id: string) => {
      // One author: each node's key is an actor of its own.
      const token = nodes[0].demo.users.ada.access_token;
      const answers = nodes.map((node) => node.send(conversationId, { client_message_id }, token));
      return (await Promise.all(answers)).map(({ status, body }) => `${status} ${body.id}`);
    };
    await nodes[0].send(conversationId);
    await until(() => listeners.every((listener) => listener.created().length === 1), { what: 'the first' });

    if (fault === 'stopped') await redis.stop();
    else redis.hang();
    for (let sent = 1; sent <= 5; sent++) {
      const answers = await send(`kept ${sent}`);
      t.match(answers[0], /^201 msg_/);
      t.equal(answers[1], answers[0], 'the resend on the other node is the same message');
      // The readers of the other node get it from Postgres.
      await until(() => listeners.every((listener) => listener.created().length === sent + 1), {
        what: 'all readers to have it',
      });
    }
    const late = await nodes[1].listen(conversationId, { afterSequence: 0 });
    await until(() => late.created().length === 6, { what: 'a subscription that begins meanwhile' });

    if (fault === 'stopped') await redis.start();
    else redis.resume();
    for (const node of nodes) {
      await until(async () => (await node.metric('parley_engine_healthy')) === 1, { what: 'the link' });
    }
    t.match((await send('afterwards'))[0], /^201 msg_/);
    t.same(await checkCluster(cluster, [...listeners, late], []), []);
    for (const listener of [...listeners, late]) {
      t.equal(listener.closeCode, undefined, 'the same socket all along');
      t.equal(listener.created().length, 7);
    }
  });
}

t.test('a short run of the delivery campaign', async (t) => {
  const figures = await delivery(t, {
    seed: 7,
    faults: ['some frames lost', 'restarted', 'all frames lost', 'hung'],
    cluster: await onFreshGroup(shared),
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.acknowledged > 100);
});

t.test('a short run of the campaign without Redis', async (t) => {
  const figures = await redisAway(t, {
    seed: 3,
    faults: ['cut off', 'killed', 'hung', 'wiped', 'cut off', 'wiped'],
    awayMs: 2_000,
    perSecond: 40,
    ground: { cluster: await onFreshGroup(shared) },
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.withoutCounters > 50);
  t.ok(figures.keysDeleted > 3);
});
