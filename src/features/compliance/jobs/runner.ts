import type { Database } from '../../../platform/db/connection/database.ts';
import type { JobContext, JobKind } from '../../../platform/db/queue/leased-jobs.ts';
import { type ComplianceJobRow, endJob, JOBS } from './job-store.ts';

/** Does the whole work of a job and ends it with `endJob`. Starts over after a failure. */
export type JobWork = (job: ComplianceJobRow, context: JobContext) => Promise<void>;

/** Returns the job kind that runs compliance_jobs. */
export function complianceJobs(
  database: Database,
  work: Readonly<Record<ComplianceJobRow['kind'], JobWork>>,
): JobKind<ComplianceJobRow> {
  return {
    name: 'a compliance job',
    queue: JOBS,
    run: (job, context) => work[job.kind](job, context),
    async fail(job, error) {
      const failed = { status: 'failed', error, s3_key: null } as const;
      await database.transaction((tx) => endJob(tx, job, failed));
    },
  };
}
