import t from 'tap';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { JobWorker, type JobWorkerOptions } from '../../src/platform/db/queue/job-worker.ts';
import { addJob, JOBS, removeJob } from '../../src/platform/db/queue/queue.ts';
import { defineTopic, handle } from '../../src/platform/db/queue/topic.ts';
import { startChild } from '../support/child.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

interface Note {
  readonly note: string;
}

const NOTE = defineTopic<Note>('note');

t.test('a job runs once its transaction has committed, and not before its time', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  const done: { note: string; at: string }[] = [];
  work(t, database, async ({ note }: Note) => {
    done.push({ note, at: await now(database) });
  });
  await t.rejects(
    database.transaction(async (tx) => {
      await addJob(tx, NOTE, { note: 'rolled back' });
      throw new Error('no');
    }),
  );
  const runAt = await timeIn(database, 400);
  await database.transaction(async (tx) => {
    await addJob(tx, NOTE, { note: 'at its time' }, { runAt });
    await addJob(tx, NOTE, { note: 'after a while' }, { afterMs: 400 });
    await addJob(tx, NOTE, { note: 'replaced' }, { key: 'k', runAt });
    await addJob(tx, NOTE, { note: 'replacing' }, { key: 'k', runAt });
    await addJob(tx, NOTE, { note: 'removed' }, { key: 'r', runAt });
    await removeJob(tx, 'r');
    await addJob(tx, NOTE, { note: 'at once' });
  });
  await until(() => done.length === 4, { what: 'four jobs' });
  t.same(done.map(({ note }) => note).sort(), ['after a while', 'at its time', 'at once', 'replacing']);
  for (const { note, at } of done) if (note !== 'at once') t.ok(at >= runAt, `${note}: ${at} >= ${runAt}`);
  await until(async () => (await rows(database)).length === 0, { what: 'an empty queue' });
});

t.test('a job of a key that keeps the earlier time', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  const [first, second, third] = [
    await timeIn(database, 60_000),
    await timeIn(database, 120_000),
    await timeIn(database, 180_000),
  ];
  const add = async (note: string, runAt: string, keepsEarlier?: true) => {
    const options = { key: 'k', runAt, ...(keepsEarlier && { keepsEarlier }) };
    await database.transaction((tx) => addJob(tx, NOTE, { note }, options));
    const [job, ...others] = await rows(database);
    t.same(others, []);
    return job!;
  };
  const before = await add('one', second);
  t.same(await add('two', third, true), before, 'one that comes in time is left alone');
  t.match(await add('three', first, true), { due_at: first, payload: { note: 'three' } }, 'brought forward');
  t.match(await add('four', third), { due_at: third, payload: { note: 'four' } }, 'without: replaced');
  await database.pool.query('UPDATE jobs SET attempts = 1, due_at = $1', [first]);
  const taken = await rows(database);
  const replacing = await add('five', second, true);
  t.match(replacing, { due_at: first, attempts: 0 }, 'a job that a node has is replaced');
  t.not(replacing.id, taken[0]!.id);
});

t.test('a job begins when it is due, at once or later, and those of later versions are left', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  await database.pool.query(`
    INSERT INTO jobs (topic, payload, due_at)
    SELECT 'later', '{}', now() - interval '1 hour' FROM generate_series(1, 500)`);
  const done: string[] = [];
  work(t, database, async ({ note }) => {
    done.push(note);
    if (note === 'failing' && done.filter((other) => other === note).length === 1) throw new Error('no');
  });
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'at once' }));
  await until(() => done.length === 1, { what: 'the workers to work' });
  for (const note of ['first', 'second']) {
    const runAt = await timeIn(database, 300);
    await database.transaction((tx) => addJob(tx, NOTE, { note }, { runAt }));
    await until(() => done.includes(note), { what: note });
  }
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'failing' }));
  await until(() => done.filter((note) => note === 'failing').length === 2, { what: 'the retry' });
  const others = (await rows(database)).filter(({ topic }) => topic === 'later');
  t.equal(others.length, 500);
  t.ok(others.every(({ attempts }) => attempts === 0));
});

