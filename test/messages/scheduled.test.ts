import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import t from 'tap';
import { RateLimiter } from '../../src/api/access/rate-limit.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { lockConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { addParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { lockMessage } from '../../src/core/messages/rows/message-store.ts';
import type { NewMessage } from '../../src/core/messages/rows/new-message.ts';
import { openMissingDeliveries } from '../../src/core/messages/schedules/missing-deliveries.ts';
import { type ScheduledJob, SEND_SCHEDULED } from '../../src/core/messages/schedules/schedule-store.ts';
import { cancelScheduled, reschedule, scheduleMessage } from '../../src/core/messages/schedules/scheduled.ts';
import { ScheduledDelivery } from '../../src/core/messages/schedules/scheduled-delivery.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { JobWorker } from '../../src/platform/db/queue/job-worker.ts';
import { JOBS } from '../../src/platform/db/queue/queue.ts';
import { handle } from '../../src/platform/db/queue/topic.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import type { Teardown } from '../support/teardown.ts';
import {
  addConversation,
  createGround,
  type Ground,
  log,
  newMessage,
  numbers,
  openWritePath,
} from '../support/timeline.ts';
import { until } from '../support/until.ts';

/** One database for all tests, each with an account of its own. */
const base = await createGround(t);

/** On a busy machine less passes before the request. */
const SOON_MS = 5_000;

/** Five tries take long enough for what happens between two of them. */
const BACKOFF_MS = 3_000;

t.test('enters the timeline at its time, as it was written', async (t) => {
  const ground = await newGround();
  const { delivery, committed, metrics } = openNode(ground);
  await work(t, ground.database, delivery);
  const scheduledAt = await timeIn(ground, SOON_MS);
  const row = await schedule(ground, scheduledAt, {
    mentions: [ground.authorId],
    attachments: [
      {
        id: newId('attachment'),
        position: 0,
        kind: 'link',
        s3_key: null,
        filename: null,
        content_type: null,
        size_bytes: null,
        url: 'https://example.com/',
        resource_type: null,
        resource_id: null,
      },
    ],
  });
  t.match(row, { kind: 'scheduled', status: 'scheduled', sequence: null, scheduled_at: scheduledAt });
  t.equal(row.created_at, row.updated_at);

  const sent = await until(
    async () => {
      const now = await read(ground, row.id);
      return now.status === 'sent' ? now : undefined;
    },
    { what: 'the delivery' },
  );
  const { updated_at, changed_in: _, attempts, outcome, ...rest } = sent;
  t.ok(updated_at >= scheduledAt, `${updated_at} >= ${scheduledAt}`);
  t.equal(attempts, 0);
  t.match(outcome, { result: 'sent', reason: null });
  t.match(rest, { ...row, status: 'sent', sequence: 1, updated_at: undefined });
  await until(() => committed.length === 1, { what: 'the effects to be told' });
  t.match(committed[0]!.messages[0], {
    row: { id: row.id, sequence: 1, kind: 'scheduled' },
    sender: { id: ground.authorId },
    attachments: [{ kind: 'link', url: 'https://example.com/' }],
    audience: 'internal',
  });
  t.match(await scheduleUpdates(ground), [row.id, row.id], 'that it waits, and that it was sent');
  await until(async () => (await jobs(ground)).length === 0, { what: 'an empty queue' });
  const { values } = await metrics.scheduledEnded.get();
  t.match(values, [{ labels: { result: 'sent' }, value: 1 }]);
});

t.test('a resend answers the original, whatever became of it', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  const first = await schedule(ground, await timeIn(ground, 60_000), { client_message_id: 'again' });
  const later = await timeIn(ground, 120_000);
  const second = await schedule(ground, later, { client_message_id: 'again', body: 'else' });
  t.same(second, first);
  t.equal((await jobs(ground)).length, 1);
  await makeDue(ground, first.id);
  await delivery.deliver(jobOf(first));
  const third = await schedule(ground, later, { client_message_id: 'again' });
  t.match(third, { id: first.id, status: 'sent', sequence: 1 });
  const together = await Promise.all(
    Array.from({ length: 6 }, () => schedule(ground, later, { client_message_id: 'together' })),
  );
  t.equal(new Set(together.map(({ id }) => id)).size, 1);
});

