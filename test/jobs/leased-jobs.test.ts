import { mock } from 'node:test';
import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { addComplianceJob, JOBS } from '../../src/features/compliance/jobs/job-store.ts';
import { complianceJobs, type JobWork } from '../../src/features/compliance/jobs/runner.ts';
import { runJob } from '../../src/platform/db/queue/leased-jobs.ts';
import { createGround, log } from '../support/timeline.ts';

const { database, accountId, authorId } = await createGround(t);

t.test('a job whose nodes stop again and again has not failed', async (t) => {
  const id = await add();
  for (let stops = 0; stops < 10; stops++) {
    const stop = new AbortController();
    const work: JobWork = async (_job, { signal }) => {
      stop.abort(new Error('the node stops'));
      signal.throwIfAborted();
    };
    t.ok(await run(id, work, stop.signal), 'it is there at once');
  }
  t.match(await read(id), { status: 'queued', attempts: 0 });
});

t.test('a job that is given back is not leased again', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const id = await add();
  const stop = new AbortController();
  const { renew, release } = JOBS.rows;
  t.teardown(() => Object.assign(JOBS.rows, { renew, release }));
  const calls: string[] = [];
  JOBS.rows.renew = (...rows) => {
    calls.push('renew');
    return renew.apply(JOBS.rows, rows);
  };
  JOBS.rows.release = (...rows) => {
    calls.push('release');
    mock.timers.tick(5_000);
    return release.apply(JOBS.rows, rows);
  };
  const work: JobWork = async (_job, { signal }) => {
    mock.timers.tick(1_000);
    stop.abort(new Error('the node stops'));
    signal.throwIfAborted();
  };
  await run(id, work, stop.signal);
  t.same(calls, ['renew', 'release'], 'however long giving it back takes');
});

async function add(): Promise<string> {
  const job = { id: newId('export'), kind: 'user_export', account_id: accountId } as const;
  await database.transaction((tx) =>
    addComplianceJob(tx, { ...job, subject_id: authorId, requested_by: authorId }),
  );
  return job.id;
}

function run(id: string, work: JobWork, stop: AbortSignal): Promise<boolean> {
  const kind = complianceJobs(database, { conversation_export: work, user_export: work, user_erasure: work });
  return runJob(kind, { database, log }, id, stop);
}

function read(id: string) {
  return database.kysely
    .selectFrom('compliance_jobs')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}
