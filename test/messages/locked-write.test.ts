import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import type { Frame } from '../../src/core/frames/frame.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import {
  createGround,
  type Ground,
  log,
  newMessage,
  numbers,
  openWritePath,
  outgoing,
} from '../support/timeline.ts';
import { until } from '../support/until.ts';

t.test('a new message: numbered, stored, published and acknowledged as by the fast path', async (t) => {
  const ground = await createGround(t);
  const { writePath, lockedWrites, timeline, committed } = openWritePath(ground, new MemoryEngine());
  await writePath.append(outgoing(ground));
  const asked = outgoing(ground, { body: 'under the lock' });
  const { row, resent } = await lockedWrites.enter(ground.conversationId, async () => asked);
  t.equal(resent, false);
  t.equal(row.sequence, 2);
  const stored = await timeline.read({ conversationId: ground.conversationId, after: 1, upTo: 2 });
  t.same([row], stored);
  t.same(committed.at(-1)?.messages[0]?.row, row);
  const outbox = await ground.database.kysely.selectFrom('outbox').selectAll().execute();
  t.match(outbox.at(-1), { id: committed.at(-1)?.outboxId, payload: { messages: [{ id: row.id }] } });
});

t.test('a draft enters the timeline as it is, once however many try', async (t) => {
  const ground = await createGround(t);
  const other = await openDatabase({ url: ground.url, log });
  t.teardown(() => other.close());
  const engine = new MemoryEngine<Frame>();
  const nodes = [openWritePath(ground, engine), openWritePath(ground, engine, { database: other })];
  const draft = await insertDraft(ground);
  const approve = (node: number) =>
    nodes[node]!.lockedWrites.enterWaiting(
      ground.conversationId,
      async (tx) => {
        const { status } = await tx.kysely
          .selectFrom('messages')
          .select('status')
          .where('id', '=', draft)
          .executeTakeFirstOrThrow();
        if (status !== 'draft') throw new ApiError('resource_conflict', 'not open');
        return { status: 'draft', entries: [{ id: draft, senderId: ground.authorId }] };
      },
      async () => {},
    );
  const results = await Promise.allSettled([approve(0), approve(1), approve(0), approve(1)]);
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  t.match(
    results.filter(({ status }) => status === 'rejected'),
    Array.from({ length: 3 }, () => ({ reason: { condition: 'resource_conflict' } })),
  );
  t.match(await numbers(ground), [{ sequence: 1, status: 'sent' }], 'and nobody took a number in vain');
  const stored = await ground.database.kysely
    .selectFrom('messages')
    .selectAll()
    .where('id', '=', draft)
    .executeTakeFirstOrThrow();
  t.match(stored, { sender_id: ground.authorId, outcome: { result: 'sent', reason: null, at: /Z$/ } });
  t.ok(stored.updated_at > stored.created_at);
});

t.test('the conversation cannot change between the decision and the number', async (t) => {
  const ground = await createGround(t);
  const { lockedWrites } = openWritePath(ground, new MemoryEngine());
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 6 }, () =>
      lockedWrites.enter(
        ground.conversationId,
        async () => {
          inside += 1;
          most = Math.max(most, inside);
          return outgoing(ground);
        },
        async () => {
          inside -= 1;
        },
      ),
    ),
  );
  t.equal(most, 1);
  t.same(
    (await numbers(ground)).map(({ sequence }) => sequence),
    [1, 2, 3, 4, 5, 6],
  );
});

t.test('many writes that wait for one conversation leave connections for others', async (t) => {
  const ground = await createGround(t);
  const { lockedWrites } = openWritePath(ground, new MemoryEngine());
  const other = await openDatabase({ url: ground.url, log });
  t.teardown(() => other.close());
  let waiting: Promise<unknown>[] = [];
  await other.transaction(async (tx) => {
    await tx.kysely
      .selectFrom('conversations')
      .select('id')
      .where('id', '=', ground.conversationId)
      .forUpdate()
      .execute();
    waiting = Array.from({ length: 30 }, () =>
      lockedWrites.enter(ground.conversationId, async () => outgoing(ground)),
    );
    // Ten of them would be every connection there is.
    const read = () => ground.database.kysely.selectFrom('accounts').select('id').execute();
    t.equal((await Promise.all(Array.from({ length: 20 }, read))).length, 20);
  });
  await Promise.all(waiting);
  t.equal((await numbers(ground)).length, 30);
});