t.test('a time must be to come, within a year', async (t) => {
  const ground = await newGround();
  const refused = 'validation_failed scheduled_at';
  for (const at of ['2001-01-01T00:00:00Z', await timeIn(ground, -1), await timeIn(ground, 367 * DAY_MS)]) {
    t.equal(await refusalOf(schedule(ground, at)), refused, at);
  }
  const row = await schedule(ground, await timeIn(ground, 364 * DAY_MS));
  t.equal(
    await refusalOf(change(ground, row.id, (tx, it) => reschedule(tx, it, '2001-01-01T00:00:00Z'))),
    refused,
  );
  t.equal((await read(ground, row.id)).scheduled_at, row.scheduled_at);
  const offset = await schedule(ground, (await timeIn(ground, 60_000)).replace('Z', '+00:00'));
  t.match(offset.scheduled_at, /Z$/, 'shown in UTC');
});

t.test('canceled, put off or brought forward', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  await work(t, ground.database, delivery);
  const [canceled, earlier, later] = await Promise.all([
    schedule(ground, await timeIn(ground, 60_000)),
    schedule(ground, await timeIn(ground, 60_000)),
    schedule(ground, await timeIn(ground, 60_000)),
  ]);
  const putOff = await timeIn(ground, 120_000);
  await change(ground, canceled.id, (tx, row) => cancelScheduled(tx, row));
  await change(ground, earlier.id, async (tx, row) => reschedule(tx, row, await timeIn(ground, SOON_MS)));
  await change(ground, later.id, (tx, row) => reschedule(tx, row, putOff));
  await until(async () => (await read(ground, earlier.id)).status === 'sent', {
    what: 'what was brought forward',
  });
  t.match(await read(ground, canceled.id), {
    status: 'canceled',
    sequence: null,
    outcome: { result: 'canceled', reason: null },
  });
  t.match(await read(ground, later.id), { status: 'scheduled', sequence: null, outcome: null });
  t.match(await jobs(ground), [{ due_at: putOff }], 'the job waits for the one that was put off');
  for (const row of [canceled, earlier]) {
    t.equal(
      await refusalOf(change(ground, row.id, (tx, it) => cancelScheduled(tx, it))),
      'resource_conflict null',
    );
    const at = await timeIn(ground, 60_000);
    t.equal(
      await refusalOf(change(ground, row.id, (tx, it) => reschedule(tx, it, at))),
      'resource_conflict null',
    );
  }
  await delivery.deliver(jobOf(canceled));
  await delivery.deliver(jobOf(later));
  t.equal((await numbers(ground)).length, 1, 'a job that comes all the same does nothing');
});

t.test('once however many try, in the order of the conversation', async (t) => {
  const ground = await newGround();
  const other = await openDatabase({ url: ground.url, log });
  t.teardown(() => other.close());
  const engine = new MemoryEngine<Frame>();
  const nodes = [openNode(ground, { engine }), openNode(ground, { engine, database: other })];
  const rows = await Promise.all(
    Array.from({ length: 5 }, async () => schedule(ground, await timeIn(ground, 60_000))),
  );
  for (const { id } of rows) await makeDue(ground, id);
  await Promise.all(
    [...rows, ...rows, ...rows].map((row, index) => nodes[index % 2]!.delivery.deliver(jobOf(row))),
  );
  t.match(
    await numbers(ground),
    [1, 2, 3, 4, 5].map((sequence) => ({ sequence, status: 'sent' })),
    'and nobody took a number in vain',
  );
});

/** Changes between the writing and the sending, and the resulting refusals. */
const REFUSALS: Readonly<
  Record<string, { arrange: (ground: ScheduleGround) => Promise<unknown>; reason: string }>
