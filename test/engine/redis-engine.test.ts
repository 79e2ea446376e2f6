import { Redis } from 'ioredis';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { Engine } from '../../src/core/frames/engine.ts';
import { FRAME_CODEC as codec, encodeFrame } from '../../src/core/frames/frame-codec.ts';
import { EngineUnavailableError, type Missed, type Subscription } from '../../src/platform/engine/engine.ts';
import { type Announcement, decodeAnnouncement } from '../../src/platform/engine/losses/announcement.ts';
import { openEnvelope, Sealer } from '../../src/platform/engine/losses/envelope.ts';
import { redisName } from '../../src/platform/engine/partitions.ts';
import { RedisEngine } from '../../src/platform/engine/redis/redis-engine.ts';
import { startLinks } from '../support/link-faults.ts';
import { startRedis, testRedisUrl } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { engineContract, flushed, makeFrame, type Nodes, newChannel, onCreated } from './contract.ts';

/** Enough channels that subscribing to all of them again takes longer than a proof. */
const CHANNELS = 10_000;

const sharedUrl = await testRedisUrl(t);

engineContract(t, (t) => connectNodes(t, sharedUrl));

t.test('the broker learns of the first listener and of the last', async (t) => {
  const { a } = await connectNodes(t, sharedUrl);
  const redis = await connectRaw(t, sharedUrl);
  const channel = newChannel();
  const subscribers = () => subscribersOf(redis, channel);
  const one = await a.subscribe(channel, () => {});
  const two = await a.subscribe(channel, () => {});
  t.equal(await subscribers(), 1);
  one.unsubscribe();
  await a.subscribe(newChannel(), () => {});
  t.equal(await subscribers(), 1, 'one is still there');
  two.unsubscribe();
  await until(async () => (await subscribers()) === 0, { what: 'the node has left the channel' });
});

t.test('messages published by hand do no harm', async (t) => {
  const lines: string[] = [];
  const { a, b } = await connectNodes(t, sharedUrl, lines);
  const redis = await connectRaw(t, sharedUrl);
  const channel = newChannel();
  const received: number[] = [];
  await a.subscribe(
    channel,
    onCreated(({ sequence }) => received.push(sequence)),
  );
  const garbage = ['', 'x', 'twelve bytes', 'much more than twelve bytes, but no frame', '\0'.repeat(60)];
  for (const message of garbage) await redis.spublish(key(channel), message);
  for (const message of garbage) await redis.spublish(key(`node:${a.nodeId}`), message);
  await redis.spublish(key(channel), new Sealer('another-node', 1).seal(1, encodeFrame(makeFrame(7))));
  await b.publish(channel, makeFrame(8));
  await until(() => received.length === 2, { what: 'the frames after the garbage' });
  t.same(received, [7, 8]);
  t.equal(a.healthy, true);
  const complaints = lines.filter((line) => line.includes('cannot be read'));
  t.equal(complaints.length, 1, 'said once, not ten times');
});

