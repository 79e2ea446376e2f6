import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { Engine } from '../../src/core/frames/engine.ts';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import type { Missed, NoticesOf } from '../../src/platform/engine/engine.ts';
import { readRedisUrl, serverOf } from '../../src/platform/engine/redis/redis-address.ts';
import { readClusterView, SLOTS } from '../../src/platform/engine/shards/cluster-slots.ts';
import { RedisCluster } from '../../src/platform/engine/shards/redis-cluster.ts';
import { startRedis } from '../support/redis.ts';
import { idOfEachPartition, startRedisCluster } from '../support/redis-cluster.ts';
import { until } from '../support/until.ts';
import { engineContract, flushed, makeFrame, newChannel, onCreated } from './contract.ts';

const log = pino({ level: 'silent' });
const cluster = await startRedisCluster(t);

engineContract(t, (t) => connectNodes(t));

t.test('a slot that moves takes its channels and counters along', async (t) => {
  const said: number[] = [];
  const { a, b } = await connectNodes(t, (partitions) => ({
    clearMs: Number.POSITIVE_INFINITY,
    inDoubt: false,
    say: async () => void said.push(...partitions()),
  }));
  const { channel, received, missed } = await follow(t, a, b);
  const before = [a, b].map((node) => node.shardOf(channel));
  const areBack = () => [a, b].map((node, index) => node.shardOf(channel) === before[index]);
  let sequence = 0;
  let isOver = false;
  const publishing = (async () => {
    while (!isOver) {
      await a.publish(channel, makeFrame(++sequence)).catch(() => {});
      await pause(1);
    }
  })();
  await until(() => received.length > 100, { what: 'some frames' });
  const { to } = await cluster.migrate(channel);
  await cluster.areHeard(to, channel, 2);
  await until(() => [a, b].every((node) => node.healthy) && !areBack().includes(true), {
    what: 'the move',
  });
  isOver = true;
  await publishing;
  await flushed(a, b, channel);
  t.equal(new Set(received).size, received.length, 'no frame came twice');
  t.same(
    received,
    received.toSorted((one, other) => one - other),
  );
  const lost = Array.from({ length: sequence }, (_, n) => n + 1).filter((one) => !received.includes(one));
  t.ok(
    lost.length === 0 || missed.some(({ channels }) => channels === undefined || channels.has(channel)),
    `${lost.length} frames are read from Postgres`,
  );
  t.ok(missed.length > 0, 'what may have been lost is read from Postgres');
  t.ok(said.length > 0, 'nodes that listen at the old master read from Postgres');
  t.same(await a.reserve([{ stream: channel, count: 1 }]), [43], 'the counter went along');
  // And back, within the time for which counters of frames are kept.
  await cluster.migrate(channel);
  await cluster.migrate(channel);
  await until(() => [a, b].every((node) => node.healthy) && !areBack().includes(false), {
    what: 'the way back',
  });
  await flushed(a, b, channel);
});

for (const cause of ['switched over', 'killed', 'hung'] as const) {
  t.test(`a master that is ${cause}: the nodes use its replica`, async (t) => {
    await cluster.isReady();
    const { a, b } = await connectNodes(t);
    const { channel, received, missed } = await follow(t, a, b);
    const master = await cluster.masterOf(channel);
    const { to } = await cluster.failOver(master, cause);
    await cluster.areHeard(to, channel, 2);
    await until(() => a.healthy && b.healthy, { what: 'all links' });
    // A node may listen at the new master before it publishes there; what is published at the old
    // one is read from Postgres.
    const publishes = async () => {
      await a.publish(channel, makeFrame(7)).catch(() => {});
      return received.includes(7);
    };
    await until(publishes, { what: 'a frame' });
    await until(() => missed.some(({ channels }) => channels?.has(channel)), {
      what: 'a repair of what came meanwhile, from Postgres',
    });
    const [next] = await a.reserve([{ stream: channel, count: 1, floor: 42 }]);
    t.ok(next! >= 43, 'no number before the floor');
    master.resume();
    await master.start();
    await cluster.isReady();
  });
}

