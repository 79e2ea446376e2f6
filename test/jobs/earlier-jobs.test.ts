/** Jobs in the queue of the previous version (src/platform/db/queue/earlier-jobs.ts). */

import t from 'tap';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { moveEarlierJobs } from '../../src/platform/db/queue/earlier-jobs.ts';
import { JobWorker } from '../../src/platform/db/queue/job-worker.ts';
import { addJob } from '../../src/platform/db/queue/queue.ts';
import { defineTopic, handle } from '../../src/platform/db/queue/topic.ts';
import { addEarlierJob, createEarlierQueue } from '../support/earlier-queue.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const NOTE = defineTopic<{ readonly note: string }>('note');

t.test('what waits is moved, what a node may still run is not', async (t) => {
  const database = await open(t);
  t.equal(await moveEarlierJobs(database, ['note']), 0, 'a database without that queue');
  await createEarlierQueue(database);
  const add = (note: string, more = {}) =>
    addEarlierJob(database, { topic: 'note', payload: { note }, ...more });
  await add('at once');
  await add('later', { key: 'later', runAt: "now() + interval '1 year'" });
  await add('again', { attempts: 3 });
  await add('of a dead node', { lockedAt: "now() - interval '2 minutes'" });
  await add('running', { lockedAt: "now() - interval '1 second'" });
  await add('given up', { attempts: 25 });
  await addEarlierJob(database, { topic: 'another', payload: {} });
  // The same key in both queues: the payload of the version before, and the earlier time.
  await add('brought forward', { key: 'both' });
  await database.transaction((tx) => addJob(tx, NOTE, { note: 'here' }, { key: 'both', afterMs: 3_600_000 }));

  const moved = await Promise.all([1, 2, 3].map(() => moveEarlierJobs(database, ['note'])));
  t.equal(
    moved.reduce((sum, one) => sum + one),
    5,
    'by whichever node is first',
  );
  const jobs = await database.kysely.selectFrom('jobs').selectAll().execute();
  const isDue = (at: string) => Date.parse(at) <= Date.now() + 60_000;
  t.same(
    jobs
      .map(({ key, payload, attempts, due_at }) => [payload, key, attempts, isDue(due_at)])
      .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    [
      [{ note: 'again' }, null, 0, true],
      [{ note: 'at once' }, null, 0, true],
      [{ note: 'brought forward' }, 'both', 0, true],
      [{ note: 'later' }, 'later', 0, false],
      [{ note: 'of a dead node' }, null, 0, true],
    ],
  );
  const { rows: left } = await database.pool.query(
    "SELECT payload->>'note' AS note FROM graphile_worker._private_jobs ORDER BY id",
  );
  t.same(left, [{ note: 'running' }, { note: 'given up' }, { note: null }]);
});

t.test('many jobs take several rounds', async (t) => {
  const database = await open(t);
  await createEarlierQueue(database);
  await addEarlierJob(database, { topic: 'note', payload: { note: '0' } });
  await database.pool.query(`
    INSERT INTO graphile_worker._private_jobs (task_id, payload)
    SELECT task_id, json_build_object('note', n) FROM graphile_worker._private_jobs, generate_series(1, 2500) n`);
  t.equal(await moveEarlierJobs(database, ['note']), 2_501);
});

t.test('a node takes over what was there at its start, and what is added later', async (t) => {
  const database = await open(t);
  await createEarlierQueue(database);
  await addEarlierJob(database, { topic: 'note', payload: { note: 'before' } });
  const done: string[] = [];
  const watch = new DueWatch({ database, log });
  const worker = new JobWorker({
    database,
    watch,
    log,
    earlierEveryMs: 50,
    handlers: [handle(NOTE, async ({ note }) => void done.push(note))],
  });
  watch.start();
  t.teardown(async () => {
    await watch.close();
    await worker.close();
  });
  await until(() => done.length === 1, { what: 'the job from before' });
  await addEarlierJob(database, { topic: 'note', payload: { note: 'by a node of that version' } });
  await until(() => done.length === 2, { what: 'the later one' });
  t.same(done, ['before', 'by a node of that version']);
});

async function open(t: Teardown) {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  return database;
}
