import { setTimeout as delay } from 'node:timers/promises';
import { type Backoff, delayAfter } from '../../backoff.ts';
import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../connection/database.ts';
import { statement } from '../connection/statement.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from './due-watch.ts';
import { moveEarlierJobs } from './earlier-jobs.ts';
import { JOBS, type Job, nextJobInMs } from './queue.ts';
import { byTopic, type TopicHandler } from './topic.ts';

export interface JobWorkerOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  /** One handler for each topic. A job whose handler rejects is retried later. */
  readonly handlers: readonly TopicHandler[];
  readonly log: Logger;
  /** Milliseconds for running jobs at a stop; then other nodes may take them. Default 5,000. */
  readonly patienceMs?: number;
  /** Milliseconds after which a node that has not renewed its lease counts as gone. */
  readonly leaseMs?: number;
  /** Milliseconds between looks for jobs of the version before. Default 60,000. */
  readonly earlierEveryMs?: number;
}

/** Most concurrent jobs. */
const CONCURRENCY = 4;

const LEASE_MS = 2_000;
const RENEWALS_A_LEASE = 4;

/** Delays from 3 seconds to 6 hours, for three days in all. */
const RETRIES: Backoff = {
  delaysMs: Array.from({ length: 25 }, (_, tries) => Math.exp(Math.min(tries, 10)) * 1_000),
};

/** Milliseconds for which a job that has failed as often as it may is kept. */
const KEPT_MS = 60 * 60 * 1_000;

/** A job that is due later is left to a later look of the watch. */
const SOON_MS = 1_000;

/** Milliseconds until the next look for a due job that another transaction has. */
const AGAIN_MS = 25;

const PATIENCE_MS = 5_000;

/** Time limit in milliseconds for releasing jobs, in case Postgres does not respond. */
const RELEASE_MS = 1_000;

const EARLIER_EVERY_MS = 60_000;

/**
 * Runs the jobs of the queue (queue.ts) on this node. It learns of a job from its own node's
 * commit, or from the watch, which says when the first is due; a timer takes it at its time.
 * Another node takes a killed node's job after its lease.
 */
export class JobWorker {
  readonly #options: JobWorkerOptions;
  readonly #handlers: ReadonlyMap<string, TopicHandler['run']>;
  readonly #topics: readonly string[];
  readonly #leaseMs: number;
  readonly #running = new Map<Job, Promise<void>>();
  readonly #taking: Loop;
  readonly #renewals: Loop;
  readonly #earlier: Loop;
  #timer: { readonly atMs: number; readonly timeout: NodeJS.Timeout } | undefined;
  #isClosed = false;

