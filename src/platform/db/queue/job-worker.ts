import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { runTaskList, type Task, type TaskList, type WorkerPool } from 'graphile-worker';
import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../connection/database.ts';
import type { DueWatch } from './due-watch.ts';
import { HAS_DUE_JOB, jobLogger, nextJobDueMs, purgeJobs } from './queue.ts';
import { byTopic, type TopicHandler } from './topic.ts';

export interface JobWorkerOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  /** One handler for each task. A job whose handler rejects is retried later. */
  readonly handlers: readonly TopicHandler[];
  readonly log: Logger;
  /** Milliseconds for running jobs at a stop; then other nodes may take them. Default 5,000. */
  readonly patienceMs?: number;
  /** Milliseconds between each worker's polls for jobs not noticed otherwise. Default 60,000. */
  readonly pollEveryMs?: number;
}

/** Most concurrent jobs, each with a session of the pool; one more connection listens. */
const CONCURRENCY = 4;

/**
 * Postgres announces a job when it is added, and `DueTimer` wakes the workers when it is due. The
 * poll finds jobs that both miss: those added while the listening connection was lost, and retries
 * of a node that died. More frequent polling, by each worker, would take two statements a second.
 */
const POLL_EVERY_MS = 60_000;

/** Least milliseconds between wake-ups by the watch, as a job of an unknown task may be left. */
const WOKEN_EVERY_MS = 2_000;

/** Milliseconds until the workers look again for a due job that none of them took. */
const AGAIN_MS = 200;

/** Milliseconds in which workers that find nothing count as asking together. */
const GATHER_MS = 20;

const RESTART_AFTER_MS = 500;

const PATIENCE_MS = 5_000;

/** Time limit in milliseconds for releasing jobs, in case Postgres does not respond. */
const RELEASE_MS = 1_000;
const PURGE_EVERY_MS = 10 * 60 * 1_000;

/**
 * Runs the jobs of the queue (queue.ts) on this node. The library's workers
 * survive an absence of Postgres except in two cases: they end if they cannot mark a job as done,
 * and never repeat a failed first query. Therefore they are watched, and restarted until the node
 * stops.
 */
export class JobWorker {
  readonly #options: JobWorkerOptions;
  readonly #workers: Loop;
  readonly #purge: Loop;
  /** Wakes the workers; undefined while none run. */
  #nudge: (() => void) | undefined;

  constructor(options: JobWorkerOptions) {
    this.#options = options;
    this.#workers = new Loop({
      intervalMs: RESTART_AFTER_MS,
      run: (signal) => this.#work(signal),
      onError: (error) => options.log.warn({ err: error }, 'job queue workers failed, restarting them'),
    });
    this.#workers.wake();
    options.watch.add({
      name: 'jobs',
      condition: HAS_DUE_JOB,
      everyMs: WOKEN_EVERY_MS,
      onDue: () => this.#nudge?.(),
    });
    this.#purge = new Loop({
      intervalMs: PURGE_EVERY_MS,
      run: () => purgeJobs(options.database),
      onError: (error) => options.log.warn({ err: error }, 'purging finished jobs failed'),
    });
  }

  /** Takes no more jobs and waits for running ones, up to its time limit. */
  async close(): Promise<void> {
    await Promise.all([this.#workers.close(), this.#purge.close()]);
  }

  /** Ends with the workers: resolves after the signal, rejects if they fail. */
  async #work(signal: AbortSignal): Promise<void> {
    const { database, handlers, log, patienceMs = PATIENCE_MS, pollEveryMs = POLL_EVERY_MS } = this.#options;
    // Rejects while Postgres is unavailable: starting workers would be useless then.
    await purgeJobs(database);
    const events = new EventEmitter();
    const pool = runTaskList(
      {
        concurrency: CONCURRENCY,
        pollInterval: pollEveryMs,
        noHandleSignals: true,
        schema: 'graphile_worker',
        logger: jobLogger(log),
        events,
        // Without a batch the library does not await the statement that marks a job as done: its
        // failure becomes an unhandled rejection, which ends the process.
        preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      },
      tasksOf(handlers),
      database.sessions,
    );
    const nudge = () => {
      try {
        pool.nudge(CONCURRENCY);
      } catch {
        // An ending worker refuses. The pool's promise reports why it ends.
      }
    };
    this.#nudge = nudge;
    const timer = new DueTimer(database, pollEveryMs, nudge);
    const stopped = Promise.withResolvers<void>();
    let isStopping = false;
    const stop = () => {
      if (isStopping) return;
      isStopping = true;
      timer.close();
      void stopPool(pool, patienceMs);
    };
    // The pool also ends by itself, and never resolves if several jobs could not be marked as done.
    events.once('pool:gracefulShutdown', () => {
      void settles(pool.promise, patienceMs + RELEASE_MS).then(() => stopped.resolve());
    });
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    let hasAsked = false;
    for (const answered of ['worker:getJob:empty', 'job:start']) {
      events.once(answered, () => {
        hasAsked = true;
      });
    }
    events.on('worker:getJob:empty', () => timer.look());
    events.on('worker:getJob:error', () => {
      if (!hasAsked) stop();
    });
    try {
      await Promise.race([pool.promise, stopped.promise]);
    } finally {
      this.#nudge = undefined;
      timer.close();
      signal.removeEventListener('abort', stop);
    }
  }
}

/** Wakes the workers when the next job is due, so that they need not poll for it. */
class DueTimer {
  readonly #database: Database;
  readonly #horizonMs: number;
  readonly #wake: () => void;
  #timer: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;
  /** Whether woken workers left a due job, as one of a later version. */
  #isLeft = false;
  #closed = false;

  constructor(database: Database, horizonMs: number, wake: () => void) {
    this.#database = database;
    this.#horizonMs = horizonMs;
    this.#wake = wake;
  }

  /**
   * Must be called whenever a worker found no job, because one may have been added meanwhile. One
   * look serves workers that ask together.
   */
  look(): void {
    if (this.#closed) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      // Without an answer the next poll looks again.
      nextJobDueMs(this.#database.pipeline).then(
        (dueMs) => this.#set(dueMs),
        () => undefined,
      );
    }, GATHER_MS);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#gathering);
    clearTimeout(this.#timer);
  }

  /** Later jobs are left to a later look. */
  #set(dueMs: number | undefined): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    const isDue = dueMs !== undefined && dueMs <= 0;
    const waitMs = isDue && this.#isLeft ? AGAIN_MS : dueMs;
    this.#isLeft = isDue;
    if (waitMs !== undefined && waitMs <= this.#horizonMs) this.#timer = setTimeout(this.#wake, waitMs);
  }
}

/** Never rejects: failures are reported by the pool's own promise. */
async function stopPool(pool: WorkerPool, patienceMs: number): Promise<void> {
  if (await settles(pool.gracefulShutdown(), patienceMs)) return;
  await settles(pool.forcefulShutdown('the node stops'), RELEASE_MS);
}

async function settles(work: unknown, withinMs: number): Promise<boolean> {
  const patience = new AbortController();
  const over = delay(withinMs, false, { signal: patience.signal }).catch(() => false);
  const done = Promise.resolve(work).then(
    () => true,
    () => true,
  );
  const settled = await Promise.race([done, over]);
  patience.abort();
  return settled;
}

function tasksOf(handlers: readonly TopicHandler[]): TaskList {
  const tasks = [...byTopic(handlers)].map(([name, run]): [string, Task] => [
    name,
    (payload, { job }) => run(payload, job.attempts > 1),
  ]);
  return Object.fromEntries(tasks);
}