t.test('a job that another node adds is found, and none of many runs on two nodes', async (t) => {
  const { url } = await createTestDatabase(t);
  const [adding, one, other] = [await open(t, url), await open(t, url), await open(t, url)];
  const runs = new Map<string, string[]>();
  for (const [node, database] of Object.entries({ one, other })) {
    work(t, database, async ({ note }) => void runs.set(note, [...(runs.get(note) ?? []), node]));
  }
  await adding.transaction(async (tx) => {
    for (let n = 0; n < 200; n++) await addJob(tx, NOTE, { note: `${n}` }, { afterMs: 100 });
  });
  await until(async () => (await rows(adding)).length === 0, { what: 'an empty queue' });
  t.equal(runs.size, 200);
  t.same(
    [...runs.values()].filter(({ length }) => length > 1),
    [],
  );
  t.same([...new Set([...runs.values()].flat())].sort(), ['one', 'other'], 'both have had some');
});

t.test('the job of a node that is killed runs on another one after its lease, and not before', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await open(t, url);
  const child = startChild(t, 'job-worker-child.ts', [url, '1000']);
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'taken' }));
  t.same(await child.output, { note: 'taken' });
  const ran: boolean[] = [];
  work(t, database, async (_payload, isRepeated) => void ran.push(isRepeated));
  const [{ due_at: end }] = (await rows(database)) as [Row];
  await until(async () => (await now(database)) > end, { what: 'the first lease to be over' });
  await until(async () => (await rows(database))[0]!.due_at > end, { what: 'a renewed lease' });
  t.same(ran, []);
  await child.kill('SIGKILL');
  const [{ due_at: over }] = (await rows(database)) as [Row];
  await until(() => ran.length > 0, { what: 'the other node' });
  t.ok((await now(database)) >= over);
  t.same(ran, [true], 'it is told that the job may have run');
  await until(async () => (await rows(database)).length === 0, { what: 'an empty queue' });
});

t.test('a job that fails is retried; after the last attempt it is kept for an hour', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  let attempts = 0;
  const errors: string[] = [];
  const heard = Object.assign(Object.create(log) as typeof log, {
    error: (_about: unknown, message: string) => void errors.push(message),
  });
  work(
    t,
    database,
    async () => {
      attempts += 1;
      throw new Error('not yet');
    },
    { log: heard },
  );
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'once' }));
  const waits = async (inMs: number) => {
    const [job] = await rows(database);
    return job !== undefined && job.attempts === attempts && job.due_at > (await timeIn(database, inMs));
  };
  await until(() => attempts === 1, { what: 'an attempt' });
  await database.pool.query('UPDATE jobs SET attempts = 24, due_at = now()');
  await until(() => attempts === 2, { what: 'the last attempt' });
  attempts = 25;
  await until(() => waits(3_500_000), { what: 'an hour' });
  t.same(errors, ['a job failed and is not tried any more']);
  await database.pool.query('UPDATE jobs SET due_at = now()');
  await until(async () => (await rows(database)).length === 0, { what: 'the job to go' });
  t.equal(attempts, 25, 'it does not run again');
});

t.test('closing waits for the job that runs', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  let running = false;
  let ended = false;
  const worker = work(t, database, async () => {
    running = true;
    await goOn;
    ended = true;
  });
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'once' }));
  await until(() => running, { what: 'the job to run' });
  const closing = worker.close();
  resolve();
  await closing;
  t.ok(ended);
  t.same(await rows(database), [], 'and said that it is done');
});

t.test('closing waits for a limited time, and then releases the jobs to other nodes', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  t.teardown(resolve);
  let running = false;
  const hanging = () => {
    running = true;
    return goOn;
  };
  const worker = work(t, database, hanging, { patienceMs: 50, leaseMs: 3_600_000 });
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'once' }));
  await until(() => running, { what: 'the job to run' });
  await worker.close();
  const [job] = await rows(database);
  t.match(job, { attempts: 0 });
  t.ok(job!.due_at <= (await now(database)));
  const ran: boolean[] = [];
  work(t, database, async (_payload, isRepeated) => void ran.push(isRepeated));
  await until(() => ran.length > 0, { what: 'the other node' });
  t.same(ran, [true], 'it is told that the job may have run');
});

t.test('a job that was released is not ended by the node that had it', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  const { promise: running, resolve: begin } = Promise.withResolvers<void>();
  const hanging = () => {
    begin();
    return goOn;
  };
  const add = (note: string, afterMs: number) =>
    database.transaction((tx) => addJob(tx, NOTE, { note }, { key: 'k', keepsEarlier: true, afterMs }));
  const worker = work(t, database, hanging, { patienceMs: 50 });
  await add('one', 0);
  await running;
  const { promise: settled, resolve: onSettled } = Promise.withResolvers<void>();
  const { settle } = JOBS;
  t.teardown(() => Object.assign(JOBS, { settle }));
  JOBS.settle = (...outcome) => settle.apply(JOBS, outcome).finally(onSettled);
  await worker.close();
  await add('two', 3_600_000);
  resolve();
  await settled;
  t.match(await rows(database), [{ payload: { note: 'one' } }], 'it is still there for both');
});

