/** The contract of every engine (src/platform/engine/engine.ts), run on each of them. */

import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Engine } from '../../src/core/frames/engine.ts';
import type { CreatedFrame, Frame } from '../../src/core/frames/frame.ts';
import {
  EngineUnavailableError,
  type FrameListener,
  type Missed,
  type Subscription,
} from '../../src/platform/engine/engine.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/until.ts';

/** Two nodes over one broker; with only one process, both are the same engine. */
export interface Nodes {
  readonly a: Engine;
  readonly b: Engine;
}

export type ConnectNodes = (t: Test) => Promise<Nodes>;

export function engineContract(t: Test, connect: ConnectNodes): void {
  t.test('an engine carries frames between nodes', (t) => framesContract(t, connect));
  t.test('an engine keeps subscriptions of channels', (t) => subscriptionsContract(t, connect));
  t.test('an engine hands out numbers', (t) => countersContract(t, connect));
  t.test('an engine keeps tallies over all nodes', (t) => talliesContract(t, connect));
  t.test('an engine reports losses', (t) => lossesContract(t, connect));
  t.test('a closed engine does nothing further', (t) => closingContract(t, connect));
}

export function makeFrame(sequence: number, fields: Partial<CreatedFrame> = {}): CreatedFrame {
  return {
    kind: 'created',
    stream: 'cnv_1',
    resource: `msg_${sequence}`,
    sequence,
    updatedAtUs: 1_700_000_000_000_000 + sequence,
    streaming: false,
    erases: false,
    team: Buffer.from(`{"team":${sequence}}`),
    customer: undefined,
    ...fields,
  };
}

/** Listens to the frames that `makeFrame` makes. */
export function onCreated(listener: (frame: CreatedFrame) => void): FrameListener<Frame> {
  return (frame) => {
    if (frame.kind === 'created') listener(frame);
  };
}

/** A channel no other test has, also in a Redis that is shared. */
export function newChannel(): string {
  return `cnv_${crypto.randomUUID()}`;
}

/** Sends a frame that arrives after everything the same node published on the channel before. */
export async function flushed(from: Engine, to: Engine, channel: string): Promise<void> {
  const messageId = crypto.randomUUID();
  const marker: Frame = { kind: 'ask', stream: channel, messageId };
  let arrived = false;
  const subscription = await to.subscribe(channel, (frame) => {
    if (frame.kind === 'ask' && frame.messageId === messageId) arrived = true;
  });
  await from.publish(channel, marker);
  await until(() => arrived, { what: 'the marker arrives' });
  subscription.unsubscribe();
}