> = {
  'its author is deactivated': {
    arrange: (ground) => update(ground, 'actors', ground.authorId, { deactivated_at: sql`now()` }),
    reason: 'invalid_credentials',
  },
  'its role may not send any more': {
    arrange: (ground) => update(ground, 'roles', ground.roleId, { permissions: sql`'{messaging:read}'` }),
    reason: 'insufficient_permissions',
  },
  'its author has no role any more': {
    arrange: (ground) => update(ground, 'actors', ground.authorId, { role_id: null }),
    reason: 'insufficient_permissions',
  },
  'the subscription ended': {
    arrange: (ground) => update(ground, 'accounts', ground.accountId, { subscription: 'canceled' }),
    reason: 'payment_required',
  },
  'its author was removed': {
    arrange: (ground) => setMembership(ground, { membership: 'removed' }),
    reason: 'resource_not_found',
  },
  'its author only reads': {
    arrange: (ground) => setMembership(ground, { role: 'viewer' }),
    reason: 'insufficient_permissions',
  },
  'the conversation is archived': {
    arrange: (ground) => update(ground, 'conversations', ground.conversationId, { status: 'archived' }),
    reason: 'resource_conflict',
  },
  'the key is revoked': {
    async arrange(ground) {
      await update(ground, 'actors', ground.authorId, { type: 'api_key' });
      await insertKey(ground, { revoked_at: new Date().toISOString() });
    },
    reason: 'invalid_credentials',
  },
  'the team has blocked the customer': {
    async arrange(ground) {
      await update(ground, 'actors', ground.authorId, { customer: true, role_id: null });
      const { database, accountId: account_id, authorId: actor_id } = ground;
      await database.kysely
        .insertInto('blocks')
        .values({ id: newId('block'), account_id, actor_id, created_by: actor_id })
        .execute();
    },
    reason: 'insufficient_permissions',
  },
  'the direct message is blocked': {
    arrange: (ground) => update(ground, 'conversations', ground.conversationId, { is_blocked: true }),
    reason: 'insufficient_permissions',
  },
  'an agent may not answer customers any more': {
    async arrange(ground) {
      await update(ground, 'actors', ground.authorId, { type: 'agent' });
      await ground.database.kysely
        .updateTable('messages')
        .set({ visibility: 'external' })
        .where('author_id', '=', ground.authorId)
        .execute();
    },
    reason: 'insufficient_permissions',
  },
};

for (const [what, { arrange, reason }] of Object.entries(REFUSALS)) {
  t.test(`five refusals and it failed: ${what}`, async (t) => {
    const ground = await newGround();
    const { delivery, metrics } = openNode(ground);
    const row = await schedule(ground, await timeIn(ground, 60_000));
    await makeDue(ground, row.id);
    await arrange(ground);
    for (let attempt = 1; attempt < 5; attempt++) {
      await delivery.deliver(jobOf(row));
      t.match(await read(ground, row.id), { status: 'scheduled', attempts: attempt, outcome: null });
    }
    t.equal((await jobs(ground)).length, 1, 'the next attempt waits');
    await delivery.deliver(jobOf(row));
    const failed = await read(ground, row.id);
    t.match(failed, { status: 'failed', sequence: null, attempts: 5, outcome: { result: 'failed', reason } });
    t.ok(failed.updated_at > row.updated_at);
    await delivery.deliver(jobOf(row));
    t.equal((await read(ground, row.id)).updated_at, failed.updated_at, 'the end is the end');
    t.match(await scheduleUpdates(ground), [row.id, row.id], 'that it waits, and that it failed');
    t.match((await metrics.scheduledEnded.get()).values, [{ labels: { result: 'failed' }, value: 1 }]);
  });
}

t.test('authors with access to the whole account need no membership, and a valid key is one', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  await setMembership(ground, { membership: 'removed' });
  const ofAdmin = await schedule(ground, await timeIn(ground, 60_000));
  await update(ground, 'roles', ground.roleId, { type: 'admin', permissions: sql`'{}'` });
  await makeDue(ground, ofAdmin.id);
  await delivery.deliver(jobOf(ofAdmin));
  t.match(await read(ground, ofAdmin.id), { status: 'sent' });

  const ofKey = await schedule(ground, await timeIn(ground, 60_000));
  await update(ground, 'actors', ground.authorId, { type: 'api_key' });
  await update(ground, 'roles', ground.roleId, { type: 'user', permissions: sql`'{messaging:create}'` });
  await insertKey(ground, { revoked_at: new Date().toISOString() });
  await insertKey(ground, { revoked_at: null });
  await makeDue(ground, ofKey.id);
  await delivery.deliver(jobOf(ofKey));
  t.match(await read(ground, ofKey.id), { status: 'sent' });
});

