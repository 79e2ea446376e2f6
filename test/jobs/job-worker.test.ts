import t from 'tap';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { JobWorker } from '../../src/platform/db/queue/job-worker.ts';
import { addJob, purgeJobs, removeJob } from '../../src/platform/db/queue/queue.ts';
import { defineTopic, handle } from '../../src/platform/db/queue/topic.ts';
import type { Logger } from '../../src/platform/log.ts';
import { createTestDatabase, startPostgres } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { log, NO_WATCH } from '../support/timeline.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

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
  const start = Date.parse(await now(database));
  const runAt = new Date(start + 400).toISOString();
  await database.transaction(async (tx) => {
    await addJob(tx, NOTE, { note: 'at its time' }, { runAt });
    await addJob(tx, NOTE, { note: 'replaced' }, { key: 'k', runAt });
    await addJob(tx, NOTE, { note: 'replacing' }, { key: 'k', runAt });
    await addJob(tx, NOTE, { note: 'removed' }, { key: 'r', runAt });
    await removeJob(tx, 'r');
    await addJob(tx, NOTE, { note: 'at once' });
  });
  await until(() => done.length === 3, { what: 'three jobs' });
  t.same(done.map(({ note }) => note).sort(), ['at its time', 'at once', 'replacing']);
  for (const { note, at } of done) if (note !== 'at once') t.ok(at >= runAt, `${note}: ${at} >= ${runAt}`);
  await until(async () => (await count(database)) === 0, { what: 'an empty queue' });
});

t.test('a job begins when it is due, whatever the interval of polling', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  await database.query({
    name: 'of-a-later-version',
    text: `SELECT graphile_worker.add_job('later', '{}'::json, run_at => now() - interval '1 hour')`,
  });
  const done: string[] = [];
  const worker = new JobWorker({
    database,
    watch: NO_WATCH,
    handlers: [
      handle(NOTE, async ({ note }) => {
        done.push(note);
        if (note === 'failing' && done.filter((other) => other === note).length === 1) throw new Error('no');
      }),
    ],
    log,
    pollEveryMs: 3_600_000,
  });
  t.teardown(() => worker.close());
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'at once' }));
  await until(() => done.length === 1, { what: 'the workers to work' });
  for (const note of ['first', 'second']) {
    const runAt = new Date(Date.parse(await now(database)) + 300).toISOString();
    await database.transaction((tx) => addJob(tx, NOTE, { note }, { runAt }));
    await until(() => done.includes(note), { what: note });
  }
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'failing' }));
  await until(() => done.filter((note) => note === 'failing').length === 2, { what: 'the retry' });
});

t.test('a job that fails is retried; one without attempts left is purged', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  let attempts = 0;
  work(t, database, async () => {
    attempts += 1;
    throw new Error('not yet');
  });
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'once' }));
  await until(() => attempts === 1, { what: 'an attempt' });
  const waits = {
    name: 'waits',
    text: 'SELECT FROM graphile_worker.jobs WHERE locked_at IS NULL AND attempts = 1',
  };
  await until(async () => (await database.query(waits)).length === 1, { what: 'the job to wait' });
  await database.query({
    name: 'exhaust',
    text: 'UPDATE graphile_worker._private_jobs SET attempts = max_attempts',
  });
  await purgeJobs(database);
  t.equal(await count(database), 1, 'it is shown for an hour');
  await database.query({
    name: 'age',
    text: "UPDATE graphile_worker._private_jobs SET updated_at = now() - interval '2 hours'",
  });
  await purgeJobs(database);
  t.equal(await count(database), 0);
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
  t.equal(await count(database), 0, 'and said that it is done');
});

t.test('closing waits for a limited time, and then releases the jobs to other nodes', async (t) => {
  const database = await open(t, (await createTestDatabase(t)).url);
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  t.teardown(resolve);
  let running = false;
  const worker = new JobWorker({
    database,
    watch: NO_WATCH,
    handlers: [
      handle(NOTE, () => {
        running = true;
        return goOn;
      }),
    ],
    log,
    patienceMs: 50,
  });
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'once' }));
  await until(() => running, { what: 'the job to run' });
  await worker.close();
  const [job] = await database.query(
    statement<[], { locked_at: string | null; attempts: number }>('job')`
    SELECT locked_at, attempts FROM graphile_worker.jobs`,
  );
  t.match(job, { locked_at: null, attempts: 1 });
});

// The library's worker ends with an unhandled rejection if it cannot mark a job as done, stops
// waiting for jobs if its first query fails, and never ends if several such failures overlap.
t.test('Postgres unavailable: the worker continues when it is back', async (t) => {
  const postgres = await startPostgres(t);
  const database = await open(t, postgres.url);
  await migrate(database, INDEXES, log);
  const done: string[] = [];
  let begun = 0;
  let failures = 0;
  const { promise: killed, resolve: onKilled } = Promise.withResolvers<void>();
  const task = async ({ note }: Note) => {
    const index = FATAL.indexOf(note);
    if (index !== -1) {
      begun++;
      if (begun === FATAL.length) onKilled(postgres.kill());
      await killed;
      // Each is marked as done once this has failed for the one before it.
      await until(() => failures >= index, { what: `failure ${index}` });
    }
    done.push(note);
  };
  const counting = Object.assign(Object.create(log) as Logger, {
    error(_about: unknown, message: string) {
      if (message.startsWith('Failed to complete jobs')) failures++;
    },
  });
  await postgres.stop();
  work(t, database, task, counting);
  await postgres.start();
  await perform('begun while it was away');
  await perform(...FATAL);
  await postgres.start();
  await perform('afterwards');

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
    // A worker that misses what wakes it looks again after a minute (POLL_EVERY_MS).
    const isDone = () => notes.every((note) => done.includes(note));
    await until(isDone, { what: notes.join(), timeoutMs: 2 * PATIENCE_MS });
  }
});

/** As many as run at once. */
const FATAL = ['first', 'second', 'third', 'fourth'];

async function open(t: Teardown, url: string): Promise<Database> {
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  return database;
}

function work(
  t: Teardown,
  database: Database,
  note: (payload: Note) => Promise<void>,
  workerLog = log,
): JobWorker {
  const watch = new DueWatch({ database, log });
  const worker = new JobWorker({ database, watch, handlers: [handle(NOTE, note)], log: workerLog });
  watch.start();
  t.teardown(async () => {
    await watch.close();
    await worker.close();
  });
  return worker;
}

async function now(database: Database): Promise<string> {
  const [row] = await database.query(statement<[], { now: string }>('now')`SELECT clock_timestamp() AS now`);
  return row!.now;
}

async function count(database: Database): Promise<number> {
  const rows = await database.query({ name: 'jobs', text: 'SELECT FROM graphile_worker.jobs' });
  return rows.length;
}