t.test('Postgres unavailable: the worker continues when it is back', async (t) => {
  const postgres = await startPostgres(t);
  const database = await open(t, postgres.url);
  await migrate(database, INDEXES, log);
  const done: string[] = [];
  const begun: string[] = [];
  const { promise: killed, resolve: onKilled } = Promise.withResolvers<void>();
  const run = async ({ note }: Note) => {
    begun.push(note);
    if (SIDE_BY_SIDE.includes(note) && !done.includes(note)) {
      if (SIDE_BY_SIDE.every((one) => begun.includes(one))) onKilled(postgres.kill());
      await killed;
    }
    done.push(note);
  };
  await postgres.stop();
  work(t, database, run);
  await postgres.start();
  await perform('begun while it was away');
  // None of their ends can be written.
  await perform(...SIDE_BY_SIDE);
  await postgres.start();
  await perform('afterwards');
  await until(async () => (await rows(database)).length === 0, { what: 'an empty queue' });

  async function perform(...notes: string[]): Promise<void> {
    const add = async (tx: Tx) => {
      for (const note of notes) await addJob(tx, NOTE, { note });
    };
    await until(
      () =>
        database.transaction(add).then(
          () => true,
          () => false,
        ),
      { what: 'Postgres' },
    );
    await until(() => notes.every((note) => done.includes(note)), { what: notes.join() });
  }
});

t.test('a transaction that replaces a running job holds up no other', async (t) => {
  const { url } = await createTestDatabase(t);
  // Longer than the test, which would otherwise pass once the wait for the row has timed out.
  const database = await open(t, url, 600_000);
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  t.teardown(resolve);
  const begun: string[] = [];
  const worker = work(
    t,
    database,
    async ({ note }) => {
      begun.push(note);
      if (note === 'hanging') await goOn;
    },
    { leaseMs: 400, patienceMs: 50 },
  );
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'hanging' }, { key: 'k' }));
  await until(() => begun.length === 1, { what: 'the job to run' });
  const [taken] = await rows(database);
  await database.transaction(async (tx) => {
    await addJob(tx, NOTE, { note: 'replacing' }, { key: 'k', afterMs: 3_600_000 });
    await until(async () => (await now(database)) > taken!.due_at, { what: 'several renewals' });
    await database.transaction((other) => addJob(other, NOTE, { note: 'other' }));
    await until(() => begun.includes('other'), { what: 'a job beside the one that runs' });
    resolve();
    await database.transaction((other) => addJob(other, NOTE, { note: 'third' }));
    await until(() => begun.includes('third'), { what: 'a job after its end' });
  });
  await worker.close();
  t.same(begun, ['hanging', 'other', 'third']);
  t.match(await rows(database), [{ payload: { note: 'replacing' } }]);
});

/** As many as run at once. */
const SIDE_BY_SIDE = ['first', 'second', 'third', 'fourth'];

type Row = Awaited<ReturnType<typeof rows>>[number];

async function open(t: Teardown, url: string, queryTimeoutMs?: number): Promise<Database> {
  const database = await openDatabase({ url, log, queryTimeoutMs });
  t.teardown(() => database.close());
  return database;
}

function work(
  t: Teardown,
  database: Database,
  note: (payload: Note, isRepeated: boolean) => Promise<void>,
  options: Partial<JobWorkerOptions> = {},
): JobWorker {
  const watch = new DueWatch({ database, log });
  const worker = new JobWorker({ database, watch, handlers: [handle(NOTE, note)], log, ...options });
  watch.start();
  t.teardown(async () => {
    await watch.close();
    await worker.close();
  });
  return worker;
}

function now(database: Database): Promise<string> {
  return timeIn(database, 0);
}

/** By Postgres' clock. */
async function timeIn(database: Database, ms: number): Promise<string> {
  const [row] = await database.query(
    statement<[ms: number], { at: string }>('test-time')`
    SELECT clock_timestamp() + $1 * interval '1 millisecond' AS at`,
    ms,
  );
  return row!.at;
}

function rows(database: Database) {
  return database.kysely.selectFrom('jobs').selectAll().execute();
}