t.test('archived and taken out again in time: it is sent', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground, { backoffMs: BACKOFF_MS });
  await work(t, ground.database, delivery);
  await update(ground, 'conversations', ground.conversationId, { status: 'archived' });
  const row = await schedule(ground, await timeIn(ground, SOON_MS));
  await until(async () => (await read(ground, row.id)).attempts >= 2, { what: 'two refusals' });
  await update(ground, 'conversations', ground.conversationId, { status: 'active' });
  await until(async () => (await read(ground, row.id)).status === 'sent', { what: 'the delivery' });
});

t.test('an attempt counts once, and a new time resets the count', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground, { backoffMs: 60_000 });
  await update(ground, 'conversations', ground.conversationId, { status: 'archived' });
  const row = await schedule(ground, await timeIn(ground, 60_000));
  await makeDue(ground, row.id);
  await delivery.deliver(jobOf(row));
  await Promise.all([1, 2, 3].map(() => delivery.deliver(jobOf(row))));
  t.equal((await read(ground, row.id)).attempts, 1, 'none before the pause is over');
  await change(ground, row.id, async (tx, it) => reschedule(tx, it, await timeIn(ground, 60_000)));
  t.equal((await read(ground, row.id)).attempts, 0);
});

t.test('a scheduled message that is over a day late is canceled', async (t) => {
  const ground = await newGround();
  const { delivery, metrics } = openNode(ground);
  const row = await schedule(ground, await timeIn(ground, 60_000));
  await makeDue(ground, row.id, '25 hours');
  const before = await jobs(ground);
  await delivery.deliver(jobOf(row));
  t.match(await read(ground, row.id), {
    status: 'canceled',
    sequence: null,
    outcome: { result: 'canceled', reason: 'too_late' },
  });
  t.same(await jobs(ground), before, 'no other job');
  t.match((await metrics.scheduledEnded.get()).values, [{ labels: { result: 'canceled' }, value: 1 }]);
});

t.test('in the order of their times, then of their creation, together', async (t) => {
  const ground = await newGround();
  const { delivery, committed } = openNode(ground);
  const due: Record<string, number> = { third: -2_000, first: -4_000, second: -3_000, fourth: -2_000 };
  const now = Date.parse(await timeIn(ground, 0));
  const ids = new Map<string, string>();
  for (const [body, inMs] of Object.entries(due)) {
    const { id } = await schedule(ground, await timeIn(ground, 60_000), { body });
    ids.set(body, id);
    const at = new Date(now + inMs).toISOString();
    await run(ground, 'UPDATE messages SET scheduled_at = $2 WHERE id = $1', [id, at]);
  }
  const last = await schedule(ground, await timeIn(ground, 60_000), { body: 'not due' });
  await delivery.deliver(jobOf({ conversation_id: ground.conversationId }));
  const sent = await Promise.all(
    ['first', 'second', 'third', 'fourth'].map((it) => read(ground, ids.get(it)!)),
  );
  t.same(
    sent.map(({ sequence }) => sequence),
    [1, 2, 3, 4],
  );
  const times = sent.map(({ updated_at }) => updated_at);
  t.same(times, [...new Set(times)].sort(), 'and so are the times of sending');
  t.same(
    sent.map(({ outcome }) => outcome!.at),
    times,
  );
  t.equal(committed.length, 1);
  t.same(
    (await jobs(ground)).map(({ due_at }) => due_at),
    [last.scheduled_at],
    'the job waits for what is not due',
  );
});

