import { ApiError } from '../../../contract/protocol/errors.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { type Backoff, delayAfter } from '../../../platform/backoff.ts';
import { Reminders } from '../../../platform/db/queue/reminders.ts';
import { type ComplianceJobRow, endJob, JOBS, type JobDue, REMINDED_JOBS } from './job-store.ts';

/** The link between a job's work and its runner. */
export interface JobContext {
  /** Aborts when the node stops or another node has taken the job over: the work must end soon. */
  readonly signal: AbortSignal;
  /** Sets the progress, which is stored with the next renewal of the lease. */
  progress(done: number, total: number): void;
}

/** Does the whole work of a job and ends it with `endJob`. It starts over after a failure. */
export type JobWork = (job: ComplianceJobRow, context: JobContext) => Promise<void>;

interface JobRunnerOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly watch: Pick<NodeParts['watch'], 'add'>;
  readonly work: Readonly<Record<ComplianceJobRow['kind'], JobWork>>;
}

/**
 * Runs jobs of compliance_jobs, one at a time per node, so that they never keep the queue's workers
 * from due messages. The job of a killed node starts over on another node after its lease; writes
 * of an attempt that lost its job have no effect.
 */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #reminders: Reminders<Pick<ComplianceJobRow, 'id'>>;
  readonly #stop = new AbortController();
  #current: Promise<void> | undefined;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.#reminders = new Reminders(REMINDED_JOBS, options);
  }

  /** Handles COMPLIANCE_JOB_DUE. If this node is busy, a reminder adds the job again later. */
  async due({ job_id }: JobDue): Promise<void> {
    if (this.#current !== undefined || this.#stop.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#current = promise;
    try {
      const [job] = await JOBS.take(this.#options.database, LEASE_MS, [job_id]);
      if (job !== undefined) await this.#run(job);
    } finally {
      this.#current = undefined;
      resolve();
      this.#reminders.wake();
    }
  }

  /** Gives the running job back, so that another node takes it at once. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the node stops'));
    await this.#current;
    await this.#reminders.close();
  }

  async #run(job: ComplianceJobRow): Promise<void> {
    const { database, work, log } = this.#options;
    if (job.attempts > RETRIES.delaysMs.length) {
      // Nodes died, or its content was removed again and again.
      return this.#fail(job, 'resource_conflict');
    }
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, lost.signal]);
    let [done, total] = [0, 0];
    const heartbeat = setInterval(() => {
      JOBS.renew(database, [{ ...job, done, total }], LEASE_MS).then(
        ({ length }) => length > 0 || lost.abort(new Error('the job was taken over')),
        // The lease allows for several failed renewals.
        () => undefined,
      );
    }, RENEW_EVERY_MS);
    try {
      await work[job.kind](job, {
        signal,
        progress: (nowDone, nowTotal) => {
          [done, total] = [nowDone, nowTotal];
        },
      });
    } catch (error) {
      if (lost.signal.aborted) return;
      await this.#failed(job, error);
      const { id, kind, attempts } = job;
      log.warn({ err: error, job: id, kind, attempts }, 'a compliance job failed');
    } finally {
      clearInterval(heartbeat);
    }
  }

  async #failed(job: ComplianceJobRow, error: unknown): Promise<void> {
    const { database } = this.#options;
    if (this.#stop.signal.aborted) return JOBS.release(database, [job]);
    const { id, fence, attempts } = job;
    const due_in_ms = delayAfter(RETRIES, attempts);
    if (due_in_ms === null)
      return this.#fail(job, error instanceof ApiError ? error.condition : 'internal_error');
    await JOBS.settle(database, [{ id, fence, due_in_ms, status: 'queued' }]);
  }

  async #fail(job: ComplianceJobRow, error: string): Promise<void> {
    const failed = { status: 'failed', error, s3_key: null } as const;
    await this.#options.database.transaction((tx) => endJob(tx, job, failed));
  }
}

/** A node that has not renewed its lease for this long counts as gone. */
const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 1_000;
const RETRIES: Backoff = { delaysMs: [0, 2_000, 4_000, 8_000, 16_000] };