async function framesContract(t: Test, connect: ConnectNodes): Promise<void> {
  const { a, b } = await connect(t);

  await t.test('frames arrive whole', async (t) => {
    const channel = newChannel();
    const received: Frame[] = [];
    await a.subscribe(channel, (frame) => received.push(frame));
    const frames = [
      makeFrame(1, { customer: Buffer.from('{"für":"Kundinnen"}') }),
      { ...makeFrame(Number.MAX_SAFE_INTEGER), kind: 'updated' },
      { kind: 'void', stream: 'cnv_1', sequence: 2 },
      makeFrame(3, { team: Buffer.alloc(200_000, 'x') }),
    ] satisfies Frame[];
    for (const frame of frames) await b.publish(channel, frame);
    await until(() => received.length >= frames.length, { what: 'all frames arrive' });
    t.same(received, frames);
  });

  await t.test('keep the order of each publisher, and come once', async (t) => {
    const publishers = a === b ? [a] : [a, b];
    const perPublisher = 5000 / publishers.length;
    const received = new Map<Engine, CreatedFrame[]>();
    // On a busy machine the broker may answer a publish too late. It is refused then, and its frame
    // may have arrived or not, so all of them are published again, on another channel.
    await until(
      async () => {
        await until(() => publishers.every((node) => node.healthy), { what: 'healthy nodes' });
        return publishAll(newChannel()).catch((error: unknown) => {
          if (error instanceof EngineUnavailableError) return false;
          throw error;
        });
      },
      { what: 'every publish is accepted' },
    );
    const inOrder = Array.from({ length: perPublisher }, (_, index) => index + 1);
    for (const frames of received.values()) {
      await until(() => frames.length >= 5000, { what: 'all frames arrive' });
      for (const { nodeId } of publishers) {
        const sequences = frames
          .filter(({ resource }) => resource === nodeId)
          .map(({ sequence }) => sequence);
        t.same(sequences, inOrder);
      }
    }

    async function publishAll(channel: string): Promise<true> {
      for (const node of publishers) {
        const frames: CreatedFrame[] = [];
        received.set(node, frames);
        await node.subscribe(
          channel,
          onCreated((frame) => frames.push(frame)),
        );
      }
      await Promise.all(
        publishers.map(async (node) => {
          const sent: Promise<void>[] = [];
          for (let sequence = 1; sequence <= perPublisher; sequence++) {
            const publish = node.publish(channel, makeFrame(sequence, { resource: node.nodeId }));
            // A refusal before Promise.all is reached is seen there.
            publish.catch(() => undefined);
            sent.push(publish);
            // 64 a tick, the next tick not waiting for their acknowledgement.
            if (sequence % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
          await Promise.all(sent);
        }),
      );
      return true;
    }
  });

  await t.test('frames reach local listeners before publish returns', async (t) => {
    const channel = newChannel();
    const received: number[] = [];
    await a.subscribe(
      channel,
      onCreated(({ sequence }) => received.push(sequence)),
    );
    const sent = a.publish(channel, makeFrame(1));
    t.same(received, [1]);
    await sent;
    await flushed(a, b, channel);
    await flushed(b, a, channel);
    t.same(received, [1], 'and not again over the broker');
  });

  await t.test('frames published in answer to a frame come after it, for all subscribers', async (t) => {
    const channel = newChannel();
    const received: Record<string, number[]> = { first: [], second: [], remote: [] };
    await a.subscribe(
      channel,
      onCreated(({ sequence }) => {
        received.first!.push(sequence);
        if (sequence < 4) void a.publish(channel, makeFrame(sequence + 1));
      }),
    );
    await a.subscribe(
      channel,
      onCreated(({ sequence }) => received.second!.push(sequence)),
    );
    await b.subscribe(
      channel,
      onCreated(({ sequence }) => received.remote!.push(sequence)),
    );
    await a.publish(channel, makeFrame(1));
    await until(() => received.remote!.length === 4, { what: 'four frames at the other node' });
    t.same(received, { first: [1, 2, 3, 4], second: [1, 2, 3, 4], remote: [1, 2, 3, 4] });
  });
}

async function subscriptionsContract(t: Test, connect: ConnectNodes): Promise<void> {
  const { a, b } = await connect(t);

  await t.test('subscriptions of one channel are counted', async (t) => {
    const channel = newChannel();
    const received: string[] = [];
    const one = await a.subscribe(channel, () => received.push('one'));
    const listener = () => received.push('two');
    const two = await a.subscribe(channel, listener);
    const twoAgain = await a.subscribe(channel, listener);

    const round = async (): Promise<string[]> => {
      received.length = 0;
      await a.publish(channel, makeFrame(1));
      return [...received];
    };
    t.same(await round(), ['one', 'two', 'two']);
    one.unsubscribe();
    one.unsubscribe();
    t.same(await round(), ['two', 'two'], 'leaving twice is leaving once');
    two.unsubscribe();
    t.same(await round(), ['two']);
    received.length = 0;
    await b.publish(channel, makeFrame(2));
    await until(() => received.length === 1, { what: 'the one who stayed hears the other node' });
    twoAgain.unsubscribe();
    t.same(await round(), []);
  });

  await t.test('may end and begin inside a listener', async (t) => {
    const channel = newChannel();
    const received: string[] = [];
    const subscriptions: Subscription[] = [];
    let joined: Promise<Subscription> | undefined;
    subscriptions.push(
      await a.subscribe(channel, () => {
        received.push('leaves');
        subscriptions[0]!.unsubscribe();
        subscriptions[1]!.unsubscribe();
        joined = a.subscribe(channel, () => received.push('joined'));
      }),
    );
    subscriptions.push(await a.subscribe(channel, () => received.push('is removed')));
    subscriptions.push(await a.subscribe(channel, () => received.push('stays')));
    await a.publish(channel, makeFrame(1));
    t.same(received, ['leaves', 'stays']);
    await joined;
    await a.publish(channel, makeFrame(2));
    t.same(received, ['leaves', 'stays', 'stays', 'joined']);
  });

  await t.test('the only listener may leave inside itself', async (t) => {
    const channel = newChannel();
    let calls = 0;
    const subscription = await a.subscribe(channel, () => {
      calls++;
      subscription.unsubscribe();
    });
    await b.publish(channel, makeFrame(1));
    await b.publish(channel, makeFrame(2));
    await flushed(b, a, channel);
    t.equal(calls, 1);
  });

  await t.test('subscriptions are complete when subscribe resolves', async (t) => {
    const lost: number[] = [];
    for (let round = 0; round < 200; round++) {
      const channel = newChannel();
      let arrived = false;
      const subscription = await a.subscribe(channel, () => {
        arrived = true;
      });
      await b.publish(channel, makeFrame(round));
      await until(() => arrived, { what: 'the frame arrives' }).catch(() => lost.push(round));
      subscription.unsubscribe();
    }
    t.same(lost, []);
  });

  await t.test('end as requested, whatever was requested while the broker was being informed', async (t) => {
    const numbers = new Random(7);
    const random = () => numbers.next();
    const channels = Array.from({ length: 6 }, newChannel);
    const held = channels.map((): { subscription: Promise<Subscription>; heard: string[] }[] => []);
    for (let step = 0; step < 3000; step++) {
      const index = Math.floor(random() * channels.length);
      const listeners = held[index]!;
      // Short enough lists that a channel often loses its last listener.
      if (listeners.length > 0 && random() < 0.6) {
        const { subscription } = listeners.pop()!;
        const leave = subscription.then((subscription) => subscription.unsubscribe());
        if (random() < 0.5) await leave;
      } else {
        const heard: string[] = [];
        const subscription = a.subscribe(
          channels[index]!,
          onCreated(({ resource }) => heard.push(resource)),
        );
        listeners.push({ subscription, heard });
        if (random() < 0.3) await subscription;
      }
      if (random() < 0.1) await new Promise((resolve) => setImmediate(resolve));
      // At intervals, all held subscriptions must receive from the other node.
      if (step % 300 !== 299) continue;
      for (const [index, listeners] of held.entries()) {
        if (listeners.length === 0) {
          const heard: string[] = [];
          listeners.push({
            subscription: a.subscribe(
              channels[index]!,
              onCreated(({ resource }) => heard.push(resource)),
            ),
            heard,
          });
        }
        await Promise.all(listeners.map(({ subscription }) => subscription));
        const resource = `step_${step}`;
        await b.publish(channels[index]!, makeFrame(step, { resource }));
        await until(() => listeners.every(({ heard }) => heard.includes(resource)), {
          what: `all ${listeners.length} listeners hear step ${step}`,
        });
      }
    }
    t.pass('3,000 steps on 6 channels');
  });

  await t.test('a channel can be left and subscribed again in one tick', async (t) => {
    const channel = newChannel();
    let last = await a.subscribe(channel, () => {});
    let heard = 0;
    for (let round = 0; round < 500; round++) {
      last.unsubscribe();
      const again = a.subscribe(channel, () => heard++);
      if (round % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
      last = await again;
      if (round % 50 !== 49) continue;
      heard = 0;
      await b.publish(channel, makeFrame(round));
      await until(() => heard === 1, { what: `a frame after round ${round}` });
    }
    last.unsubscribe();
    t.pass('500 rounds');
  });

  await t.test('thousands of channels can be subscribed at once', async (t) => {
    const channels = Array.from({ length: 2500 }, newChannel);
    let heard = 0;
    const subscriptions = await Promise.all(channels.map((channel) => a.subscribe(channel, () => heard++)));
    await Promise.all(channels.map((channel) => b.publish(channel, makeFrame(1))));
    await until(() => heard === channels.length, { what: 'a frame on each channel' });
    for (const subscription of subscriptions) subscription.unsubscribe();
    t.equal(heard, channels.length);
  });
}

async function talliesContract(t: Test, connect: ConnectNodes): Promise<void> {
  const { a, b } = await connect(t);
  const key = newChannel();
  const other = newChannel();

  t.test('nodes add to one tally', async (t) => {
    const [first] = await a.tally([{ key, by: 2, windowMs: 3_600_000 }]);
    t.equal(first?.total, 2);
    t.ok(first !== undefined && first.leftMs > 3_000_000 && first.leftMs <= 3_600_000, `${first?.leftMs} ms`);
    const [second, third] = await b.tally([
      { key, by: 3, windowMs: 10 },
      { key: other, by: 1, windowMs: 3_600_000 },
    ]);
    t.equal(second?.total, 5);
    t.ok(second !== undefined && second.leftMs > 3_000_000, 'the window stays the first one');
    t.equal(third?.total, 1);
    t.same(await a.tally([]), []);
  });

  t.test('nodes take what a limit leaves, and give it back', async (t) => {
    const key = newChannel();
    const windowMs = 3_600_000;
    const take = (most: number) => ({ key, by: 0, take: { most, limit: 10 }, windowMs });
    const [first] = await a.tally([{ ...take(7), by: 1 }]);
    t.match(first, { total: 8, taken: 7 });
    t.match(await b.tally([take(7)]), [{ total: 10, taken: 2 }]);
    t.match(await a.tally([{ key, by: 3, windowMs }]), [{ total: 13, taken: 0 }], 'an addition has no limit');
    t.match(await a.tally([take(1)]), [{ total: 13, taken: 0 }]);
    const back = { key, by: -5, window: first!.window, windowMs };
    t.match(await a.tally([back, take(4)]), [
      { total: 8, window: first!.window },
      { total: 10, taken: 2 },
    ]);
    t.match(
      await b.tally([{ ...back, window: first!.window - 1 }]),
      [{ total: 10, window: first!.window }],
      'what belongs to another window is dropped',
    );
  });

  t.test('a tally ends with its window', async (t) => {
    const short = newChannel();
    await a.tally([{ key: short, by: 7, windowMs: 30 }]);
    const begun = async () => (await b.tally([{ key: short, by: 1, windowMs: 30 }]))[0]?.total === 1;
    t.ok(await until(begun, { what: 'a new window' }));
  });
}

async function countersContract(t: Test, connect: ConnectNodes): Promise<void> {
  const { a, b } = await connect(t);

  await t.test('refuse to count when absent, start at a floor, and never go back', async (t) => {
    const stream = newChannel();
    t.same(await a.reserve([{ stream, count: 1 }]), [null]);
    t.same(await a.reserve([{ stream, count: 3, floor: 41 }]), [42]);
    t.same(await b.reserve([{ stream, count: 1 }]), [45]);
    t.same(await b.reserve([{ stream, count: 2, floor: 10 }]), [46], 'a lower floor changes nothing');
    t.same(await a.reserve([{ stream, count: 1, floor: 100 }]), [101], 'a higher one raises');
    t.same(await a.reserve([{ stream: newChannel(), count: 1, floor: 0 }]), [1]);
  });

  await t.test('counters answer many claims in order', async (t) => {
    t.same(await a.reserve([]), []);
    const streams = Array.from({ length: 1000 }, newChannel);
    const absent = await a.reserve(streams.map((stream) => ({ stream, count: 1 })));
    t.ok(absent.length === 1000 && absent.every((answer) => answer === null));
    const seededAt = await a.reserve(
      streams.map((stream, index) => (index % 2 ? { stream, count: 2, floor: index } : { stream, count: 1 })),
    );
    t.same(
      seededAt,
      streams.map((_, index) => (index % 2 ? index + 1 : null)),
    );
    const stream = newChannel();
    t.same(
      await a.reserve([
        { stream, count: 1 },
        { stream, count: 2, floor: 5 },
        { stream, count: 1 },
      ]),
      [null, 6, 8],
      'claims on one stream follow each other',
    );
  });

  await t.test('counters stay exact up to 2^53', async (t) => {
    const stream = newChannel();
    const floor = Number.MAX_SAFE_INTEGER - 4;
    t.same(await a.reserve([{ stream, count: 2, floor }]), [floor + 1]);
    t.same(await b.reserve([{ stream, count: 2 }]), [floor + 3]);
  });

  await t.test('counters give no number twice', async (t) => {
    const stream = newChannel();
    const counts = Array.from({ length: 1000 }, (_, index) => (index % 3) + 1);
    let refused = 0;
    const taken = await Promise.all(
      counts.map(async (count, index) => {
        const node = index % 2 ? a : b;
        // On a busy machine the broker may be late; the numbers of that call are lost then.
        const claim = () => node.reserve([{ stream, count, floor: 0 }]).catch(() => void refused++);
        const [first] = await until(claim, { what: 'numbers' });
        return Array.from({ length: count }, (_, offset) => first! + offset);
      }),
    );
    const total = counts.reduce((sum, count) => sum + count, 0);
    const numbers = taken.flat().sort((x, y) => x - y);
    t.equal(new Set(numbers).size, total);
    if (refused === 0) t.equal(numbers.at(-1), total, 'nor leave one out');
  });
}

/**
 * The contract for a link that loses nothing; losses are tested in redis-engine.test.ts and
 * arrivals.test.ts.
 */
async function lossesContract(t: Test, connect: ConnectNodes): Promise<void> {
  const { a, b } = await connect(t);
  const missed: Missed[] = [];
  for (const node of [a, b]) node.onMissed((it) => missed.push(it));
  const channels = Array.from({ length: 50 }, newChannel);
  let isOver = false;
  let sequence = 0;
  const publishing = (async () => {
    while (!isOver) {
      const channel = channels[sequence++ % channels.length]!;
      await Promise.all([a, b].map((node) => node.publish(channel, makeFrame(sequence))));
      await pause(1);
    }
  })();
  const startedAtMs = performance.now();
  // After four announcements of either node.
  while (a.wholeMs < startedAtMs + 4_000 || b.wholeMs < startedAtMs + 4_000) {
    const subscriptions = await Promise.all(
      channels.map((channel, index) => (index % 2 === 0 ? a : b).subscribe(channel, () => {})),
    );
    for (const subscription of subscriptions) subscription.unsubscribe();
    await pause(1);
  }
  isOver = true;
  await publishing;
  t.same(missed, [], 'none, whoever came and went meanwhile');
  t.ok(a.wholeMs <= performance.now() && b.wholeMs <= performance.now());
}

async function closingContract(t: Test, connect: ConnectNodes): Promise<void> {
  const { a, b } = await connect(t);
  const channel = newChannel();
  let heardByA = 0;
  let heardByB = 0;
  await a.subscribe(channel, () => heardByA++);
  await b.subscribe(channel, () => heardByB++);
  t.equal(a.healthy, true);
  t.equal(b.healthy, true);

  const last = a.publish(channel, makeFrame(1));
  const closing = a.close();
  await last;
  await closing;
  await a.close();
  t.equal(a.healthy, false);
  t.equal(heardByA, 1);
  await until(() => heardByB === 1, { what: 'what was published before close arrives' });

  await t.rejects(a.publish(channel, makeFrame(2)), EngineUnavailableError);
  await t.rejects(
    a.subscribe(channel, () => {}),
    EngineUnavailableError,
  );
  await t.rejects(a.reserve([{ stream: channel, count: 1, floor: 0 }]), EngineUnavailableError);
  t.equal(heardByA, 1, 'nobody is called any more');
  await b.close();
}
