import { Redis } from 'ioredis';
import t from 'tap';
import { redisName } from '../../../src/platform/engine/channels.ts';
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
  t.same(
    [...new Set(sent.map(({ status }) => status))].filter((status) => status !== 201 && status !== 503),
    [],
    'nothing but a transient refusal',
  );
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
  t.test(`Redis ${fault}: 503, nothing half-written, and all is well afterwards`, async (t) => {
    const cluster = await onFreshGroup(shared);
    const { nodes, conversationId, redis } = cluster;
    const listener = await nodes[1].listen(conversationId);
    await nodes[0].send(conversationId);
    await until(() => listener.created().length === 1, { what: 'the first message' });

    if (fault === 'stopped') await redis.stop();
    else redis.hang();
    for (const node of nodes) {
      const { status, body, headers } = await node.send(conversationId, { client_message_id: 'kept' });
      t.equal(status, 503);
      t.match(body, { error: { code: 'service_unavailable', is_transient: true } });
      t.ok(headers.get('retry-after'));
    }
    t.equal((await nodes[0].page(conversationId)).length, 1, 'reads go on, and nothing was written');

    if (fault === 'stopped') await redis.start();
    else redis.resume();
    // Each node's link comes back by itself; each node's key is an author of its own.
    for (const node of nodes) {
      await until(
        async () => (await node.send(conversationId, { client_message_id: 'kept' })).status === 201,
        { what: 'service on both nodes' },
      );
    }
    t.same(await checkCluster(cluster, [listener], []), []);
    t.equal(listener.closeCode, undefined, 'the same socket all along');
    t.equal(listener.created().length, 3);
  });
}