t.test('counters of the Redis engine survive its losses', async (t) => {
  const server = await startRedis(t);
  const { a, b } = await connectNodes(t, server.url);
  const redis = await connectRaw(t, server.url);

  await t.test('counters are absent after FLUSHALL, and start again from a floor', async (t) => {
    const stream = newChannel();
    t.same(await a.reserve([{ stream, count: 5, floor: 10 }]), [11]);
    await server.flushall();
    t.same(await a.reserve([{ stream, count: 1 }]), [null]);
    t.same(await b.reserve([{ stream, count: 1, floor: 15 }]), [16]);
  });

  await t.test('counters that were rewound by hand are raised by a floor', async (t) => {
    const stream = newChannel();
    await a.reserve([{ stream, count: 1, floor: 500 }]);
    await redis.set(counter(stream), 3);
    t.same(await a.reserve([{ stream, count: 1 }]), [4], 'without a floor nobody can know');
    t.same(await a.reserve([{ stream, count: 1, floor: 501 }]), [502]);
  });

  await t.test('counters that hold anything but a whole number count as absent', async (t) => {
    const values = ['', 'twelve', '1.5', '-3', '007', ' 7', '1e3', '9007199254740991', '9'.repeat(30)];
    for (const value of values) {
      const stream = newChannel();
      await redis.set(counter(stream), value);
      t.same(await a.reserve([{ stream, count: 1 }]), [null], `'${value}'`);
      t.equal(await redis.exists(counter(stream)), 0);
      await redis.set(counter(stream), value);
      t.same(await a.reserve([{ stream, count: 2, floor: 7 }]), [8], `'${value}' under a floor`);
    }
    const list = newChannel();
    await redis.rpush(counter(list), 'x');
    const other = newChannel();
    const answers = await a.reserve([
      { stream: other, count: 1, floor: 1 },
      { stream: list, count: 1 },
      { stream: other, count: 1 },
    ]);
    t.same(answers, [2, null, 3], 'and do not disturb their neighbours');
    await redis.rpush(counter(list), 'x');
    t.same(await a.reserve([{ stream: list, count: 1, floor: 0 }]), [1]);
  });

  await t.test('counters and frames survive SCRIPT FLUSH', async (t) => {
    const stream = newChannel();
    const received: number[] = [];
    await b.subscribe(
      stream,
      onCreated(({ sequence }) => received.push(sequence)),
    );
    const sent: Promise<unknown>[] = [];
    for (let sequence = 1; sequence <= 300; sequence++) {
      sent.push(a.publish(stream, makeFrame(sequence)), a.reserve([{ stream, count: 1, floor: 0 }]));
      if (sequence % 50 === 0) sent.push(redis.script('FLUSH'));
      if (sequence % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(sent);
    await until(() => received.length === 300, { what: 'all frames arrive' });
    t.same(
      received,
      Array.from({ length: 300 }, (_, index) => index + 1),
    );
    t.same(await b.reserve([{ stream, count: 1 }]), [301]);
  });
});

t.test('a restart is noticed, and nothing published after the recovery is lost', async (t) => {
  const beganAt = performance.now();
  const server = await startRedis(t);
  const { a, b } = await connectNodes(t, server.url);
  const channels = Array.from({ length: CHANNELS }, newChannel);
  const received = new Set<number>();
  const subscriptions: Subscription[] = [];
  // A few at a time: the last of thousands would wait longer than a command may on a busy machine.
  for (let from = 0; from < CHANNELS; from += 250) {
    const some = channels.slice(from, from + 250).map((channel) => {
      return a.subscribe(
        channel,
        onCreated(({ sequence }) => received.add(sequence)),
      );
    });
    subscriptions.push(...(await Promise.all(some)));
  }
  const recoveries: { at: number }[] = [];
  // Connected again before the nodes are.
  const redis = await connectRaw(t, server.url, { retryStrategy: () => 5 });
  let heldAtRecovery: Promise<Set<string>> | undefined;
  const reports: { sinceMs: number; at: number }[] = [];
  a.onMissed(({ sinceMs }) => reports.push({ sinceMs, at: performance.now() }));
  const onRecovered = (engine: Engine, listener: () => void) =>
    engine.onMissed(({ reason }) => {
      if (reason === 'link') listener();
    });
  onRecovered(a, () => {
    recoveries.push({ at: performance.now() });
    heldAtRecovery = redis.call('PUBSUB', 'SHARDCHANNELS').then((keys) => new Set(keys as string[]));
  });
  let recoveredB = 0;
  onRecovered(b, () => recoveredB++);
  let unregisteredCalls = 0;
  a.onMissed(() => unregisteredCalls++)();

  // The other node publishes all the time.
  const acknowledged: { sequence: number; publishedAt: number }[] = [];
  let sequence = 0;
  let stopPublishing = false;
  const publishing = (async () => {
    while (!stopPublishing) {
      const publishedAt = performance.now();
      const some = Array.from({ length: 8 }, () => ++sequence);
      const sent = some.map((sequence) =>
        b.publish(channels[(sequence * 7) % CHANNELS]!, makeFrame(sequence)),
      );
      await Promise.all(sent).then(
        () => acknowledged.push(...some.map((sequence) => ({ sequence, publishedAt }))),
        () => {},
      );
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  await until(() => received.size > 100, { what: 'frames arrive' });

  await server.stop();
  const stoppedAt = performance.now();
  await until(() => !a.healthy && !b.healthy, { what: 'the nodes notice' });
  await isAway(t, a);
  t.same(recoveries, []);
  // A subscription that ends meanwhile does not return.
  for (const subscription of subscriptions.splice(0, 100)) subscription.unsubscribe();
  await server.start();
  await until(() => a.healthy && b.healthy, { what: 'whole again' });

  const recovered = recoveries[0]!;
  const enough = () => acknowledged.filter(({ publishedAt }) => publishedAt > recovered.at).length > 2000;
  await until(enough, { what: '2,000 frames after the recovery' });
  stopPublishing = true;
  await publishing;
  // One connection carries them all in order.
  await flushed(b, a, channels[100]!);

  t.equal(recoveries.length, 1);
  t.equal(recoveredB, 1);
  t.equal(unregisteredCalls, 0);
  t.ok(reports[0]!.sinceMs <= stoppedAt, 'whole before Redis went');
  t.ok(reports[0]!.sinceMs > beganAt, 'and no earlier than it was');
  t.ok(
    reports.every(({ sinceMs }, index) => index === 0 || sinceMs <= reports[index - 1]!.at),
    'each report begins where the one before ended',
  );
  const gone = new Set(channels.slice(0, 100));
  const lost = acknowledged.filter(
    ({ sequence, publishedAt }) =>
      publishedAt > recovered.at &&
      !gone.has(channels[(sequence * 7) % CHANNELS]!) &&
      !received.has(sequence),
  );
  t.same(lost, []);
  const held = await heldAtRecovery;
  t.ok(
    channels.every((channel) => gone.has(channel) !== held?.has(key(channel))),
    'told the broker of every channel that is wanted before it said so, and of no other',
  );
});

t.test('a kill -9 in the middle of it all keeps the order', async (t) => {
  const server = await startRedis(t);
  const { a, b } = await connectNodes(t, server.url);
  const channel = newChannel();
  const received: number[] = [];
  await b.subscribe(
    channel,
    onCreated(({ sequence }) => received.push(sequence)),
  );
  let failed = 0;
  let sequence = 0;
  let recovered = false;
  b.onMissed(({ reason }) => {
    recovered ||= reason === 'link';
  });
  const publishUntil = async (done: () => boolean): Promise<void> => {
    while (!done()) {
      for (let count = 0; count < 16; count++)
        a.publish(channel, makeFrame(++sequence)).catch(() => failed++);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await publishUntil(() => received.length > 1000);
  await server.kill();
  const restarted = server.start();
  await publishUntil(() => recovered && a.healthy);
  await restarted;
  const before = received.length;
  await publishUntil(() => received.length > before + 1000);
  await flushed(a, b, channel);
  const frames = received.filter((sequence) => sequence > 0);
  t.ok(failed > 0);
  t.ok(
    frames.every((sequence, index) => index === 0 || sequence > frames[index - 1]!),
    'rising, so none twice',
  );
});

t.test('a Redis that hangs is noticed, and used again when it continues', async (t) => {
  const beganAt = performance.now();
  const server = await startRedis(t);
  const lines: string[] = [];
  const { a, b } = await connectNodes(t, server.url, lines);
  const channel = newChannel();
  const received: number[] = [];
  await b.subscribe(
    channel,
    onCreated(({ sequence }) => received.push(sequence)),
  );
  const reconnections = () => lines.filter((line) => line.includes('reconnecting')).length;
  let recoveries = 0;
  let wholeUntilMs = Number.POSITIVE_INFINITY;
  b.onMissed(({ reason, sinceMs }) => {
    wholeUntilMs = Math.min(wholeUntilMs, sinceMs);
    if (reason === 'link') recoveries++;
  });

  await t.test('an engine recovers from a Redis that hangs for a moment', async (t) => {
    server.hang();
    const hungAt = performance.now();
    await isAway(t, a);
    await until(() => !a.healthy && !b.healthy, { what: 'the nodes notice' });
    server.resume();
    const hungMs = performance.now() - hungAt;
    await until(() => a.healthy && b.healthy, { what: 'whole again' });
    t.equal(recoveries, 1);
    t.ok(wholeUntilMs <= hungAt && wholeUntilMs > beganAt);
    // Two failures make new connections: each takes half a second, which may pass before this line.
    t.ok(hungMs >= 1_000 || reconnections() === 0);
    await flushed(a, b, channel);
  });

  await t.test('for so long that the connections are replaced', async (t) => {
    const before = reconnections();
    server.hang();
    const anew = () => reconnections() >= before + 2;
    await until(anew, { what: 'both nodes make their connections anew' });
    await isAway(t, a);
    server.resume();
    await until(() => a.healthy && b.healthy, { what: 'whole again' });
    t.equal(recoveries, 2);
    await flushed(a, b, channel);
  });

  await t.test('and close does not wait for it', async () => {
    server.hang();
    await Promise.all([a.close(), b.close()]);
    server.resume();
  });
});

t.test('a lost connection is an outage, however short', async (t) => {
  const server = await startRedis(t);
  const { a, b } = await connectNodes(t, server.url);
  const redis = await connectRaw(t, server.url);
  const channel = newChannel();
  await a.subscribe(channel, () => {});
  for (const type of ['pubsub', 'normal']) {
    const recoveries: number[] = [];
    const unregister = a.onMissed(({ reason, sinceMs }) => {
      if (reason === 'link') recoveries.push(sinceMs);
    });
    await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
    const killedAt = performance.now();
    await until(() => recoveries.length > 0, { what: `recovery from KILL TYPE ${type}` });
    t.ok(recoveries[0]! <= killedAt);
    t.equal(a.healthy, true);
    await until(() => b.healthy, { what: 'the other node is back' });
    await flushed(b, a, channel);
    t.equal(recoveries.length, 1);
    unregister();
  }
});

t.test('the last announcement covers what was under way when the node closed', async (t) => {
  const { a, b } = await connectNodes(t, sharedUrl);
  const redis = await connectRaw(t, sharedUrl);
  const announcements: Announcement[] = [];
  redis.on('smessageBuffer', (_name: Buffer, message: Buffer) => {
    const { publisherId, content } = openEnvelope(message);
    if (publisherId === b.nodeId) announcements.push(decodeAnnouncement(content));
  });
  await redis.ssubscribe(key('nodes'));
  const channel = newChannel();
  await a.subscribe(channel, () => {});
  const sent = b.publish(channel, makeFrame(1));
  await Promise.all([sent, b.close()]);
  await until(() => announcements.some(({ isLast }) => isLast), { what: 'the last announcement' });
  const last = announcements.find(({ isLast }) => isLast);
  t.match(last?.channels, [{ channel, last: 1 }]);
});

t.test('frames of an earlier subscription raise no alarm when the channel is joined again', async (t) => {
  const server = await startRedis(t);
  const [link] = await startLinks(t, { redis: server, seed: 1, count: 1 });
  const log = pino({ level: 'silent' });
  const a = await RedisEngine.connect({ codec, url: `redis://127.0.0.1:${link!.port}`, log });
  const b = await RedisEngine.connect({ codec, url: server.url, log });
  t.teardown(() => Promise.all([a.close(), b.close()]));
  const redis = await connectRaw(t, server.url);
  const missed: Missed[] = [];
  a.onMissed((it) => missed.push(it));

  /** False where the machine was too busy to join again in time. */
  const joinAgain = async (): Promise<boolean> => {
    const channel = newChannel();
    const received: number[] = [];
    const subscribe = () =>
      a.subscribe(
        channel,
        onCreated(({ sequence }) => received.push(sequence)),
      );
    const holdsIt = (count: number) => async () => (await subscribersOf(redis, channel)) === count;
    try {
      const earlier = await subscribe();
      // Holds bytes that reach the node after its second request.
      link!.pause(['down']);
      await b.publish(channel, makeFrame(1));
      earlier.unsubscribe();
      await until(holdsIt(0), { what: 'the node has left the channel' });
      await b.publish(channel, makeFrame(2));
      const again = subscribe();
      again.catch(() => {});
      await until(holdsIt(1), { what: 'the node is back' });
      link!.resume();
      await again;
      await b.publish(channel, makeFrame(3));
    } catch (error) {
      if (error instanceof EngineUnavailableError) return false;
      throw error;
    } finally {
      link!.resume();
    }
    const publishedMs = performance.now();
    await until(() => a.wholeMs > publishedMs, { what: 'the announcement of all three' });
    t.same(received, [1, 3]);
    return true;
  };
  await until(joinAgain, { what: 'a second subscription in time' });
  t.same(
    missed.filter(({ reason }) => reason === 'frames'),
    [],
  );
});

t.test('close works while Redis is away', async (t) => {
  const server = await startRedis(t);
  const { a, b } = await connectNodes(t, server.url);
  await server.stop();
  await a.close();
  await until(() => !b.healthy, { what: 'the other node notices' });
  await b.close();
});

t.test('connect rejects with one line that names the Redis, the reason and the remedy', async (t) => {
  const server = await startRedis(t);
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
  const connect = async (url: string, patienceMs?: number): Promise<string> => {
    const connecting = RedisEngine.connect({ codec, url, log, ...(patienceMs && { patienceMs }) });
    const error: unknown = await connecting.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(error instanceof Error)) throw new Error('it connected');
    t.notMatch(`${error.message} ${JSON.stringify(error.cause)}`, /hunter2|\n/);
    return error.message;
  };
  const address = `127.0.0.1:${server.port}`;

  await connectRaw(t, server.url).then((redis) => redis.config('SET', 'requirepass', 'other'));
  t.match(
    await connect(`redis://ada:hunter2@${address}/2?password=hunter2`),
    /ada@127.*WRONGPASS.*REDIS_URL/,
  );
  t.match(await connect(`redis://${address}`), /NOAUTH/);

  server.hang();
  t.match(await connect(`redis://${address}`, 100), /cannot use Redis at redis:.*timed out/);
  const patient = RedisEngine.connect({ codec, url: server.url, log });
  lines.length = 0;
  await until(() => lines.some((line) => line.includes('trying again')), { what: 'a second attempt' });
  server.resume();
  await t.rejects(patient, /NOAUTH/, 'it was waited for: a password is asked for by now');

  await server.stop();
  t.match(
    await connect(`redis://:hunter2@${address}`),
    new RegExp(`redis://${address}: .*ECONNREFUSED.*REDIS_URL`),
  );
});

t.test('a right that a running node loses is logged once, until the link has come back', async (t) => {
  const server = await startRedis(t);
  const operator = await connectRaw(t, server.url);
  const setUser = (...rules: string[]) => operator.call('ACL', 'SETUSER', 'ada', ...rules);
  await setUser('on', '>hunter2', '~*', '&*', '+@all');
  const lines: string[] = [];
  const { a, b } = await connectNodes(t, server.url.replace('//', '//ada:hunter2@'), lines);
  const channel = newChannel();
  const refused = (command: string) =>
    lines.filter((line) => line.includes('Redis refuses this node') && line.includes(`'${command}'`)).length;
  const publishes = () =>
    a.publish(channel, makeFrame(1)).then(
      () => true,
      () => false,
    );

  await setUser('-eval');
  for (let n = 0; n < 5; n++) t.equal(await publishes(), false);
  await until(() => refused('eval') === 2, { what: 'both nodes to log it' });
  t.ok(a.healthy && b.healthy, 'the proofs of the link need another right');
  await setUser('+eval');
  await until(publishes, { what: 'a frame, without a restart' });

  await setUser('-spublish');
  await until(() => !a.healthy && !b.healthy, { what: 'links without their proofs' });
  await until(() => lines.some((line) => line.includes('reconnecting')), { what: 'new connections' });
  t.equal(refused('spublish'), 2);
  await setUser('+spublish');
  await until(() => a.healthy && b.healthy, { what: 'whole links' });
  await until(publishes, { what: 'a frame' });
  await setUser('-eval');
  await until(() => refused('eval') === 4, { what: 'both nodes to log it again' });
  t.notMatch(lines.join(''), /hunter2/);
});

async function connectNodes(t: Test, url: string, lines: string[] = []): Promise<Nodes> {
  const log = pino({ level: 'info' }, { write: (line) => lines.push(line) });
  const [a, b] = await Promise.all([
    RedisEngine.connect({ codec, url, log }),
    RedisEngine.connect({ codec, url, log }),
  ]);
  t.teardown(async () => {
    await Promise.all([a.close(), b.close()]);
  });
  return { a, b };
}

/** Everything that needs the broker is refused; local subscribers are served all the same. */
async function isAway(t: Test, engine: Engine): Promise<void> {
  const channel = newChannel();
  let received = 0;
  const { unsubscribe } = await engine.subscribe(channel, () => received++);
  const calls: Record<string, Promise<unknown>> = {
    publish: engine.publish(channel, makeFrame(1)),
    reserve: engine.reserve([{ stream: channel, count: 1, floor: 1 }]),
  };
  await Promise.all(
    Object.entries(calls).map(async ([name, call]) => {
      const error: unknown = await call.catch((error: unknown) => error);
      t.ok(error instanceof EngineUnavailableError, `${name} is refused`);
    }),
  );
  engine.publish(channel, makeFrame(2)).catch(() => {});
  t.equal(received, 2, 'a subscription of now gets the frames of this node');
  unsubscribe();
}

async function connectRaw(
  t: Test,
  url: string,
  options: { retryStrategy?: () => number } = {},
): Promise<Redis> {
  const redis = new Redis(url, options);
  redis.on('error', () => {});
  t.teardown(() => redis.disconnect());
  await new Promise((resolve) => redis.once('ready', resolve));
  return redis;
}

/** How many nodes the broker holds as subscribed. */
async function subscribersOf(redis: Redis, channel: string): Promise<number> {
  const [, count] = (await redis.call('PUBSUB', 'SHARDNUMSUB', key(channel))) as [string, number];
  return count;
}

function key(channel: string): string {
  return redisName('ch', channel);
}

function counter(stream: string): string {
  return redisName('seq', stream);
}