t.test('what is refused is not overtaken until it is given up', async (t) => {
  const ground = await newGround();
  const other = await addAuthor(ground);
  const { delivery } = openNode(ground);
  const due = async (author_id: string, late: string) => {
    const row = await schedule(ground, await timeIn(ground, 60_000), { author_id, sender_id: author_id });
    await makeDue(ground, row.id, late);
    return row;
  };
  const before = await due(other, '5 minutes');
  const refused = [await due(ground.authorId, '4 minutes'), await due(ground.authorId, '2 minutes')];
  const behind = [await due(other, '3 minutes'), await due(other, '1 minute')];
  await update(ground, 'actors', ground.authorId, { deactivated_at: sql`now()` });
  for (let attempt = 1; attempt < 5; attempt++) {
    await delivery.deliver(jobOf(behind[0]!));
    t.match(await numbers(ground), [{ sequence: 1, client_message_id: before.client_message_id }]);
    for (const { id } of refused) t.match(await read(ground, id), { attempts: attempt });
    const soon = await timeIn(ground, 0);
    t.ok(
      (await jobs(ground)).every(({ due_at }) => due_at <= soon),
      'the first of them is tried again',
    );
  }
  const last = await jobs(ground);
  await delivery.deliver(jobOf(behind[0]!));
  for (const { id } of refused) t.match(await read(ground, id), { status: 'failed', attempts: 5 });
  t.same(
    (await numbers(ground)).map(({ client_message_id }) => client_message_id),
    [before, ...behind].map(({ client_message_id }) => client_message_id),
  );
  t.same(await jobs(ground), last, 'no other job');
});

t.test('an author sends no more than a credential may, the rest later and in order', async (t) => {
  const ground = await newGround();
  const other = await addAuthor(ground);
  let nowMs = 0;
  const limiter = new RateLimiter({ requests: 3, seconds: 60 }, { now: () => nowMs });
  const { delivery } = openNode(ground, { limiter });
  const rows: Awaited<ReturnType<typeof schedule>>[] = [];
  for (const [n, author_id] of [
    ground.authorId,
    ground.authorId,
    other,
    ground.authorId,
    ground.authorId,
    other,
  ].entries()) {
    const row = await schedule(ground, await timeIn(ground, 60_000), { author_id, sender_id: author_id });
    await makeDue(ground, row.id, `${20 - n} minutes`);
    rows.push(row);
  }
  const elsewhere = { ...ground, conversationId: await addConversation(ground) };
  const third = await addAuthor(elsewhere);
  const free = await schedule(elsewhere, await timeIn(ground, 60_000), {
    author_id: third,
    sender_id: third,
  });
  await makeDue(elsewhere, free.id);
  await delivery.deliver(jobOf(rows[0]!));
  t.equal((await numbers(ground)).length, 4, 'the other author waits behind the first');
  const [job] = await jobs(ground);
  t.ok(job!.due_at > (await timeIn(ground, 0)) && job!.due_at < (await timeIn(ground, 11_000)), job!.due_at);
  t.match(await read(ground, rows[4]!.id), { attempts: 0 }, 'which is no refusal');
  await delivery.deliver(jobOf(free));
  t.match(await read(ground, free.id), { status: 'sent' });
  nowMs = 60_000;
  await delivery.deliver(jobOf(rows[4]!));
  t.same(
    (await numbers(ground)).map(({ client_message_id }) => client_message_id),
    rows.map(({ client_message_id }) => client_message_id),
  );
});

t.test('a message that cannot be written is given up alone', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  await run(
    ground,
    `CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.status = 'sent' THEN RAISE 'poison'; END IF; RETURN NEW; END $$`,
    [],
  );
  await run(
    ground,
    `CREATE TRIGGER poison BEFORE UPDATE ON messages FOR EACH ROW WHEN (NEW.body = 'poison')
      EXECUTE FUNCTION refuse_poison()`,
    [],
  );
  const rows: Awaited<ReturnType<typeof schedule>>[] = [];
  for (const [n, body] of ['before', 'poison', 'behind'].entries()) {
    const row = await schedule(ground, await timeIn(ground, 60_000), { body });
    await makeDue(ground, row.id, `${9 - n} minutes`);
    rows.push(row);
  }
  for (let n = 0; n < 7; n++) await delivery.deliver(jobOf(rows[0]!));
  t.match(await read(ground, rows[1]!.id), {
    status: 'failed',
    outcome: { result: 'failed', reason: 'internal_error' },
  });
  const sent = (await numbers(ground)).filter(({ status }) => status === 'sent');
  t.same(
    sent.map(({ client_message_id }) => client_message_id),
    [rows[0]!.client_message_id, rows[2]!.client_message_id],
  );
});

