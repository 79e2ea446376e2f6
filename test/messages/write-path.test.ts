import { setImmediate } from 'node:timers/promises';
import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { NumberTaken } from '../../src/core/messages/timeline/locked-write.ts';
import { Numbers } from '../../src/core/messages/timeline/numbers.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Querier } from '../../src/platform/db/connection/handle.ts';
import { EngineUnavailableError, type NumberRequest } from '../../src/platform/engine/engine.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import {
  addConversation,
  createGround,
  type Ground,
  log,
  numbers,
  openWritePath,
  outgoing,
} from '../support/timeline.ts';
import { until } from '../support/until.ts';

t.test(
  'calls that find a counter absent take their numbers in their order, and before later calls',
  async (t) => {
    const { database, conversationId } = await createGround(t);
    const source = counted();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const late: Querier = {
      query: async (statement, ...values) => {
        await released;
        return database.pipeline.query(statement, ...values);
      },
    };
    const take = async (db: Querier) =>
      (await source.count(db, [{ stream: conversationId, count: 2 }])).firsts;
    const first = take(database.pipeline);
    const second = take(late);
    t.strictSame(await first, [1]);
    // The insert of the first message comes before any later flush.
    await setImmediate();
    const third = take(database.pipeline);
    release();
    t.strictSame([await second, await third], [[3], [5]]);
  },
);

t.test('a counter is raised although the call before failed to', async (t) => {
  const { database, conversationId } = await createGround(t);
  const source = counted();
  const broken: Querier = { query: () => Promise.reject(new Error('no connection')) };
  const take = async (db: Querier) => (await source.count(db, [{ stream: conversationId, count: 2 }])).firsts;
  const first = take(broken);
  const second = take(database.pipeline);
  await t.rejects(first, /no connection/);
  t.strictSame(await second, [1]);
});

t.test('messages get consecutive numbers in the order in which they came', async (t) => {
  const ground = await createGround(t);
  const { writePath, committed } = openWritePath(ground, new MemoryEngine());
  const sent = Array.from({ length: 300 }, () => outgoing(ground));
  const acknowledged = await Promise.all(sent.map((message) => writePath.append(message)));

  t.same(
    acknowledged.map(({ row }) => row.sequence),
    sent.map((_, index) => index + 1),
  );
  t.same(
    acknowledged.map(({ row }) => row.id),
    sent.map(({ message }) => message.id),
  );
  t.ok(committed.length < 30, 'batched');
  t.same(
    committed.flatMap(({ messages }) => messages.map(({ row }) => row.sequence)),
    sent.map((_, index) => index + 1),
    'committed in order',
  );
});

t.test('acknowledged messages are in Postgres', async (t) => {
  const ground = await createGround(t);
  const { writePath, timeline } = openWritePath(ground, new MemoryEngine());
  const mention = newId('actor');
  const { row } = await writePath.append(
    outgoing(ground, {
      body: 'line\n"quoted" \\ – 🌊',
      mentions: [mention],
      attachments: [
        {
          id: newId('attachment'),
          position: 0,
          kind: 'link',
          s3_key: null,
          filename: null,
          content_type: null,
          size_bytes: null,
          url: 'https://example.org/a?b=c',
          resource_type: null,
          resource_id: null,
        },
      ],
    }),
  );
  const [stored] = await timeline.read({ conversationId: ground.conversationId, after: 0, upTo: 1 });
  t.same(row, { ...stored });
  const attachments = await ground.database.kysely.selectFrom('attachments').selectAll().execute();
  t.match(attachments, [
    { message_id: row.id, url: 'https://example.org/a?b=c', created_at: row.created_at },
  ]);
  const outbox = await ground.database.kysely.selectFrom('outbox').selectAll().execute();
  t.match(outbox, [{ topic: 'messages.sent', payload: { messages: [{ id: row.id }] } }]);
});

t.test('twenty concurrent resends on two nodes make one message, and each caller gets it', async (t) => {
  const ground = await createGround(t);
  const engine = new MemoryEngine<Frame>();
  const other = await openDatabase({ url: ground.url, log });
  t.teardown(() => other.close());
  const nodes = [openWritePath(ground, engine), openWritePath(ground, engine, { database: other })];
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      nodes[index % 2]!.writePath.append(outgoing(ground, { client_message_id: 'same', body: `${index}` })),
    ),
  );
  t.equal(new Set(answers.map(({ row }) => row.id)).size, 1);
  t.equal(new Set(answers.map(({ row }) => row.body)).size, 1, 'the original, whatever else was sent');
  t.equal(answers.filter(({ resent }) => !resent).length, 1);
  await until(() => hasNoHole(ground), {
    what: 'a settled timeline',
  });
  t.equal((await numbers(ground)).filter(({ status }) => status === 'sent').length, 1);
});

