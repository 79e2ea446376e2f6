import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { runTaskList, type WorkerPool } from 'graphile-worker';
import type { Database } from '../db/database.ts';
import { jobLogger, purgeJobs } from '../db/queue.ts';
import { byTopic, type TopicHandler } from '../db/topic.ts';
import { Loop } from '../lifecycle.ts';
import type { Logger } from '../log.ts';

export interface JobWorkerOptions {
  readonly database: Database;
  /** One for each task. A job whose handler rejects is tried again later. */
  readonly handlers: readonly TopicHandler[];
  readonly log: Logger;
  /** How long running jobs may take to end when the node stops; then others may have them. Default 5,000. */
  readonly patienceMs?: number;
}

/** Jobs at once, each with a connection of the pool; one more listens. */
const CONCURRENCY = 4;

/** A job that is due at a time is found by asking: this is how late it may begin. */
const POLL_EVERY_MS = 200;

const RESTART_AFTER_MS = 500;

const PATIENCE_MS = 5_000;

/** How long it may take to say in Postgres that they may: a Postgres that does not answer is not waited for. */
const RELEASE_MS = 1_000;
const PURGE_EVERY_MS = 10 * 60 * 1_000;

/**
 * Does the jobs of the queue (db/queue.ts) on this node. The library's workers live through an absence of
 * Postgres but for two cases: they end when they cannot say there that a job is done, and when their very
 * first question fails they never ask it again. So they are watched, and begun anew until the node stops.
 */
export class JobWorker {
  readonly #options: JobWorkerOptions;
  readonly #workers: Loop;
  readonly #purge: Loop;

  constructor(options: JobWorkerOptions) {
    this.#options = options;
    this.#workers = new Loop({
      intervalMs: RESTART_AFTER_MS,
      run: (signal) => this.#work(signal),
      onError: (error) => options.log.warn({ err: error }, 'job queue workers failed, restarting them'),
    });
    this.#workers.wake();
    this.#purge = new Loop({
      intervalMs: PURGE_EVERY_MS,
      run: () => purgeJobs(options.database),
      onError: (error) => options.log.warn({ err: error }, 'purging finished jobs failed'),
    });
  }

  /** Takes no more jobs and waits for those that run, as long as its patience lasts. */
  async close(): Promise<void> {
    await Promise.all([this.#workers.close(), this.#purge.close()]);
  }

  /** Ends with the workers: because of the signal, or by rejecting. */
  async #work(signal: AbortSignal): Promise<void> {
    const { database, handlers, log, patienceMs = PATIENCE_MS } = this.#options;
    // Rejects while Postgres is away: then there is no use in beginning.
    await purgeJobs(database);
    const events = new EventEmitter();
    const pool = runTaskList(
      {
        concurrency: CONCURRENCY,
        pollInterval: POLL_EVERY_MS,
        noHandleSignals: true,
        schema: 'graphile_worker',
        logger: jobLogger(log),
        events,
        // Without a batch the library waits for nobody to say that a job is done, and what then fails is an
        // unhandled rejection: the end of the process.
        preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      },
      Object.fromEntries(byTopic(handlers)),
      database.pool,
    );
    const stopped = Promise.withResolvers<void>();
    let isStopping = false;
    const stop = () => {
      if (isStopping) return;
      isStopping = true;
      void stopPool(pool, patienceMs).then(stopped.resolve);
    };
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    let hasAsked = false;
    for (const answered of ['worker:getJob:empty', 'job:start']) {
      events.once(answered, () => {
        hasAsked = true;
      });
    }
    events.on('worker:getJob:error', () => {
      if (!hasAsked) stop();
    });
    try {
      await Promise.race([pool.promise, stopped.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}

/** Never rejects: what there is to say comes with the pool's own promise. */
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
