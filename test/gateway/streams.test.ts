import { SOCKET_LIMITS } from '@parley/protocol/socket/socket-limits.ts';
import { NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import t from 'tap';
import { Rights } from '../../src/api/access/rights.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import type { Frame as NodeFrame } from '../../src/core/frames/frame.ts';
import { publish, toFrame } from '../../src/core/frames/publish.ts';
import { type MessageRow, messageEvent, withParts } from '../../src/core/resources/message.ts';
import { Presence } from '../../src/edge/gateway/presence/presence.ts';
import { bytesFor } from '../../src/edge/gateway/stream/forms.ts';
import { type Reader, topics } from '../../src/edge/gateway/stream/reader.ts';
import { Streams } from '../../src/edge/gateway/stream/streams.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { NO_FILES } from '../support/files.ts';
import { WAITING_LOCKS } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { createGround, type Ground, log, openWritePath, outgoing } from '../support/timeline.ts';
import { until } from '../support/until.ts';

t.test('live messages come in order, whatever order their frames arrive in', async (t) => {
  const { ground, node, send } = await openNode(t);
  const reader = new Recorder(node);
  await (await node.streams.join(ground.conversationId, reader, undefined)).run();
  const frames = await committedFrames(ground, send, 6);
  for (const index of [1, 0, 5, 3, 2, 4]) await node.engine.publish(ground.conversationId, frames[index]!);
  t.same(reader.created(), [1, 2, 3, 4, 5, 6]);

  for (const frame of frames) await node.engine.publish(ground.conversationId, frame);
  t.same(reader.created(), [1, 2, 3, 4, 5, 6], 'a frame that comes again is dropped');
});

t.test('a frame that never comes is read from Postgres', async (t) => {
  const { ground, node, send } = await openNode(t);
  const reader = new Recorder(node);
  await (await node.streams.join(ground.conversationId, reader, undefined)).run();
  const frames = await committedFrames(ground, send, 3);
  await node.engine.publish(ground.conversationId, frames[2]!);
  await until(() => reader.created().length === 3, { what: 'the repaired messages' });
  t.same(reader.created(), [1, 2, 3]);
});

t.test('a message that loses its content leaves the memory of the node', async (t) => {
  const { ground, node, send } = await openNode(t);
  const reader = new Recorder(node);
  await (await node.streams.join(ground.conversationId, reader, undefined)).run();
  const frames = await committedFrames(ground, send, 4);
  const secret = Buffer.from('{"type":"event","event":"secret"}');
  const tombstone = Buffer.from('{"type":"event","event":"message.updated"}');
  const publish = (index: number, fields: object) =>
    node.engine.publish(ground.conversationId, { ...frames[index]!, ...fields });
  const erase = (index: number) =>
    publish(index, {
      kind: 'updated',
      updatedAtUs: frames[index]!.updatedAtUs + 1,
      erases: true,
      team: tombstone,
    });
  const [stream] = await node.streams.open([ground.conversationId]);
  const { journal } = stream!;
  const unfollow = journal.follow();
  await publish(0, { team: secret });
  await publish(1, {});
  await erase(0);
  t.strictSame(
    journal.since(journal.start)?.map((frame) => frame && `${frame.sequence} ${frame.kind}`),
    [undefined, '2 created', '1 updated'],
    'a reader that is behind reads the first one from Postgres',
  );
  unfollow();
  t.strictSame(journal.since(journal.end), [], 'nothing is kept while no reader catches up');
  t.equal(journal.start, journal.end);
  await publish(3, { team: secret });
  await erase(3);
  await publish(2, {});
  await until(() => reader.frames.length >= 6, { what: 'the fourth message and its tombstone' });
  t.equal(reader.frames.filter(({ event }) => event === 'secret').length, 1, 'what waited is read again');
  t.equal(journal.start, journal.end);
  t.same(reader.created(), [2, 3, 4]);
});

t.test('a deletion while a reader catches up costs it no change', async (t) => {
  const { ground, node, send } = await openNode(t);
  const live = new Recorder(node);
  await (await node.streams.join(ground.conversationId, live, undefined)).run();
  const frames = await committedFrames(ground, send, 3);
  const publish = (index: number, fields: object = {}) =>
    node.engine.publish(ground.conversationId, { ...frames[index]!, ...fields });
  const change = (index: number, fields: object) =>
    publish(index, { kind: 'updated', updatedAtUs: frames[index]!.updatedAtUs + 1, ...fields });
  await publish(0);
  const reader = new Recorder(node);
  const joined = await node.streams.join(ground.conversationId, reader, undefined);
  await change(0, { team: Buffer.from('{"type":"event","event":"edited"}') });
  await publish(1, { team: Buffer.from('{"type":"event","event":"secret"}') });
  await change(1, { erases: true, team: Buffer.from('{"type":"event","event":"deleted"}') });
  await publish(2);
  await joined.run();
  const { frames: received } = reader;
  t.same(
    received.map(({ event, type, sequence }) => [event ?? type, sequence].join(' ').trim()),
    ['message.created 2', 'message.created 3', 'edited', 'deleted', 'caught_up 3'],
  );
});

t.test('a void lets what waits behind it through at once', async (t) => {
  const { ground, node, send } = await openNode(t);
  const reader = new Recorder(node);
  await (await node.streams.join(ground.conversationId, reader, undefined)).run();
  const [first] = await committedFrames(ground, send, 1);
  const later = { ...first!, sequence: 3 };
  await node.engine.publish(ground.conversationId, first!);
  await node.engine.publish(ground.conversationId, later);
  t.same(reader.created(), [1]);
  await node.engine.publish(ground.conversationId, {
    kind: 'void',
    stream: ground.conversationId,
    sequence: 2,
  });
  t.equal(reader.frames.filter(({ type }) => type === 'event').length, 2);
});

t.test('a number that is never committed is given up, and delivery continues', async (t) => {
  const { ground, node, send } = await openNode(t);
  const reader = new Recorder(node);
  await (await node.streams.join(ground.conversationId, reader, undefined)).run();
  await node.engine.reserve([{ stream: ground.conversationId, count: 1, floor: 0 }]);
  const [frame] = await committedFrames(ground, send, 1);
  t.equal(frame!.sequence, 2, 'number 1 was taken by somebody who died');
  await node.engine.publish(ground.conversationId, frame!);
  await until(() => reader.created().length === 1, { what: 'the message behind the hole' });
  t.same(reader.created(), [2]);
});

t.test('replay runs into live without a gap or a double, under load', async (t) => {
  const { ground, node, send } = await openNode(t, { live: true });
  let head = 0;
  for (let n = 0; n < 100; n++) head = await send();
  const readers: { readonly recorder: Recorder; readonly after: number }[] = [];
  for (let n = 0; n < 20; n++) {
    let joined = false;
    // Bounded: if sending were faster than reading, a new reader would never catch up.
    const load = (async () => {
      for (let round = 0; round < 50 && !joined; round++) {
        head = Math.max(...(await Promise.all(Array.from({ length: 5 }, () => send()))));
      }
    })();
    // From behind the head as it is now: from a fixed number a quick sender would leave too many
    // behind.
    const reader = { recorder: new Recorder(node), after: head - n * 5 };
    readers.push(reader);
    await (await node.streams.join(ground.conversationId, reader.recorder, reader.after)).run();
    joined = true;
    await load;
  }
  const last = await send();
  await until(() => readers.every(({ recorder }) => recorder.created().at(-1) === last), {
    what: 'the last message',
  });
  for (const { recorder, after } of readers) {
    t.same(
      recorder.created(),
      Array.from({ length: last - after }, (_, index) => after + index + 1),
      `from ${after}`,
    );
  }
});

t.test('a reader that has more than this node has delivered gets none of it again', async (t) => {
  const { ground, node, send } = await openNode(t);
  const first = new Recorder(node);
  await (await node.streams.join(ground.conversationId, first, undefined)).run();
  const frames = await committedFrames(ground, send, 4);
  await node.engine.publish(ground.conversationId, frames[0]!);
  const reader = new Recorder(node);
  const joined = await node.streams.join(ground.conversationId, reader, 3);
  t.equal(joined.headSequence, 3);
  await joined.run();
  t.same(reader.frames, [{ type: 'caught_up', conversation_id: ground.conversationId, sequence: 3 }]);
  for (const frame of frames.slice(1)) await node.engine.publish(ground.conversationId, frame);
  t.same(reader.created(), [4]);
  t.same(first.created(), [1, 2, 3, 4]);

  const beyond = new Recorder(node);
  await (await node.streams.join(ground.conversationId, beyond, 1_000)).run();
  const [next] = await committedFrames(ground, send, 1);
  await node.engine.publish(ground.conversationId, next!);
  t.same(beyond.created(), [5], 'one that has more than Postgres goes on from what there is');
});

t.test('caught_up contains the last sequence, and precedes live events', async (t) => {
  const { ground, node, send } = await openNode(t, { live: true });
  for (let n = 0; n < 3; n++) await send();
  const reader = new Recorder(node);
  const joined = await node.streams.join(ground.conversationId, reader, 1);
  t.equal(joined.headSequence, 3);
  await joined.run();
  await send();
  t.same(
    reader.frames.map((frame) => frame.sequence),
    [2, 3, 3, 4],
  );
  t.match(reader.frames[2], { type: 'caught_up', conversation_id: ground.conversationId });
});

t.test('a client that is too far behind must page, and is not subscribed', async (t) => {
  const { ground, node, send } = await openNode(t, { live: true });
  await Promise.all(Array.from({ length: 1_001 }, () => send()));
  const reader = new Recorder(node);
  await (await node.streams.join(ground.conversationId, reader, 0)).run();
  // On a busy machine a reader may have settled a number as void before its message was written.
  const { head_sequence: head = 0 } = reader.frames[0] as { readonly head_sequence?: number };
  const voids = head - 1_001;
  t.ok(voids >= 0 && voids < 100, `${voids} voids`);
  t.same(reader.frames, [
    { type: 'resync', conversation_id: ground.conversationId, reason: 'too_many', head_sequence: head },
  ]);
  t.equal(reader.topics.size, 0);

  const nearer = new Recorder(node);
  await (await node.streams.join(ground.conversationId, nearer, head - 1_000)).run();
  const read = nearer.created().length;
  t.ok(read <= 1_000 && read >= 1_000 - voids, `${read} of the last thousand numbers`);
});

t.test('a range read for one socket serves the next one, until a message in it changes', async (t) => {
  const { ground, node, send } = await openNode(t, { live: true });
  for (let n = 0; n < 3; n++) await send();
  const bodies = async () => {
    const reader = new Recorder(node);
    await (await node.streams.join(ground.conversationId, reader, 0)).run();
    return reader.frames.filter(({ event }) => event?.startsWith('message.')).map(({ data }) => data?.body);
  };
  const before = await bodies();
  const edit = (body: string) =>
    ground.database.query(
      { name: 'test-edit', text: 'UPDATE messages SET body = $2 WHERE sequence = $1' },
      2,
      body,
    );
  await edit('not told yet');
  t.same(await bodies(), before, 'Postgres was not asked');

  const live = new Recorder(node);
  await (await node.streams.join(ground.conversationId, live, 0)).run();
  await edit('told');
  const [, second] = await ground.database.query(
    statement<[conversationId: string], MessageRow>('test-rows')`
    SELECT * FROM messages WHERE conversation_id = $1 ORDER BY sequence`,
    ground.conversationId,
  );
  const [message] = await withParts(ground.database, NO_FILES, [
    { ...second!, updated_at: new Date(Date.now() + 1_000).toISOString() },
  ]);
  await publish(node.engine, messageEvent('message.updated', message!, 'internal'));
  t.same(live.frames.at(-1)?.data?.body, 'told');
  t.same(await bodies(), [before[0], 'told', before[2]]);
});

t.test('a replay waits for a reader that takes nothing, also one of large messages', async (t) => {
  const { ground, node, send } = await openNode(t, { live: true });
  const body = 'x'.repeat(40_000);
  for (let n = 0; n < 40; n++) await send({ body });
  const reader = new SlowReader(node);
  const running = (await node.streams.join(ground.conversationId, reader, 0)).run();
  for (let last = 0; last < 40; last = reader.created().length) {
    await until(() => reader.created().length > last, { what: 'more of it' });
    t.ok(reader.most <= 400 * 1_024, `${reader.most} bytes at once`);
    // Sent while it catches up: the journal's, which it waits for as well.
    if (last < 20) await Promise.all(Array.from({ length: 10 }, () => send({ body })));
    reader.take();
  }
  const takes = setInterval(() => reader.take(), 1);
  await running;
  clearInterval(takes);
  const created = reader.created();
  t.same(
    created,
    Array.from({ length: created.length }, (_, index) => index + 1),
  );
  t.ok(reader.most <= 600 * 1_024, `${reader.most} bytes at once`);
});

t.test('a stream without readers is closed', async (t) => {
  const { ground, node, send } = await openNode(t, { live: true });
  const reader = new Recorder(node);
  await (await node.streams.join(ground.conversationId, reader, undefined)).run();
  node.streams.leave(ground.conversationId, reader);
  await send();
  t.same(reader.created(), []);
  t.equal((await node.streams.open()).length, 0);
});

t.test('leaving during the replay ends it', async (t) => {
  const { ground, node, send } = await openNode(t, { live: true });
  for (let n = 0; n < 50; n++) await send();
  const reader = new Recorder(node);
  const joined = await node.streams.join(ground.conversationId, reader, 0);
  const running = joined.run();
  node.streams.leave(ground.conversationId, reader);
  await running;
  t.same(reader.frames, []);
  t.equal(reader.topics.size, 0);
});

t.test('leaving during the read of a large message ends it before the first byte', async (t) => {
  const { ground, node, send } = await openNode(t, { live: true });
  for (let n = 0; n < 2; n++) await send({ body: '\u4e16'.repeat(30_000) });
  const reader = new Recorder(node);
  const joined = await node.streams.join(ground.conversationId, reader, 0);
  const { pool } = ground.database;
  const blocker = await pool.connect();
  await blocker.query('BEGIN; LOCK TABLE messages IN ACCESS EXCLUSIVE MODE');
  const running = joined.run();
  const waiting = () => pool.query(WAITING_LOCKS);
  await until(async () => (await waiting()).rowCount! > 0, { what: 'the read' });
  node.streams.leave(ground.conversationId, reader);
  await blocker.query('ROLLBACK');
  blocker.release();
  await running;
  t.same(reader.frames, []);
});

t.test('messages that a reader may not see do not count as missed', async (t) => {
  const { ground, node, send } = await openNode(t);
  await send({ visibility: 'external' });
  await Promise.all(Array.from({ length: 1_005 }, () => send()));
  const reader = new CustomerRecorder(node);
  const joined = await node.streams.join(ground.conversationId, reader, 1);
  t.equal(joined.headSequence, 1);
  await joined.run();
  t.same(reader.frames, [{ type: 'caught_up', conversation_id: ground.conversationId, sequence: 1 }]);
  t.equal(reader.topics.size, 2, 'it is live');
});

t.test(
  'a client so slow that changes are forgotten must reload; messages alone are found again',
  async (t) => {
    for (const isEdited of [true, false]) {
      const { ground, node, send } = await openNode(t, { live: true });
      for (let n = 0; n < 12; n++) await send({ body: 'x'.repeat(40_000) });
      const reader = new SlowReader(node);
      const running = (await node.streams.join(ground.conversationId, reader, 0)).run();
      await until(() => reader.most > 128 * 1_024, { what: 'a reader that takes nothing' });
      if (isEdited) {
        const rows = await ground.database.query(
          statement<[conversationId: string], MessageRow>('test-first')`
    SELECT * FROM messages WHERE conversation_id = $1 ORDER BY sequence LIMIT 1`,
          ground.conversationId,
        );
        const [first] = await withParts(ground.database, NO_FILES, rows);
        await publish(node.engine, messageEvent('message.updated', first!, 'internal'));
      }
      for (let n = 0; n < 60; n++) await Promise.all(Array.from({ length: 10 }, () => send()));
      const takes = setInterval(() => reader.take(), 1);
      await running;
      clearInterval(takes);
      const last = reader.frames.at(-1);
      if (isEdited) t.match(last, { type: 'resync', reason: 'too_many', head_sequence: 612 });
      else {
        t.match(last, { type: 'caught_up', sequence: 612 });
        t.same(
          reader.created(),
          Array.from({ length: 612 }, (_, index) => index + 1),
        );
      }
      t.equal(reader.topics.size, isEdited ? 0 : 2);
    }
  },
);

t.test('a client that stops reading is sent parts, and gets everything once it reads', async (t) => {
  const { ground, node, send } = await openNode(t);
  const body = '\u0001'.repeat(40_000);
  for (let n = 0; n < 20; n++) await send({ body });
  for (let n = 0; n < 20; n++) await send({ body: 'x'.repeat(20_000) });
  const reader = new SlowReader(node);
  const running = (await node.streams.join(ground.conversationId, reader, 0)).run();
  await until(() => reader.most > 128 * 1_024, { what: 'a reader that takes nothing' });
  const takes = setInterval(() => reader.take(), 1);
  await running;
  clearInterval(takes);
  // One message of control characters has 240 KB, and is sent whole.
  t.ok(reader.most < 400 * 1_024, `${reader.most} bytes at once`);
  t.same(
    reader.created(),
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
  t.equal(reader.frames.filter(({ data }) => data?.body === body).length, 20);
});

t.test('no more of a range is read from Postgres than a part', async (t) => {
  const { ground, node, send } = await openNode(t);
  for (let n = 0; n < 40; n++) await send({ body: 'x'.repeat(40_000) });
  const { database } = ground;
  let bytes = 0;
  const query = database.query.bind(database);
  database.query = async (asked, ...values) => {
    const rows = await query(asked, ...values);
    for (const { body } of rows as { body?: string | null }[]) bytes += body?.length ?? 0;
    return rows;
  };
  const reader = new SlowReader(node);
  const running = (await node.streams.join(ground.conversationId, reader, 0)).run();
  await until(() => reader.most > 128 * 1_024, { what: 'a reader that takes nothing' });
  t.ok(bytes < 400_000, `${bytes} bytes of text were read for it`);
  const takes = setInterval(() => reader.take(), 1);
  await running;
  clearInterval(takes);
  t.equal(reader.created().length, 40);
});

interface Frame {
  readonly type: string;
  readonly event?: string;
  readonly sequence?: number;
  readonly data?: { readonly body?: string };
}

type Node = Awaited<ReturnType<typeof openNode>>['node'];

/** A node's streams over a real database; `live`: what is sent is published as it is committed. */
async function openNode(t: Teardown, options: { live?: boolean } = {}) {
  const ground = await createGround(t);
  const engine = new MemoryEngine<NodeFrame>();
  const rights = await Rights.open(engine);
  t.teardown(() => rights.close());
  const readers = new Set<Recorder>();
  const { writePath, timeline, committed } = openWritePath(ground, engine);
  const presence = new Presence({
    engine,
    holdMs: SOCKET_LIMITS.presenceMs,
    deliver: (conversationId, event) => streams.deliverEphemeral(conversationId, event),
    onError: () => undefined,
  });
  t.teardown(() => presence.close());
  const streams = new Streams({
    files: NO_FILES,
    database: ground.database,
    engine,
    timeline,
    directory: new ConversationDirectory(ground.database, rights),
    log,
    metrics: createNodeMetrics(),
    presence,
    limits: SOCKET_LIMITS,
    broadcast: (kind, frame) => {
      for (const reader of readers) {
        const bytes = bytesFor(frame, reader);
        if (bytes && reader.topics.has(topics[kind](frame.stream, reader))) reader.send(bytes);
      }
    },
  });
  const send = async (fields: { body?: string; visibility?: 'external' } = {}): Promise<number> => {
    const { row } = await writePath.append(outgoing(ground, fields));
    if (options.live) {
      for (const batch of committed.splice(0)) {
        for (const message of batch.messages) {
          await publish(engine, messageEvent('message.created', message, message.audience));
        }
      }
    }
    return row.sequence!;
  };
  return { ground, node: { engine, streams, readers, timeline }, send };
}

/** Sends messages and answers their frames, unpublished. */
async function committedFrames(ground: Ground, send: () => Promise<number>, count: number) {
  const sequences: number[] = [];
  for (let n = 0; n < count; n++) sequences.push(await send());
  const { timeline } = openWritePath(ground, new MemoryEngine());
  const rows = await timeline.read({
    conversationId: ground.conversationId,
    after: sequences[0]! - 1,
    upTo: sequences.at(-1)!,
  });
  const messages = await withParts(ground.database, NO_FILES, rows);
  return messages.map((message) => toFrame(messageEvent('message.created', message, 'internal')));
}

/** A socket's place in the streams, that keeps what it gets. */
class Recorder implements Reader {
  readonly audience: Reader['audience'] = 'team';
  readonly version: Version = NEWEST_VERSION;
  readonly hidden = [];
  readonly closed = false;
  bufferedBytes = 0;
  readonly frames: Frame[] = [];
  readonly topics = new Set<string>();

  constructor(node: Node) {
    node.readers.add(this);
  }

  created(): (number | undefined)[] {
    return this.frames.filter(({ event }) => event === 'message.created').map(({ sequence }) => sequence);
  }

  send(bytes: Buffer): void {
    this.frames.push(JSON.parse(bytes.toString()));
  }

  sendAll(frames: readonly Buffer[]): void {
    for (const bytes of frames) this.send(bytes);
  }

  get heldBytes(): number {
    return this.bufferedBytes;
  }

  async drained(): Promise<void> {}

  forget(): void {}
  giveUp(): void {}

  join(topic: string): void {
    this.topics.add(topic);
  }

  leave(topic: string): void {
    this.topics.delete(topic);
  }

  isOn(topic: string): boolean {
    return this.topics.has(topic);
  }
}

class CustomerRecorder extends Recorder {
  override readonly audience = 'customer';
}

/** A reader whose client accepts nothing until it is released. */
class SlowReader extends Recorder {
  /** Bytes that were buffered at once. */
  most = 0;
  #waiting: (() => void)[] = [];

  take(): void {
    this.bufferedBytes = 0;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  override send(bytes: Buffer): void {
    super.send(bytes);
    this.bufferedBytes += bytes.length;
    this.most = Math.max(this.most, this.bufferedBytes);
  }

  override drained(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