t.test('a master that hangs leaves the channels and counters of the others as they are', async (t) => {
  const { a, b } = await connectNodes(t);
  const all = idOfEachPartition();
  const shard = a.shardOf(all[0]!);
  const others = all.filter((id) => a.shardOf(id) !== shard);
  const master = await cluster.masterOf(all[0]!);
  const missed: Missed[] = [];
  b.onMissed((one) => missed.push(one));
  master.hang();
  await until(() => !shard.healthy, { what: 'the node to notice' });
  for (const id of others) {
    t.ok(a.shardOf(id).healthy && !a.shardOf(id).inDoubt);
    t.same(await a.reserve([{ stream: id, count: 1, floor: 4 }]), [5]);
  }
  t.notOk(missed.some(({ channels }) => others.some((id) => channels?.has(id) ?? true)));
  master.resume();
  await cluster.isReady();
  await until(() => a.healthy && b.healthy, { what: 'whole again' });
});

t.test('what cannot be used is said', async (t) => {
  const { url } = await startRedis(t);
  const connect = (url: string) =>
    RedisCluster.connect({ codec, address: readRedisUrl(url)![0]!, log, patienceMs: 100 });
  await t.rejects(connect(url.replace('redis://', 'redis+cluster://')), /cluster support disabled/);
  await t.rejects(
    connect('redis+cluster://:hunter2@127.0.0.1:1'),
    /^cannot use((?!hunter2)[^\n])*ECONNREFUSED/,
  );
});

t.test('the address of a cluster is read', async (t) => {
  const [address] = readRedisUrl('rediss+cluster://ada:pw@a,[::1]:7')!;
  t.match(address, { shown: 'rediss+cluster://ada@a,[::1]:7', cluster: ['a:6379', '[::1]:7'] });
  t.equal(serverOf(address!, '[::1]:7').url, 'rediss://ada:pw@[::1]:7');
  for (const refused of ['redis+cluster://', 'redis+cluster://a/1', 'redis+cluster://a,redis://b']) {
    t.equal(readRedisUrl(refused), undefined, refused);
  }
});

t.test('servers that have learned of a move are believed', async (t) => {
  t.equal(SLOTS[0], 13_334);
  const id = (letter: string) => letter.repeat(40);
  const line = (letter: string, at: string, flags: string, epoch: number, slots: string) =>
    `${id(letter)} ${at} ${flags} - 0 0 ${epoch} connected ${slots}`;
  const before = [
    line('a', ':7000@17000', 'myself,master', 1, '0-8000 [93->-bbbb]'),
    line('b', '10.0.0.2:7000@17000,redis-b', 'master', 2, '8001-16383'),
  ].join('\n');
  const after = [
    line('a', '10.0.0.1:7000@17000', 'master', 1, '0-8000'),
    line('b', '10.0.0.2:7000@17000,redis-b', 'master,fail', 2, ''),
    line('c', '[::3]:7000@17000', 'myself,master', 3, '8001-16383'),
  ].join('\n');
  const view = readClusterView([
    { from: '10.0.0.1:7000', text: before },
    { from: '::3', text: after.replace('[::3]', '::3') },
  ]);
  for (const [partition, slot] of SLOTS.entries()) {
    t.equal(view.masters[partition], slot <= 8000 ? '10.0.0.1:7000' : '[::3]:7000');
  }
});

async function connectNodes(t: Test, notices?: NoticesOf) {
  const connect = () =>
    RedisCluster.connect({ codec, address: readRedisUrl(cluster.url)![0]!, log, notices });
  const [a, b] = await Promise.all([connect(), connect()]);
  t.teardown(() => Promise.all([a.close(), b.close()]));
  return { a, b };
}

/** A channel that `b` listens to, with a counter that `a` has taken the number 42 from. */
async function follow(t: Test, a: Engine, b: Engine) {
  const channel = newChannel();
  const received: number[] = [];
  await b.subscribe(
    channel,
    onCreated(({ sequence }) => received.push(sequence)),
  );
  t.same(await a.reserve([{ stream: channel, count: 1, floor: 41 }]), [42]);
  const missed: Missed[] = [];
  b.onMissed((one) => missed.push(one));
  return { channel, received, missed };
}