t.test('more than one transaction sends: the rest has its job at once', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  const later = await timeIn(ground, 60_000);
  const rows = await Promise.all(Array.from({ length: 103 }, () => schedule(ground, later)));
  await run(ground, 'UPDATE messages SET scheduled_at = now() WHERE conversation_id = $1', [
    ground.conversationId,
  ]);
  await delivery.deliver(jobOf(rows[0]!));
  t.equal((await numbers(ground)).length, 100);
  const soon = await timeIn(ground, 0);
  const rest = await jobs(ground);
  t.ok(rest.length === 1 && rest[0]!.due_at <= soon);
  await delivery.deliver(jobOf(rows[0]!));
  t.equal((await numbers(ground)).length, 103);
  t.same(await jobs(ground), rest, 'no other job');
});

t.test('a node without its lock waits: no attempt is counted', async (t) => {
  const ground = await newGround();
  let held = false;
  const { delivery } = openNode(ground, { maySend: () => held });
  const row = await schedule(ground, await timeIn(ground, 60_000));
  await makeDue(ground, row.id);
  await delivery.deliver(jobOf(row));
  t.match(await read(ground, row.id), { status: 'scheduled', attempts: 0 });
  const [job] = await jobs(ground);
  t.ok(job!.due_at < (await timeIn(ground, 2_000)), 'asked again within a second');
  held = true;
  await delivery.deliver(jobOf(row));
  t.match(await read(ground, row.id), { status: 'sent', sequence: 1 });
});

t.test('what waits behind a message that is canceled or put off goes on', async (t) => {
  for (const act of ['cancel', 'put off'] as const) {
    const ground = await newGround();
    const { delivery } = openNode(ground, { backoffMs: BACKOFF_MS });
    const other = await addAuthor(ground);
    const ahead = await schedule(ground, await timeIn(ground, 60_000));
    const behind = await schedule(ground, await timeIn(ground, 60_000), {
      author_id: other,
      sender_id: other,
    });
    await makeDue(ground, behind.id, '1 minute');
    await makeDue(ground, ahead.id, '2 minutes');
    await update(ground, 'actors', ground.authorId, { deactivated_at: sql`now()` });
    await delivery.deliver(jobOf(ahead));
    t.match(await read(ground, behind.id), { status: 'scheduled', attempts: 0 }, act);
    await work(t, ground.database, delivery);
    await change(ground, ahead.id, async (tx, row) =>
      act === 'cancel' ? cancelScheduled(tx, row) : reschedule(tx, row, await timeIn(ground, 3_600_000)),
    );
    await until(async () => (await read(ground, behind.id)).status === 'sent', { what: 'the other one' });
  }
});