  constructor(options: JobWorkerOptions) {
    const { database, watch, handlers, log, leaseMs = LEASE_MS, earlierEveryMs = EARLIER_EVERY_MS } = options;
    this.#options = options;
    this.#handlers = byTopic(handlers);
    this.#topics = [...this.#handlers.keys()];
    this.#leaseMs = leaseMs;
    this.#taking = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: () => this.#take(),
      onError: (error) => log.warn({ err: error }, 'taking jobs failed'),
    });
    this.#taking.wake();
    this.#renewals = new Loop({
      intervalMs: leaseMs / RENEWALS_A_LEASE,
      run: async () => void (await JOBS.renew(database.relaxed, [...this.#running.keys()], leaseMs)),
      onError: (error) => log.warn({ err: error }, 'renewing the leases of jobs failed'),
      rests: () => this.#running.size === 0,
    });
    this.#earlier = new Loop({
      intervalMs: earlierEveryMs,
      run: async () => {
        if ((await moveEarlierJobs(database, this.#topics)) > 0) this.#taking.wake();
      },
      onError: (error) => log.warn({ err: error }, 'taking over jobs of the version before failed'),
    });
    this.#earlier.wake();
    watch.add({
      name: 'jobs',
      condition: nextJobInMs(`'{${this.#topics.join()}}'`),
      onDue: () => this.#taking.wake(),
      onLook: (_isDue, _beganMs, found) => this.#expect(found),
    });
    database.onJobAdded((inMs) => this.#expect(inMs));
  }

  /**
   * Takes no more jobs, waits for running jobs up to its time limit, and leaves the rest to other
   * nodes at once.
   */
  async close(): Promise<void> {
    const { database, log, patienceMs = PATIENCE_MS } = this.#options;
    this.#isClosed = true;
    clearTimeout(this.#timer?.timeout);
    await Promise.all([this.#taking.close(), this.#earlier.close()]);
    await within(patienceMs, Promise.all(this.#running.values()));
    await this.#renewals.close();
    const released = JOBS.release(database.relaxed, [...this.#running.keys()]).catch((error: unknown) =>
      log.warn({ err: error }, 'releasing jobs failed: other nodes take them after their leases'),
    );
    await within(RELEASE_MS, released);
  }

  async #take(): Promise<void> {
    const room = CONCURRENCY - this.#running.size;
    if (room === 0) return;
    // A lease that a crash of Postgres loses only repeats a job.
    const { relaxed } = this.#options.database;
    for (const job of await JOBS.take(relaxed, this.#leaseMs, this.#topics, room)) this.#begin(job);
    const [next] = await relaxed.query(NEXT, this.#topics);
    if (next !== undefined) this.#expect(next.due_in_ms <= 0 ? AGAIN_MS : next.due_in_ms);
  }

  #begin(job: Job): void {
    const done = this.#run(job).finally(() => {
      this.#running.delete(job);
      this.#taking.wake();
    });
    this.#running.set(job, done);
    this.#renewals.stir();
  }

  /** Runs a job. Never rejects. */
  async #run(job: Job): Promise<void> {
    const { database, log } = this.#options;
    const { id, fence, topic, payload, attempts } = job;
    let due_in_ms: number | null = null;
    // Otherwise it was kept for a while after the last attempt, or each of its nodes died.
    if (attempts <= RETRIES.delaysMs.length) {
      try {
        await this.#handlers.get(topic)!(payload, fence > 1);
      } catch (error) {
        const retryMs = delayAfter(RETRIES, attempts);
        const about = { err: error, job: id, topic, attempts };
        if (retryMs === null) log.error(about, 'a job failed and is not tried any more');
        else log.warn(about, 'a job failed');
        due_in_ms = retryMs ?? KEPT_MS;
      }
    } else log.warn({ job: id, topic, attempts }, 'a job was begun as often as it may be, and is removed');
    try {
      // Not on a shared connection: it waits for a transaction that replaces the job.
      await JOBS.settle(database, [{ ...job, due_in_ms }]);
    } catch (error) {
      log.warn({ err: error, job: id, topic }, 'the end of a job was not written: it runs again');
    }
  }

  /** Schedules a take in `inMs` milliseconds, if that is soon. Ignores anything but a number. */
  #expect(inMs: unknown): void {
    if (typeof inMs !== 'number' || inMs > SOON_MS || this.#isClosed) return;
    const atMs = performance.now() + inMs;
    if (this.#timer !== undefined && this.#timer.atMs <= atMs) return;
    clearTimeout(this.#timer?.timeout);
    const wake = () => {
      this.#timer = undefined;
      this.#taking.wake();
    };
    this.#timer = { atMs, timeout: setTimeout(wake, Math.max(inMs, 0)) };
  }
}

const NEXT = statement<[topics: readonly string[]], { due_in_ms: number }>('next-job')`
    SELECT due_in_ms FROM ${nextJobInMs('$1')} AS next`;

/** Resolves when `work` has, and after `ms` at the latest. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const patience = new AbortController();
  await Promise.race([work, delay(ms, undefined, { signal: patience.signal }).catch(() => undefined)]);
  patience.abort();
}
