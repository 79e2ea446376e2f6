/**
 * Every queue in a table (platform/db/queue/leased-rows.ts), with two nodes: the rows that they
 * take, the rows that they leave when they die, and what they may still write when they come back.
 */

import { newId } from '@parley/protocol/ids.ts';
import t, { type Test } from 'tap';
import { RUNS } from '../../src/features/agents/runs/state/lease-store.ts';
import { startRun } from '../../src/features/agents/runs/state/start.ts';
import { insertAgent } from '../../src/features/agents/store.ts';
import { addComplianceJob, JOBS as COMPLIANCE_JOBS } from '../../src/features/compliance/jobs/job-store.ts';
import { IMPORTS, insertImport } from '../../src/features/import/imports/import-store.ts';
import { OUTGOING } from '../../src/features/mail/outgoing/outgoing-store.ts';
import { webRows } from '../../src/features/push/web/web-channel.ts';
import {
  addDeliveries,
  pending,
  DELIVERIES as WEBHOOKS,
} from '../../src/features/webhooks/delivery-store.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Value } from '../../src/platform/db/connection/statement.ts';
import type { LeasedRows } from '../../src/platform/db/queue/leased-rows.ts';
import { addJob, JOBS } from '../../src/platform/db/queue/queue.ts';
import { defineTopic } from '../../src/platform/db/queue/topic.ts';
import { addMail } from '../mail/fixture.ts';
import { createGround, log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { firstTry } from '../webhooks/delivering.ts';
import { addWebhook } from '../webhooks/webhook.ts';

const ground = await createGround(t);
const { database: one, accountId, authorId } = ground;
const other = await openDatabase({ url: ground.url, log });
t.teardown(() => other.close());

const LONG_MS = 60_000;
/** A lease that is over as soon as it is asked about: that of a node that died or hangs. */
const OVER_MS = 0;
const COUNT = 30;

/** A row that a node has, or had. */
interface Held {
  readonly id: string;
  renew(db: Database): Promise<boolean>;
  release(db: Database): Promise<void>;
  settle(db: Database, due_in_ms: number | null): Promise<boolean>;
}

interface Kind {
  readonly name: string;
  readonly ids: readonly string[];
  /** Whether a node that has lost a row neither renews nor releases it. */
  readonly isFenced: boolean;
  /** Whether its outcome is refused too; otherwise it is harmless. */
  readonly refusesLate: boolean;
  /** Whether another node takes a row whose lease is over; otherwise it ends it. */
  readonly isTakenAgain: boolean;
  take(db: Database, leaseMs: number): Promise<Held[]>;
  waiting(): Promise<number>;
  isDue(): Promise<boolean>;
}

function kind<Key extends object, Row extends Key, By extends readonly Value[], Settled extends object>(
  queue: LeasedRows<Key, Row, By, Settled>,
  {
    by,
    idOf,
    settled,
    ...how
  }: Pick<Kind, 'name' | 'ids' | 'isFenced' | 'refusesLate' | 'isTakenAgain'> & {
    readonly by: NoInfer<By>;
    idOf(row: NoInfer<Row>): string;
    settled(row: NoInfer<Row>, isDone: boolean): NoInfer<Settled>;
  },
): Kind {
  return {
    ...how,
    take: async (db, leaseMs) =>
      (await queue.take(db, leaseMs, ...by)).map((row) => ({
        id: idOf(row),
        renew: async (db) => (await queue.renew(db, [row], LONG_MS)).length > 0,
        release: (db) => queue.release(db, [row]),
        settle: async (db, due_in_ms) => {
          const outcome = { ...row, ...settled(row, due_in_ms === null), due_in_ms };
          return (await queue.settle(db, [outcome])).length > 0;
        },
      })),
    waiting: async () => (await queue.measure(one)).waiting,
    isDue: async () => (await one.pool.query(`SELECT ${queue.hasDue} AS due`)).rows[0].due === true,
  };
}

const QUEUES = [
  await webhooks(),
  await pushes(),
  await mails(),
  await jobs(),
  await complianceJobs(),
  await imports(),
  await runs(),
];

for (const queue of QUEUES) {
  const { isFenced, refusesLate, isTakenAgain } = queue;
  const none = async (t: Test, what: string) => t.strictSame(await queue.take(other, LONG_MS), [], what);

  t.test(`${queue.name}: of two nodes that die, hang and come back, one has a row`, async (t) => {
    if (isTakenAgain) t.equal(await queue.waiting(), COUNT, 'what waits is counted');
    const rounds = await Promise.all([one, other, one, other].map((db) => queue.take(db, LONG_MS)));
    const held = rounds.flat();
    // What a lock hides from one round, the next one finds.
    held.push(...(await queue.take(one, LONG_MS)));
    t.strictSame(idsOf(held), [...queue.ids].sort(), 'two takers at once: each row once, and all of them');
    await none(t, 'none is left');
    t.notOk(await queue.isDue(), 'nor is any due');
    if (isFenced) t.strictSame(await all(held, (row) => row.renew(other)), [true], 'a lease is renewed');
    if (!isTakenAgain) return;

    await all(held, (row) => row.release(one));
    const lost = await queue.take(other, OVER_MS);
    t.strictSame(idsOf(lost), idsOf(held), 'what is released is there at once');
    await until(() => queue.isDue(), { what: 'the leases of a node that died to end' });
    const heirs = await queue.take(one, LONG_MS);
    t.strictSame(idsOf(heirs), idsOf(lost), 'another node has them');
    if (isFenced) {
      t.strictSame(await all(lost, (row) => row.renew(other)), [false], 'one that comes back renews none');
      await all(lost, (row) => row.release(other));
      await none(t, 'nor does it give away what it has lost');
    }
    if (refusesLate) {
      t.strictSame(await all(lost, (row) => row.settle(other, null)), [false], 'its outcome is refused');
      await none(t, 'and changes nothing');
    }

    const [later, soon] = [heirs.slice(COUNT / 2), heirs.slice(0, COUNT / 2)];
    await all(later, (row) => row.settle(one, LONG_MS));
    await none(t, 'a later try is later');
    await all(soon, (row) => row.settle(one, 1));
    // Their tries are due at times of their own, since each row is settled by a statement of its
    // own.
    const last: Held[] = [];
    await until(async () => last.push(...(await queue.take(other, LONG_MS))) >= soon.length, {
      what: 'the times of the next tries',
    });
    t.strictSame(idsOf(last), idsOf(soon), 'an earlier try comes, once for each row');
    await all(last, (row) => row.settle(other, null));
    t.equal(await queue.waiting(), later.length, 'what is done is counted no more');
    if (!refusesLate)
      await all(
        lost.filter(({ id }) => idsOf(last).includes(id)),
        (row) => row.settle(one, null),
      );
    await none(t, 'and never taken again');
  });
}

/** Returns the different results. */
async function all<Result>(rows: readonly Held[], act: (row: Held) => Promise<Result>): Promise<Result[]> {
  return [...new Set(await Promise.all(rows.map(act)))];
}

function idsOf(rows: readonly Held[]): string[] {
  return rows.map(({ id }) => id).sort();
}

async function webhooks() {
  const id = await addWebhook(one, { accountId, actorId: authorId });
  const tries = Array.from({ length: COUNT }, () => firstTry(id).delivery);
  await addDeliveries(
    one,
    tries.map((delivery) => ({ delivery, state: pending(0) })),
  );
  return kind(WEBHOOKS, {
    name: 'webhook deliveries',
    ids: tries.map((delivery) => delivery.id),
    isFenced: false,
    refusesLate: false,
    isTakenAgain: true,
    idOf: (row) => row.id,
    by: [[], [], COUNT, COUNT],
    settled: (row, isDone) => ({
      ...pending(0, row),
      status: isDone ? ('delivered' as const) : ('pending' as const),
    }),
  });
}

async function pushes() {
  const ids = Array.from({ length: COUNT }, () => newId('notification'));
  await one.pool.query(
    `INSERT INTO push_subscriptions (id, account_id, actor_id, endpoint, origin, p256dh, auth, key_id)
     VALUES ('psh_1', $1, $2, 'https://push.example/1', 'https://push.example', '', '', '')`,
    [accountId, authorId],
  );
  await one.pool.query(
    `INSERT INTO push_deliveries (subscription_id, notification_id, due_at)
     SELECT 'psh_1', unnest($1::text[]), clock_timestamp()`,
    [ids],
  );
  return kind(webRows('').leased, {
    name: 'pushes',
    ids,
    isFenced: true,
    refusesLate: false,
    isTakenAgain: true,
    idOf: (row) => row.notification_id,
    by: [[], COUNT],
    settled: () => ({ shown: false }),
  });
}

async function mails() {
  const ids: string[] = [];
  for (let n = 0; n < COUNT; n++) {
    const mail = await addMail(
      { database: one, accountId },
      { direction: 'out', purpose: 'reply', status: 'queued', next_try_at: new Date(0).toISOString() },
    );
    ids.push(mail.id);
  }
  return kind(OUTGOING, {
    name: 'mails',
    ids,
    isFenced: true,
    refusesLate: false,
    isTakenAgain: true,
    idOf: (row) => row.id,
    by: [[], COUNT],
    settled: (_, isDone) => ({
      status: isDone ? ('sent' as const) : ('deferred' as const),
      reason: null,
      recipients: '[]',
    }),
  });
}

async function jobs() {
  const topic = defineTopic<{ n: number }>('test');
  await one.transaction(async (tx) => {
    for (let n = 0; n < COUNT; n++) await addJob(tx, topic, { n });
  });
  const { rows } = await one.pool.query<{ id: string }>("SELECT id FROM jobs WHERE topic = 'test'");
  return kind(JOBS, {
    name: 'jobs',
    ids: rows.map(({ id }) => id),
    isFenced: true,
    refusesLate: true,
    isTakenAgain: true,
    idOf: (row) => row.id,
    by: [['test'], COUNT],
    settled: () => ({}),
  });
}

async function complianceJobs() {
  const ids = Array.from({ length: COUNT }, () => newId('export'));
  await one.transaction(async (tx) => {
    for (const id of ids) {
      const about = { account_id: accountId, subject_id: authorId, requested_by: authorId } as const;
      await addComplianceJob(tx, { id, kind: 'user_export', ...about });
    }
  });
  // What ends a job has more to say than a row of settle (exports.test.ts).
  return kind(COMPLIANCE_JOBS.rows, {
    name: 'compliance jobs',
    ids,
    isFenced: true,
    refusesLate: true,
    isTakenAgain: true,
    idOf: (row) => row.id,
    by: [null, COUNT],
    settled: (_, isDone) => ({ status: isDone ? ('complete' as const) : ('queued' as const) }),
  });
}

async function imports() {
  // An account has one open import at a time.
  const ids = await one.transaction(async (tx) => {
    const inserted: string[] = [];
    for (let n = 0; n < COUNT; n++) {
      const accountId = newId('account');
      await tx.kysely.insertInto('accounts').values({ id: accountId, name: 'Harbor' }).execute();
      const archive = { source: 'slack', options: {}, sizeBytes: 1, partBytes: null, sha256: null } as const;
      inserted.push((await insertImport(tx, { accountId, createdBy: null, ...archive })).id);
    }
    return inserted;
  });
  // What ends an import has more to say than a row of settle (test/import/import-job.test.ts).
  return kind(IMPORTS.rows, {
    name: 'imports',
    ids,
    isFenced: true,
    refusesLate: true,
    isTakenAgain: true,
    idOf: (row) => row.id,
    by: [ids, COUNT],
    settled: (_, isDone) => ({ status: isDone ? ('completed' as const) : ('queued' as const) }),
  });
}

async function runs() {
  const ids = await one.transaction(async (tx) => {
    const fields = { name: 'Mate', slug: 'mate', category_code: 'ops', trigger_type: 'manual' } as const;
    const agent = await insertAgent(tx, { account_id: accountId, ...fields });
    const started: string[] = [];
    for (let n = 0; n < COUNT; n++) {
      const trigger = { type: 'manual', key: newId('message'), input: null, by: null } as const;
      const place = { conversationId: null, messageId: null, depth: 0, rootId: null };
      started.push((await startRun(tx, agent, { ...trigger, ...place }))!.id);
    }
    return started;
  });
  // The run of a node that died ends (runner.ts), and its end is written under its fence.
  return kind(RUNS, {
    name: 'runs',
    ids,
    isFenced: true,
    refusesLate: true,
    isTakenAgain: false,
    idOf: (row) => row.id,
    by: [ids, 'node'],
    settled: () => ({}),
  });
}
