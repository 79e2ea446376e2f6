import { ApiError } from '../../../contract/protocol/errors.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../../platform/db/queue/due-watch.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { Logger } from '../../../platform/log.ts';
import {
  type ComplianceJobRow,
  endJob,
  giveBack,
  HAS_OVERDUE,
  type JobDue,
  renewLease,
  requeueLost,
  takeJob,
} from './job-store.ts';

/** What a job reports to while it runs. */
export interface JobContext {
  /** Aborts when the node stops or another node has taken the job over: the work must end soon. */
  readonly signal: AbortSignal;
  /** Sets what is known of the work; stored with the next renewal of the lease. */
  progress(done: number, total: number): void;
}

/** Does the whole work of a job and ends it with `endJob`. It starts over after a failure. */
export type JobWork = (job: ComplianceJobRow, context: JobContext) => Promise<void>;

export interface JobRunnerOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly work: Readonly<Record<ComplianceJobRow['kind'], JobWork>>;
  readonly log: Logger;
}

/**
 * Runs the jobs of compliance_jobs, one at a time on each node, so that they never keep the queue's
 * workers from due messages. The job of a node that was killed starts over on another one when its
 * lease has ended; what an attempt that lost its job still writes has no effect.
 */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #recovery: Loop;
  readonly #stop = new AbortController();
  #current: Promise<void> | undefined;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    const { database, watch, log } = options;
    this.#recovery = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: () => requeueLost(database, (work) => database.transaction(work)),
      onError: (error) => log.warn({ err: error }, 'recovering lost compliance jobs failed'),
    });
    watch.add({
      name: 'compliance_jobs',
      condition: HAS_OVERDUE,
      everyMs: RECOVER_EVERY_MS,
      onDue: () => this.#recovery.wake(),
    });
  }

  /**
   * Runs the job unless this node is busy with another one: then the recovery adds it again.
   * Handles COMPLIANCE_JOB_DUE.
   */
  async due({ job_id }: JobDue): Promise<void> {
    if (this.#current !== undefined || this.#stop.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#current = promise;
    try {
      const job = await takeJob(this.#options.database, job_id);
      if (job !== undefined) await this.#run(job);
    } finally {
      this.#current = undefined;
      resolve();
      this.#recovery.wake();
    }
  }

  /** Gives the job that is running back, so that another node takes it at once. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the node stops'));
    await this.#current;
    await this.#recovery.close();
  }

  async #run(job: ComplianceJobRow): Promise<void> {
    const { database, work, log } = this.#options;
    if (job.attempts > MAX_ATTEMPTS) {
      // Nodes died, or what it reads was removed again and again.
      const failed = { status: 'failed', error: 'resource_conflict', s3_key: null } as const;
      await database.transaction((tx) => endJob(tx, job, failed));
      return;
    }
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, lost.signal]);
    let [done, total] = [0, 0];
    const heartbeat = setInterval(() => {
      renewLease(database, job, done, total).then(
        (isOurs) => isOurs || lost.abort(new Error('the job was taken over')),
        // The next renewal follows; the lease allows for several failures.
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
      log.warn(
        { err: error, job: job.id, kind: job.kind, attempts: job.attempts },
        'a compliance job failed',
      );
    } finally {
      clearInterval(heartbeat);
    }
  }

  async #failed(job: ComplianceJobRow, error: unknown): Promise<void> {
    const { database } = this.#options;
    if (this.#stop.signal.aborted) return giveBack(database, job, 0);
    if (job.attempts < MAX_ATTEMPTS) return giveBack(database, job, RETRY_MS * 2 ** job.attempts);
    const code = error instanceof ApiError ? error.condition : 'internal_error';
    await database.transaction((tx) => endJob(tx, job, { status: 'failed', error: code, s3_key: null }));
  }
}

const MAX_ATTEMPTS = 5;
const RETRY_MS = 1_000;
const RENEW_EVERY_MS = 1_000;
const RECOVER_EVERY_MS = 2_000;