t.test('a counter that was wiped or rewound never makes a duplicate', async (t) => {
  const ground = await createGround(t);
  const before = openWritePath(ground, new MemoryEngine());
  for (let n = 0; n < 3; n++) await before.writePath.append(outgoing(ground));
  const rewound = new MemoryEngine<Frame>();
  await rewound.reserve([{ stream: ground.conversationId, count: 1, floor: 1 }]);
  for (const engine of [new MemoryEngine<Frame>(), rewound]) {
    const { lockedWrites } = openWritePath(ground, engine);
    await lockedWrites.enter(ground.conversationId, async () => outgoing(ground));
  }
  const draft = await insertDraft(ground);
  const stale = new MemoryEngine<Frame>();
  await stale.reserve([{ stream: ground.conversationId, count: 1, floor: 2 }]);
  await openWritePath(ground, stale).lockedWrites.enterWaiting(
    ground.conversationId,
    async () => ({ status: 'draft', entries: [{ id: draft, senderId: null }] }),
    async () => {},
  );
  t.same(
    (await numbers(ground)).map(({ sequence, status }) => [sequence, status]),
    [1, 2, 3, 4, 5, 6].map((sequence) => [sequence, 'sent']),
  );
});

t.test('a known client id answers the original and burns no number', async (t) => {
  const ground = await createGround(t);
  const { writePath, lockedWrites } = openWritePath(ground, new MemoryEngine());
  const original = await writePath.append(outgoing(ground, { client_message_id: 'same' }));
  let followed = false;
  const answer = await lockedWrites.enter(
    ground.conversationId,
    async () => outgoing(ground, { client_message_id: 'same', body: 'other' }),
    async () => {
      followed = true;
    },
  );
  t.equal(answer.resent, true);
  t.same({ ...answer.row }, { ...original.row, ...answer.row });
  t.equal(answer.row.id, original.row.id);
  t.equal(followed, false);
  const { row } = await writePath.append(outgoing(ground));
  t.equal(row.sequence, 2);
});

t.test('`follow` fails: nothing was sent, and the number is a void', async (t) => {
  const ground = await createGround(t);
  const { lockedWrites, committed } = openWritePath(ground, new MemoryEngine());
  const failing = lockedWrites.enter(
    ground.conversationId,
    async () => outgoing(ground),
    async () => {
      throw new ApiError('idempotency_in_progress', 'taken over');
    },
  );
  t.match(await refusal(failing), { condition: 'idempotency_in_progress' });
  await until(async () => (await numbers(ground)).length === 1, { what: 'a void' });
  t.match(await numbers(ground), [{ sequence: 1, status: 'void' }]);
  t.same(committed, []);
});

t.test('without its lock a node takes nothing', async (t) => {
  const ground = await createGround(t);
  const engine = new MemoryEngine<Frame>();
  const unlocked = openWritePath(ground, engine, { maySend: () => false });
  t.match(await refusal(unlocked.lockedWrites.enter(ground.conversationId, async () => outgoing(ground))), {
    condition: 'service_unavailable',
  });
  t.same(await numbers(ground), []);
});

/** Returns the rejection of a promise; undefined if it resolved. */
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function insertDraft(ground: Ground): Promise<string> {
  const { attachments: _, metadata: __, ...columns } = newMessage(ground, { client_message_id: null });
  await ground.database.kysely
    .insertInto('messages')
    .values({
      ...columns,
      id: newId('message'),
      status: 'draft',
      visibility: 'external',
      sequence: null,
      mentions: null,
      cc: null,
      source_thread_message_id: null,
      agent_run_id: null,
      scheduled_at: null,
      edited_at: null,
      deleted_at: null,
    })
    .execute();
  const { id } = await ground.database.kysely
    .selectFrom('messages')
    .select('id')
    .where('status', '=', 'draft')
    .executeTakeFirstOrThrow();
  return id;
}
