import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { Frame } from '../../src/core/frames/frame.ts';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import type { Missed } from '../../src/platform/engine/engine.ts';
import { readRedisUrl } from '../../src/platform/engine/redis/redis-address.ts';
import { SeveralRedis, spread } from '../../src/platform/engine/shards/several-redis.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { engineContract, flushed, makeFrame, newChannel, onCreated } from './contract.ts';

const log = pino({ level: 'silent' });
const NAMES = ['a', 'b', 'c'];
const servers: TestRedis[] = await Promise.all(NAMES.map(() => startRedis(t)));

engineContract(t, (t) => connectNodes(t));

t.test('a further name takes its share of each of the others, and nothing else moves', async (t) => {
  const before = spread(['a', 'b', 'c']);
  const after = spread(['d', 'c', 'b', 'a']);
  const moved = after.filter((name, partition) => name !== before[partition]);
  t.same([...new Set(moved)], ['d']);
  for (const name of ['a', 'b', 'c', 'd']) {
    const share = after.filter((one) => one === name).length;
    t.ok(share > 40 && share < 90, `${name} has ${share} of 256`);
  }
});

t.test('one that hangs leaves the channels and counters of the others as they are', async (t) => {
  const { a, b } = await connectNodes(t);
  const channels = oneOfEach(a);
  const received = new Map<string, number[]>();
  for (const channel of channels) {
    const ofChannel: number[] = [];
    received.set(channel, ofChannel);
    await b.subscribe(
      channel,
      onCreated(({ sequence }) => ofChannel.push(sequence)),
    );
    t.same(await a.reserve([{ stream: channel, count: 1, floor: 4 }]), [5]);
  }
  const [lost, ...others] = channels;
  const missed: Missed[] = [];
  b.onMissed((one) => missed.push(one));

  servers[0]!.hang();
  await until(() => !a.shardOf(lost!).healthy && !b.shardOf(lost!).healthy, { what: 'both nodes to notice' });
  t.notOk(a.healthy);
  await t.rejects(a.reserve([{ stream: lost!, count: 1 }]));
  for (const channel of others) {
    t.ok(a.shardOf(channel).healthy && !a.shardOf(channel).inDoubt);
    t.same(await a.reserve([{ stream: channel, count: 1 }]), [6]);
    await a.publish(channel, makeFrame(1));
    await until(() => received.get(channel)!.includes(1), { what: 'a frame of another' });
  }
  const tallies = await a.tally(others.map((key) => ({ key, by: 1, windowMs: 60_000 })));
  t.match(tallies, [{ total: 1 }, { total: 1 }]);
  await until(() => missed.some(({ reason }) => reason === 'away'), { what: 'a look into Postgres' });

  servers[0]!.resume();
  await until(() => a.healthy && b.healthy, { what: 'whole again' });
  await flushed(a, b, lost!);
  t.ok(missed.some(({ reason }) => reason === 'link'));
  for (const { channels: affected } of missed) {
    t.ok(affected?.has(lost!));
    t.same([...affected!], [lost]);
    t.notOk(others.some((channel) => affected!.has(channel)));
  }
});

t.test('channels move with their subscriptions when others are used', async (t) => {
  const { a, b } = await connectNodes(t, ['a']);
  const channels = Array.from({ length: 50 }, newChannel);
  const received = new Set<string>();
  const subscriptions = await Promise.all(
    channels.map((channel) =>
      b.subscribe(
        channel,
        onCreated(() => received.add(channel)),
      ),
    ),
  );
  const missed: Missed[] = [];
  b.onMissed((one) => missed.push(one));
  const before = channels.map((channel) => a.shardOf(channel));
  const sinceMs = performance.now();
  await Promise.all([a, b].map((node) => node.use(NAMES, sinceMs)));
  const moved = channels.filter((channel, index) => a.shardOf(channel) !== before[index]);
  t.ok(moved.length > 10);
  t.equal(missed.length, 1);
  t.same([...missed[0]!.channels!], moved);
  t.equal(missed[0]!.sinceMs, sinceMs);
  await Promise.all(channels.map((channel) => a.publish(channel, makeFrame(1))));
  await until(() => received.size === channels.length, { what: 'every frame' });
  for (const subscription of subscriptions) subscription.unsubscribe();
  received.clear();
  for (const channel of channels) await flushed(a, b, channel);
  await Promise.all(channels.map((channel) => a.publish(channel, makeFrame(2))));
  t.equal(received.size, 0);
});

t.test('one that cannot be used is named, and the others are left', async (t) => {
  const addresses = readRedisUrl(`${servers[0]!.url}#a,redis://127.0.0.1:1#b`)!;
  await t.rejects(
    SeveralRedis.connect({ codec, addresses, used: ['a'], log }),
    /127.0.0.1:1: .*ECONNREFUSED/,
  );
});

async function connectNodes(t: Test, used: readonly string[] = NAMES) {
  const addresses = readRedisUrl(servers.map(({ url }, index) => `${url}#${NAMES[index]}`).join(','))!;
  const connect = () => SeveralRedis.connect({ codec, addresses, used, log: log });
  const [a, b] = await Promise.all([connect(), connect()]);
  t.teardown(() => Promise.all([a.close(), b.close()]));
  return { a, b };
}

/** A channel of each Redis, in their order. */
function oneOfEach(engine: SeveralRedis<Frame>): string[] {
  return engine.shards.map((shard) => {
    for (;;) {
      const channel = newChannel();
      if (engine.shardOf(channel) === shard) return channel;
    }
  });
}