t.test('a resend burns no number', async (t) => {
  const ground = await createGround(t);
  const { writePath } = openWritePath(ground, new MemoryEngine());
  const message = outgoing(ground);
  await writePath.append(message);
  await writePath.append({ ...message, message: { ...message.message, id: newId('message') } });
  const { row } = await writePath.append(outgoing(ground));
  t.equal(row.sequence, 2);
});

t.test('one client id in two conversations, or of two authors, is two messages', async (t) => {
  const ground = await createGround(t);
  const elsewhere = await addConversation(ground);
  const { writePath } = openWritePath(ground, new MemoryEngine());
  const answers = await Promise.all([
    writePath.append(outgoing(ground, { client_message_id: 'x' })),
    writePath.append(outgoing(ground, { client_message_id: 'x', conversation_id: elsewhere })),
    writePath.append(outgoing(ground, { client_message_id: 'x', author_id: newId('actor') })),
  ]);
  t.notOk(answers.some(({ resent }) => resent));
});

t.test('a bad row in a batch fails its own caller alone, and its number is voided', async (t) => {
  const ground = await createGround(t);
  await ground.database.pool.query(`ALTER TABLE messages ADD CHECK (body <> 'bad')`);
  const { writePath } = openWritePath(ground, new MemoryEngine());
  const results = await Promise.allSettled(
    ['a', 'bad', 'b', 'c', 'bad', 'd'].map((body) => writePath.append(outgoing(ground, { body }))),
  );
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
  await until(async () => (await numbers(ground)).length === 6, { what: 'the voids' });
  t.same(
    (await numbers(ground)).map(({ status }) => status),
    ['sent', 'void', 'sent', 'sent', 'void', 'sent'],
  );
});

t.test('two nodes whose batches hold the same client ids crossed do not deadlock', async (t) => {
  const ground = await createGround(t);
  const conversations = [ground.conversationId, await addConversation(ground)];
  const other = await openDatabase({ url: ground.url, log });
  t.teardown(() => other.close());
  const engine = new MemoryEngine<Frame>();
  const nodes = [openWritePath(ground, engine), openWritePath(ground, engine, { database: other })];
  const keys = Array.from({ length: 200 }, (_, index) => ({
    conversation_id: conversations[index % 2]!,
    client_message_id: `crossed-${index}`,
  }));
  const answers = await Promise.all([
    ...keys.map((key) => nodes[0]!.writePath.append(outgoing(ground, key))),
    ...keys.toReversed().map((key) => nodes[1]!.writePath.append(outgoing(ground, key))),
  ]);
  t.equal(answers.filter(({ resent }) => !resent).length, 200);
  t.equal(new Set(answers.map(({ row }) => row.id)).size, 200);
});

t.test('a counter that was wiped or rewound never makes a duplicate', async (t) => {
  const ground = await createGround(t);
  const first = openWritePath(ground, new MemoryEngine());
  await Promise.all(Array.from({ length: 50 }, () => first.writePath.append(outgoing(ground))));

  // A new engine knows no counters: as after FLUSHALL.
  const wiped = new MemoryEngine<Frame>();
  const second = openWritePath(ground, wiped);
  t.equal((await second.writePath.append(outgoing(ground))).row.sequence, 51);

  // As after a restored snapshot: the counter is there, and behind.
  const rewound = new MemoryEngine<Frame>();
  await rewound.reserve([{ stream: ground.conversationId, count: 1, floor: 10 }]);
  const third = openWritePath(ground, rewound);
  const { row } = await third.writePath.append(outgoing(ground));
  t.equal(row.sequence, 52);
  t.same(
    (await numbers(ground)).map(({ sequence }) => sequence),
    Array.from({ length: 52 }, (_, index) => index + 1),
  );
});

t.test('a number more than a thousand below the head is refused and replaced', async (t) => {
  const ground = await createGround(t);
  const { writePath: ahead } = openWritePath(ground, new MemoryEngine());
  await ahead.append(outgoing(ground));
  const jumped = new MemoryEngine<Frame>();
  await jumped.reserve([{ stream: ground.conversationId, count: 1, floor: 5_000 }]);
  const { writePath: far } = openWritePath(ground, jumped);
  t.equal((await far.append(outgoing(ground))).row.sequence, 5_002);

  const behind = new MemoryEngine<Frame>();
  await behind.reserve([{ stream: ground.conversationId, count: 1, floor: 3_000 }]);
  const { writePath: late } = openWritePath(ground, behind);
  t.equal((await late.append(outgoing(ground))).row.sequence, 5_003);
});

t.test('without its lock a node takes nothing', async (t) => {
  const ground = await createGround(t);
  const { writePath } = openWritePath(ground, new MemoryEngine(), { maySend: () => false });
  t.match(await refusal(writePath.append(outgoing(ground))), {
    condition: 'service_unavailable',
    retryAfterS: 1,
  });
  t.same(await numbers(ground), []);
});

