import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { Frame } from '../../src/core/frames/frame.ts';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import type { Missed } from '../../src/platform/engine/engine.ts';
import { readRedisUrl } from '../../src/platform/engine/redis/redis-address.ts';
import { RedisEngine } from '../../src/platform/engine/redis/redis-engine.ts';
import { type SentinelGroup, startSentinelGroup } from '../support/sentinel.ts';
import { until } from '../support/until.ts';
import { engineContract, flushed, makeFrame, newChannel, onCreated } from './contract.ts';

const log = pino({ level: 'silent' });
const group = await startSentinelGroup(t);

engineContract(t, (t) => connectNodes(t, group.url));

for (const fault of ['killed', 'hung', 'switched over'] as const) {
  t.test(`a master that is ${fault}: the nodes use the new one`, async (t) => {
    const { master, replica } = await group.roles();
    await group.isReady(replica);
    let notices = 0;
    const say = async () => void notices++;
    const nodes = await connectNodes(t, group.url, say);
    const { a, b } = nodes;
    const channel = newChannel();
    const received: number[] = [];
    await b.subscribe(
      channel,
      onCreated(({ sequence }) => received.push(sequence)),
    );
    await a.reserve([{ stream: channel, count: 1, floor: 41 }]);
    const missed: Missed[] = [];
    b.onMissed((one) => missed.push(one));

    if (fault === 'killed') await master.kill();
    else if (fault === 'hung') master.hang();
    else await group.switchOver();
    await group.promoted(replica);
    await until(async () => (await connectionsOf(group, nodes, group.servers.indexOf(replica))) === 4, {
      what: 'all connections to the new master',
    });
    await until(() => a.healthy && b.healthy, { what: 'both links' });
    await flushed(a, b, channel);
    await a.publish(channel, makeFrame(7));
    await until(() => received.includes(7), { what: 'a frame' });
    t.ok(
      missed.some(({ reason, channels }) => reason === 'link' && channels === undefined),
      'what came meanwhile is read from Postgres',
    );
    t.ok(notices > 0, 'nodes that are still on the old master read from Postgres');
    const [next] = await a.reserve([{ stream: channel, count: 1, floor: 42 }]);
    t.ok(next! >= 43, 'no number before the floor');

    await Promise.all([a.close(), b.close()]);
    master.resume();
    await master.start();
    await group.follow(master);
    await group.isReady(master);
  });
}

t.test('sentinels that know no such master, or are away, are named', async (t) => {
  const connect = (url: string) => RedisEngine.connect({ codec, url, log, patienceMs: 100 });
  const wrong = group.url.replace(/[^/]+$/, 'another');
  await t.rejects(connect(wrong), /another: .*No such master.*REDIS_URL/);
  const away = 'redis+sentinel://:hunter2@127.0.0.1:1,127.0.0.1:2/mymaster';
  await t.rejects(
    connect(away),
    /^cannot use Redis at ((?!hunter2)[^\n])*sentinel 127.0.0.1:2 because connect ECONNREFUSED/,
  );
  const lines: string[] = [];
  const warnings = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
  const unknown = 'redis+sentinel://sentinel.invalid/mymaster';
  await t.rejects(
    RedisEngine.connect({ codec, url: unknown, log: warnings, patienceMs: 2_000 }),
    /ENOTFOUND|EAI_AGAIN/,
  );
  t.match(lines.join(''), /trying again/, 'its name may be known in a moment');
});

t.test('a sentinel that is away is asked again and again, and nothing is printed', async (t) => {
  let asked = 0;
  const away = createServer((socket) => {
    asked += 1;
    socket.resetAndDestroy();
  });
  t.teardown(() => away.close());
  away.listen(0, '127.0.0.1');
  await once(away, 'listening');
  const printed: unknown[] = [];
  const { error } = console;
  console.error = (...line) => printed.push(line);
  t.teardown(() => {
    console.error = error;
  });
  const { port } = away.address() as AddressInfo;
  const engine = await RedisEngine.connect({
    codec,
    url: group.url.replace('/mymaster', `,127.0.0.1:${port}$&`),
    log,
  });
  t.teardown(() => engine.close());
  await until(() => asked >= 6, { what: 'three attempts of each connection' });
  t.strictSame(printed, []);
});

t.test('addresses are read, and their secrets are not shown', async (t) => {
  const [plain] = readRedisUrl('redis://ada:pw@redis:6380/2?password=pw#one')!;
  t.match(plain, {
    name: 'one',
    shown: 'redis://ada@redis:6380/2',
    target: 'redis://ada:pw@redis:6380/2?password=pw',
  });
  const text = 'rediss+sentinel://ada:p%40w@[::1],b:7/main/3?sentinel_password=s#two';
  const [first, second, third] = readRedisUrl(`redis://:a,b@x,${text},redis://y/1`)!;
  t.match(first, { name: 'x', target: 'redis://:a,b@x' });
  t.match(second, {
    name: 'two',
    shown: 'rediss+sentinel://ada@[::1],b:7/main',
    target: {
      sentinels: [
        { host: '::1', port: 26379 },
        { host: 'b', port: 7 },
      ],
      name: 'main',
      db: 3,
      username: 'ada',
      password: 'p@w',
      sentinelPassword: 's',
      tls: {},
    },
  });
  t.match(third, { name: 'y/1' });
  for (const refused of [
    'http://x',
    'redis://',
    'redis+sentinel://a:1',
    'redis+sentinel://a:1/m?password=x',
    'redis+sentinel://a:99999/m',
    'redis://x,redis://x',
    'redis://x,y',
  ]) {
    t.equal(readRedisUrl(refused), undefined, refused);
  }
});

async function connectNodes(t: Test, url: string, say?: () => Promise<void>) {
  const notices = say && { clearMs: Number.POSITIVE_INFINITY, inDoubt: false, say };
  const connect = () => RedisEngine.connect({ codec, url, log: log, notices });
  const [a, b] = await Promise.all([connect(), connect()]);
  t.teardown(() => Promise.all([a.close(), b.close()]));
  return { a, b };
}

async function connectionsOf(
  group: SentinelGroup,
  { a, b }: { a: RedisEngine<Frame>; b: RedisEngine<Frame> },
  index: number,
): Promise<number> {
  const names = await group.connections(group.servers[index as 0 | 1]);
  return names.filter((name) => name.includes(a.nodeId) || name.includes(b.nodeId)).length;
}