t.test('a job that ends while another message is scheduled leaves one for it', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  const { database, conversationId } = ground;
  const scheduling = Promise.withResolvers<void>();
  const committing = Promise.withResolvers<void>();
  t.teardown(() => committing.resolve());
  const first = await schedule(ground, await timeIn(ground, 60_000));
  await change(ground, first.id, (tx, row) => cancelScheduled(tx, row));
  // The job that waits comes no later than the new message, and is left alone.
  const at = await timeIn(ground, 120_000);
  const scheduled = database.transaction(async (tx) => {
    await scheduleMessage(tx, newMessage(ground, {}), at);
    scheduling.resolve();
    await committing.promise;
  });
  await scheduling.promise;
  await makeDue(ground, first.id);
  // Jobs of the tests above have become due as well if these took more than a minute.
  await run(ground, 'DELETE FROM jobs WHERE key <> $1', [conversationId]);
  const [taken] = await JOBS.take(database, 60_000, [SEND_SCHEDULED.name], 1);
  t.match(taken, { payload: { conversation_id: conversationId } });
  let isOver = false;
  const delivered = delivery.deliver(jobOf(first)).finally(() => {
    isOver = true;
  });
  const blocked = `
    SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  const waits = async () => isOver || (await database.pool.query(blocked)).rowCount === 1;
  await until(waits, { what: 'the delivery to wait for the other transaction' });
  committing.resolve();
  await Promise.all([scheduled, delivered]);
  await JOBS.settle(database, [{ ...taken!, due_in_ms: null }]);
  t.match(await jobs(ground), [{ due_at: at }]);
});

t.test('a job of the version before has the key of a message', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  const row = await schedule(ground, await timeIn(ground, 60_000));
  await run(ground, 'UPDATE jobs SET key = $1, due_at = now() WHERE key = $2', [
    row.id,
    ground.conversationId,
  ]);
  await run(ground, 'UPDATE messages SET scheduled_at = now() WHERE id = $1', [row.id]);
  await work(t, ground.database, delivery);
  await until(async () => (await read(ground, row.id)).status === 'sent', { what: 'the delivery' });
});

t.test('an overdue message without a job is sent', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  const row = await schedule(ground, await timeIn(ground, 60_000));
  const later = await schedule(ground, await timeIn(ground, 60_000));
  await run(ground, 'DELETE FROM jobs WHERE key = $1', [ground.conversationId]);
  await run(ground, "UPDATE messages SET scheduled_at = now() - interval '2 minutes' WHERE id = $1", [
    row.id,
  ]);
  await work(t, ground.database, delivery);
  const missing = openMissingDeliveries(ground.database, log);
  t.teardown(() => missing.close());
  await until(async () => (await read(ground, row.id)).status === 'sent', { what: 'the delivery' });
  t.match(await jobs(ground), [{ due_at: later.scheduled_at! }], 'which leaves the job of the next one');
});

t.test('on a case: the workflow moves when it is sent, not before', async (t) => {
  const ground = await newGround();
  const { delivery } = openNode(ground);
  await update(ground, 'conversations', ground.conversationId, {
    audience: 'customer',
    workflow_status: 'new',
  });
  const laneOf = async () => {
    const { workflow_status } = await ground.database.kysely
      .selectFrom('conversations')
      .select('workflow_status')
      .where('id', '=', ground.conversationId)
      .executeTakeFirstOrThrow();
    return workflow_status;
  };
  const reply = await schedule(ground, await timeIn(ground, 60_000), {
    visibility: 'external',
  });
  t.equal(await laneOf(), 'new');
  await makeDue(ground, reply.id);
  await delivery.deliver(jobOf(reply));
  t.equal(await laneOf(), 'waiting_external');

  await update(ground, 'actors', ground.authorId, { customer: true, role_id: null });
  const question = await schedule(ground, await timeIn(ground, 60_000), { visibility: 'external' });
  await makeDue(ground, question.id);
  await delivery.deliver(jobOf(question));
  t.equal(await laneOf(), 'open', 'customers need no role to send');
});

const DAY_MS = 86_400_000;

interface ScheduleGround extends Ground {
  readonly roleId: string;
}

/** An account with one conversation, whose author may send. */
async function newGround(): Promise<ScheduleGround> {
  const { database } = base;
  const accountId = newId('account');
  const authorId = newId('actor');
  const roleId = newId('role');
  await database.kysely.insertInto('accounts').values({ id: accountId, name: 'Harbor' }).execute();
  await database.kysely
    .insertInto('roles')
    .values({ id: roleId, account_id: accountId, name: 'Crew', permissions: ['messaging:create'] })
    .execute();
  await database.kysely
    .insertInto('actors')
    .values({ id: authorId, account_id: accountId, type: 'user', role_id: roleId })
    .execute();
  const ground = { ...base, accountId, authorId, roleId };
  return { ...ground, conversationId: await addConversation(ground) };
}

/** Another member of the account's conversation, with the same role. */
async function addAuthor({ database, accountId, roleId, conversationId }: ScheduleGround): Promise<string> {
  const id = newId('actor');
  await database.kysely
    .insertInto('actors')
    .values({ id, account_id: accountId, type: 'user', role_id: roleId })
    .execute();
  await database.transaction(async (tx) => {
    const conversation = await lockConversation(tx, conversationId);
    await addParticipant(tx, conversation, { type: 'user', actorId: id });
  });
  return id;
}

function openNode(
  ground: Ground,
  options: {
    readonly engine?: MemoryEngine<Frame>;
    readonly database?: Database;
    readonly maySend?: () => boolean;
    readonly limiter?: RateLimiter;
    readonly backoffMs?: number;
  } = {},
) {
  const { engine = new MemoryEngine<Frame>(), database = ground.database, backoffMs = 0 } = options;
  const { limiter = new RateLimiter(null) } = options;
  const { lockedWrites, committed } = openWritePath(ground, engine, options);
  const metrics = createNodeMetrics();
  const delivery = new ScheduledDelivery({
    database,
    lockedWrites,
    limiter,
    metrics,
    log,
    retries: { delaysMs: Array<number>(5).fill(backoffMs) },
  });
  return { delivery, committed, metrics };
}

async function work(t: Teardown, database: Database, delivery: ScheduledDelivery): Promise<void> {
  const handlers = [handle(SEND_SCHEDULED, (job) => delivery.deliver(job))];
  const watch = new DueWatch({ database, log });
  const worker = new JobWorker({ database, watch, handlers, log });
  watch.start();
  t.teardown(async () => {
    await watch.close();
    await worker.close();
  });
}

function schedule(ground: Ground, at: string, fields: Partial<NewMessage> = {}) {
  return ground.database.transaction((tx) => scheduleMessage(tx, newMessage(ground, fields), at));
}

function change<T>(
  ground: Ground,
  id: string,
  run: (tx: Tx, row: Awaited<ReturnType<typeof lockMessage>>) => Promise<T>,
): Promise<T> {
  return ground.database.transaction(async (tx) =>
    run(tx, await lockMessage(tx, { id, conversation_id: ground.conversationId })),
  );
}

/** `resource_conflict null`: what refuses, on one line. */
async function refusalOf(refused: Promise<unknown>): Promise<string> {
  return refused.then(
    () => 'accepted',
    (error: unknown) => (error instanceof ApiError ? `${error.condition} ${error.param}` : String(error)),
  );
}

function jobOf({ conversation_id }: { conversation_id: string }): ScheduledJob {
  return { conversation_id };
}

/** By Postgres' clock. */
async function timeIn({ database }: Ground, ms: number): Promise<string> {
  const [row] = await database.query(
    statement<[ms: number], { at: string }>('test-time')`
    SELECT clock_timestamp() + $1 * interval '1 millisecond' AS at`,
    ms,
  );
  return row!.at;
}

/** Tests give minutes, because the calls of a busy machine lie seconds apart. */
async function makeDue(ground: Ground, id: string, late = '1 minute'): Promise<void> {
  await run(ground, 'UPDATE messages SET scheduled_at = clock_timestamp() - $2::interval WHERE id = $1', [
    id,
    late,
  ]);
  await run(
    ground,
    'UPDATE jobs SET due_at = now() WHERE key = (SELECT conversation_id FROM messages WHERE id = $1)',
    [id],
  );
}

function read({ database }: Ground, id: string) {
  return database.kysely.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** The one of the ground's conversation, if it has one. */
function jobs({ database, conversationId }: Ground) {
  return database.kysely.selectFrom('jobs').selectAll().where('key', '=', conversationId).execute();
}

/** The messages of every `scheduled.updated` in the outbox. */
async function scheduleUpdates({ database, conversationId }: Ground): Promise<string[]> {
  const rows = await database.query(
    statement<[conversationId: string], { id: string }>('test-told')`
        SELECT c->>'id' AS id FROM outbox, jsonb_array_elements(payload->'changes') AS c
        WHERE topic = 'changed' AND c->>'event' = 'scheduled.updated' AND c->>'stream' = $1 ORDER BY outbox.id`,
    conversationId,
  );
  return rows.map(({ id }) => id);
}

async function update(
  { database }: Ground,
  table: 'actors' | 'roles' | 'accounts' | 'conversations',
  id: string,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  await database.kysely.updateTable(table).set(values).where('id', '=', id).execute();
}

async function setMembership({ database, authorId }: Ground, values: object): Promise<void> {
  await database.kysely.updateTable('participants').set(values).where('actor_id', '=', authorId).execute();
}

async function insertKey(ground: Ground, { revoked_at }: { revoked_at: string | null }): Promise<void> {
  await ground.database.kysely
    .insertInto('api_keys')
    .values({
      id: newId('apiKey'),
      account_id: ground.accountId,
      actor_id: ground.authorId,
      name: 'k',
      hash: Buffer.from(newId('apiKey')),
      redacted: '…',
      expires_at: null,
      revoked_at,
    })
    .execute();
}

async function run({ database }: Ground, text: string, values: (string | string[])[]): Promise<void> {
  await database.query({ name: `test-${text.length}-${text.slice(0, 30)}`, text }, ...values);
}