t.test(
  'without counters two nodes number by Postgres, then with counters again, without a hole',
  async (t) => {
    const ground = await createGround(t);
    const other = await openDatabase({ url: ground.url, log });
    t.teardown(() => other.close());
    const counters = new Counters();
    const nodes = [
      openWritePath(ground, counters),
      openWritePath(ground, counters, { database: other }),
    ] as const;
    const send = async (count: number) => {
      const sent = Array.from({ length: count }, (_, n) => nodes[n % 2]!.writePath.append(outgoing(ground)));
      return (await Promise.all(sent)).map(({ row }) => row.sequence!);
    };
    const taken = await send(40);
    counters.isAway = true;
    taken.push(...(await send(200)));
    const [resent, known] = [outgoing(ground), outgoing(ground)];
    await nodes[0].writePath.append(known);
    const answers = await Promise.all([
      nodes[0].writePath.append(resent),
      nodes[1].writePath.append(resent),
      nodes[1].writePath.append(known),
    ]);
    t.equal(new Set(answers.map(({ row }) => row.id)).size, 2, 'a resend is the same message');
    taken.push(...new Set(answers.map(({ row }) => row.sequence!)));
    counters.isAway = false;
    taken.push(...(await send(100)));
    t.strictSame(
      taken.sort((one, two) => one - two),
      Array.from({ length: 342 }, (_, n) => n + 1),
    );
    t.ok((await numbers(ground)).every(({ status }) => status === 'sent'));
    t.equal(
      (await counters.reserve([{ stream: ground.conversationId, count: 1 }]))[0],
      343,
      'the counter follows',
    );
  },
);

t.test('numbers whose answer was lost with the counters are void at once', async (t) => {
  const ground = await createGround(t);
  const counters = new Counters();
  const { writePath } = openWritePath(ground, counters);
  await writePath.append(outgoing(ground));
  counters.losesAnswers = true;
  t.equal((await writePath.append(outgoing(ground))).row.sequence, 2, 'of Postgres');
  counters.losesAnswers = false;
  const isCountedAgain = async () => {
    await writePath.append(outgoing(ground));
    return !counters.wasLostLast;
  };
  await until(isCountedAgain, { what: 'the counters to be used again' });
  await until(() => hasNoHole(ground), { what: 'no hole' });
});

t.test('a node without counters beside one with them: no number twice, and few collisions', async (t) => {
  const ground = await createGround(t);
  const other = await openDatabase({ url: ground.url, log });
  t.teardown(() => other.close());
  const counters = new Counters();
  const cutOff = new Counters();
  cutOff.isAway = true;
  const nodes = [
    openWritePath(ground, counters),
    openWritePath(ground, cutOff, { database: other }),
  ] as const;
  const beganMs = performance.now();
  const sendTwenty = async ({ writePath }: (typeof nodes)[number]) => {
    const rows: number[] = [];
    for (let round = 0; round < 20; round++) {
      const sent = Array.from({ length: 10 }, () => writePath.append(outgoing(ground)));
      rows.push(...(await Promise.all(sent)).map(({ row }) => row.sequence!));
    }
    return rows;
  };
  const taken = (await Promise.all(nodes.map(sendTwenty))).flat();
  const seconds = (performance.now() - beganMs) / 1_000;
  t.equal(new Set(taken).size, 400);
  const rows = await numbers(ground);
  t.equal(rows.filter(({ status }) => status === 'sent').length, 400);
  await until(() => hasNoHole(ground), { what: 'no hole' });
  for (const { metrics } of nodes) {
    const { value } = (await metrics.numberCollisions.get()).values[0]!;
    // Three flushes may be under way at the moment of the first.
    t.ok(value <= 3 * (seconds + 1), `${value} collisions in ${seconds.toFixed(1)} s`);
  }
});

t.test('a node without counters that lost its number twice leaves numbers out, and voids them', async (t) => {
  const ground = await createGround(t);
  const cutOff = new Counters();
  cutOff.isAway = true;
  const busy = openWritePath(ground, new Counters());
  const { lockedWrites } = openWritePath(ground, cutOff);
  const taken: number[] = [];
  await lockedWrites.numbered(ground.conversationId, async (_tx, _conversation, take) => {
    taken.push(await take(1));
    if (taken.length > 2) return;
    await busy.writePath.append(outgoing(ground));
    throw new NumberTaken();
  });
  t.strictSame(taken, [1, 2, 7]);
  await until(async () => (await numbers(ground)).length === 6, { what: 'the voids' });
  t.ok(await hasNoHole(ground));
  const { row } = await busy.writePath.append(outgoing(ground));
  t.equal(row.sequence, 7, 'the other node goes on behind the voids');
  t.equal((await busy.metrics.numberCollisions.get()).values[0]!.value, 1);
});

