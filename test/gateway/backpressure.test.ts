/** Sockets that do not read (docs/realtime.md#guarantees, 2 and 4). */

import t from 'tap';
import { PATIENCE_MS, until } from '../support/until.ts';
import { Ground } from './fixture.ts';
import { RawSocket } from './raw-socket.ts';

// More than the kernel buffers on loopback before our queue begins to grow.
const KERNEL_BYTES = 8_000_000;

// A busy machine may need longer than the ten seconds of a node until the others have everything.
const ground = await Ground.start(t, { limits: { cutMs: PATIENCE_MS } });
const { demo } = ground;
const { group, direct } = demo.conversations;

t.test(
  'a socket that stops reading gets the queued frames without a gap, then 4001; others get everything',
  async (t) => {
    const slow = await subscribed(group);
    const fast = await ground.ready();
    await fast.request('subscribe', { conversation_id: group });
    await fast.frame('caught_up');
    slow.socket.pause();
    const total = await ground.flood(group, 3 * KERNEL_BYTES, () => 16_000);
    await until(() => fast.frames.filter(({ type }) => type === 'event').length === total, { what: 'all' });
    t.strictSame(numbersOf(fast.frames), sequence(total), 'the other one, in order');
    slow.socket.resume();
    await until(() => slow.ended, { what: 'the end' });
    const got = numbersOf(slow.texts.map((text) => JSON.parse(text)));
    t.ok(got.length > 0 && got.length < total, `${got.length} of ${total} came through`);
    t.strictSame(got, sequence(got.length), 'and nothing behind a gap');
    t.equal(slow.closeCode, 4001);
    t.match(await fast.request('ping'), { type: 'pong' });
    fast.close();
  },
);

t.test('frames of every size, many slow readers: no gap, and the server lives', async (t) => {
  const readers = await Promise.all(Array.from({ length: 12 }, () => subscribed(group)));
  for (const reader of readers.slice(0, 8)) reader.socket.pause();
  // Over 16 KiB uWS hands a frame to each socket at once, below it batches a turn of the loop.
  const total = await ground.flood(group, 3 * KERNEL_BYTES, (n) =>
    n % 7 === 0 ? 60_000 : n % 3 === 0 ? 20_000 : 300,
  );
  for (const reader of readers) reader.socket.resume();
  const fast = readers.slice(8);
  await until(() => fast.every((reader) => numbersOfRaw(reader).length === total), { what: 'the fast ones' });
  for (const reader of fast) t.strictSame(numbersOfRaw(reader), sequence(total));
  for (const reader of readers.slice(0, 8)) {
    await until(() => reader.ended, { what: 'the end of a slow one' });
    const got = numbersOfRaw(reader);
    t.ok(got.length < total);
    t.strictSame(got, sequence(got.length));
    t.equal(reader.closeCode, 4001);
  }
  for (const reader of fast) reader.socket.destroy();
});

t.test('a socket that never reads again is cut, and costs no memory meanwhile', async (t) => {
  const strict = await Ground.start(t, { limits: { durableBytes: 256 * 1024, cutMs: 300 } });
  const { group } = strict.demo.conversations;
  const stalled = await Promise.all(Array.from({ length: 20 }, () => subscribed(group, strict)));
  for (const reader of stalled) reader.socket.pause();
  const before = process.memoryUsage().rss;
  let most = 0;
  const measure = () => {
    most = Math.max(most, process.memoryUsage().rss - before);
  };
  await strict.flood(group, 8 * KERNEL_BYTES, () => 16_000, measure);
  // Unbounded it would be 20 × 64 MB.
  t.ok(most < 150_000_000, `${Math.round(most / 1e6)} MB more at most`);
  await until(async () => (await strict.openSessions()) === 0, { what: 'the stalled to be cut' });
  const { values } = await strict.metrics.socketsClosed.get();
  t.match(values, [{ labels: { reason: 'slow_consumer' }, value: 20 }]);
  for (const reader of stalled) reader.socket.destroy();
});

t.test('a replay waits for its reader', async (t) => {
  await ground.storeMessages(direct, 1_000, 'x'.repeat(20_000));
  const reader = await RawSocket.open(ground.port, ground.headers());
  reader.socket.pause();
  ask(reader, direct, 0);
  const bystander = await ground.ready();
  for (let i = 0; i < 20; i++) await bystander.request('ping');
  bystander.close();
  reader.socket.resume();
  await until(() => reader.texts.some((text) => text.includes('"caught_up"')), { what: 'caught_up' });
  t.strictSame(
    reader.texts.flatMap((text) => JSON.parse(text).sequence ?? []),
    [...sequence(1_000), 1_000],
    'each message and caught_up, in order',
  );
  t.notOk(reader.ended);
  reader.socket.destroy();
});

t.test('a right that ends while bytes are queued: they are not sent any more', async (t) => {
  const roomy = await Ground.start(t, { limits: { durableBytes: 64_000_000 } });
  const { demo } = roomy;
  const graceId = demo.users.grace.id;
  const reader = await RawSocket.open(roomy.port, roomy.headers(demo.users.grace.access_token));
  ask(reader, demo.conversations.group);
  await until(() => reader.texts.length === 4, { what: 'caught_up' });
  reader.socket.pause();
  const total = await roomy.flood(demo.conversations.group, 3 * KERNEL_BYTES, () => 16_000);
  await roomy.setMember(demo.conversations.group, graceId, false);
  await until(async () => (await roomy.metrics.socketsOpen.get()).values[0]?.value === 0, {
    what: 'the cut',
  });
  reader.socket.resume();
  await until(() => reader.ended, { what: 'the end' });
  t.ok(numbersOfRaw(reader).length < total);
  t.equal(reader.closeCode, undefined, 'no close frame could overtake them');
});

async function subscribed(conversationId: string, on = ground): Promise<RawSocket> {
  const raw = await RawSocket.open(on.port, on.headers());
  ask(raw, conversationId);
  await until(() => raw.texts.some((text) => text.includes('"caught_up"')), { what: 'caught_up' });
  return raw;
}

function ask(raw: RawSocket, conversationId: string, after?: number): void {
  const frame = { type: 'subscribe', id: 's', conversation_id: conversationId, after_sequence: after };
  raw.frame(1, JSON.stringify(frame));
}

function numbersOf(frames: readonly { readonly data?: Readonly<Record<string, unknown>> }[]): unknown[] {
  return frames.flatMap(({ data }) => data?.number ?? []);
}

function numbersOfRaw(raw: RawSocket): unknown[] {
  return numbersOf(raw.texts.map((text) => JSON.parse(text)));
}

function sequence(length: number): number[] {
  return Array.from({ length }, (_, index) => index + 1);
}