t.test('what needs the lock of its conversation goes on without counters', async (t) => {
  const ground = await createGround(t);
  const counters = new Counters();
  const { lockedWrites, writePath } = openWritePath(ground, counters);
  counters.isAway = true;
  const enter = () => lockedWrites.enter(ground.conversationId, async () => outgoing(ground));
  const written = await Promise.all(
    Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? enter() : writePath.append(outgoing(ground)))),
  );
  const sequences = written.flatMap((one) => ('row' in one ? [one.row.sequence!] : []));
  t.strictSame(
    sequences.sort((one, two) => one - two),
    Array.from({ length: 30 }, (_, n) => n + 1),
  );
});

t.test('a message that lost its number to a void takes the next one', async (t) => {
  const ground = await createGround(t);
  const engine = new MemoryEngine<Frame>();
  const { writePath, timeline } = openWritePath(ground, engine);
  await writePath.append(outgoing(ground));
  // Another node's reader gave up on number 2 before this node wrote it.
  await timeline.void([{ conversationId: ground.conversationId, sequence: 2 }]);
  const { row } = await writePath.append(outgoing(ground));
  t.equal(row.sequence, 3);
  t.same(
    (await numbers(ground)).map(({ status }) => status),
    ['sent', 'void', 'sent'],
  );
});

t.test('a read past a hole waits for its owner, and voids it if the owner never commits', async (t) => {
  const ground = await createGround(t);
  const { timeline } = openWritePath(ground, new MemoryEngine());
  const insert = (sequence: number) =>
    ground.database.kysely
      .insertInto('messages')
      .values({
        id: newId('message'),
        account_id: ground.accountId,
        conversation_id: ground.conversationId,
        kind: 'chat',
        status: 'sent',
        visibility: 'internal',
        sequence,
      })
      .execute();
  for (const sequence of [1, 3, 5]) await insert(sequence);
  t.match(await timeline.standings([ground.conversationId]), [{ head: 5, settled: 1 }]);

  const reading = timeline.read({ conversationId: ground.conversationId, after: 0, upTo: 5 });
  await insert(2);
  const rows = await reading;
  t.same(
    rows.map(({ sequence }) => sequence),
    [1, 2, 3, 5],
    'the late one is there, the other is given up',
  );
  t.same(
    (await numbers(ground)).map(({ status }) => status),
    ['sent', 'sent', 'sent', 'void', 'sent'],
  );
  t.match(await timeline.standings([ground.conversationId]), [{ head: 5, settled: 5 }]);
});

/** Returns the rejection of a promise; undefined if it resolved. */
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

t.test('a send costs one statement and one claim of a number, and so do 64 at once', async (t) => {
  const ground = await createGround(t);
  let claims = 0;
  class CountedEngine extends MemoryEngine<Frame> {
    override reserve(requests: Parameters<MemoryEngine<Frame>['reserve']>[0]) {
      claims += 1;
      return super.reserve(requests);
    }
  }
  const metrics = createNodeMetrics();
  const database = await openDatabase({ url: ground.url, log, metrics });
  t.teardown(() => database.close());
  const { writePath } = openWritePath(ground, new CountedEngine(), { database });
  const statements = async () => {
    const { values } = await metrics.statements.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.name, value]));
  };
  // The counter is seeded from Postgres once.
  await writePath.append(outgoing(ground));
  for (const count of [1, 64]) {
    const before = await statements();
    claims = 0;
    await Promise.all(Array.from({ length: count }, () => writePath.append(outgoing(ground))));
    const expected = { ...before, 'insert-messages': before['insert-messages']! + 1 };
    t.strictSame(await statements(), expected, `${count} at once`);
    t.equal(claims, 1);
  }
});

function counted(): Numbers {
  const timeline = { void: async () => {} };
  return new Numbers({ engine: new MemoryEngine(), timeline, metrics: createNodeMetrics() });
}

/** Counters that can be away, or take numbers without an answer. */
class Counters extends MemoryEngine<Frame> {
  isAway = false;
  losesAnswers = false;
  /** Whether the last answer was lost. */
  wasLostLast = false;

  override get healthy(): boolean {
    return !this.isAway;
  }

  override async reserve(claims: readonly NumberRequest[]): Promise<(number | null)[]> {
    if (this.isAway) throw new EngineUnavailableError();
    const firsts = await super.reserve(claims);
    this.wasLostLast = this.losesAnswers;
    if (this.losesAnswers) throw new EngineUnavailableError();
    return firsts;
  }
}

async function hasNoHole(ground: Ground): Promise<boolean> {
  return (await numbers(ground)).every(({ sequence }, index) => sequence === index + 1);
}
