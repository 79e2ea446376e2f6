import { Logger as JobLogger } from 'graphile-worker';
import { sql } from 'kysely';
import type { Logger } from '../log.ts';
import type { Querier, Tx } from './handle.ts';
import type { Topic } from './topic.ts';

export interface JobOptions {
  /** ISO 8601; without: at once. A job begins no earlier, by Postgres' clock. */
  readonly runAt?: string;
  /** There is one waiting job of a key: a later one takes its place. */
  readonly key?: string;
}

/**
 * Puts a job into the queue in the caller's transaction: it runs if and only if that commits, on whichever
 * node takes it (jobs/). `payload` is JSON.
 */
export async function addJob<Payload extends object>(
  tx: Tx,
  { name: task }: Topic<Payload>,
  payload: NoInfer<Payload>,
  { runAt, key }: JobOptions = {},
): Promise<void> {
  await sql`
    SELECT graphile_worker.add_job(${task}, payload => ${JSON.stringify(payload)}::json,
      run_at => ${runAt ?? null}::timestamptz, job_key => ${key ?? null})`.execute(tx.kysely);
}

/** Takes the waiting job of a key out again; one that is running goes on. */
export async function removeJob(tx: Tx, key: string): Promise<void> {
  await sql`SELECT graphile_worker.remove_job(${key})`.execute(tx.kysely);
}

/**
 * SQL: whether a job of this key (an expression) is going to be done soon. Who works on one for longer counts as
 * dead, which the library itself assumes after four hours; what failed may be put off by as much.
 */
export function hasLiveJob(key: string): string {
  return `EXISTS (
    SELECT FROM graphile_worker.jobs j WHERE j.key = ${key} AND CASE
      WHEN j.locked_at IS NULL
        THEN j.attempts < j.max_attempts AND j.run_at < clock_timestamp() + interval '${SOON_MS} ms'
      ELSE j.locked_at > clock_timestamp() - interval '${DEAD_AFTER_MS} ms'
    END)`;
}

/** A job that takes longer may be done twice at once: who asks `hasLiveJob` has to bear that. */
const DEAD_AFTER_MS = 3_000;
const SOON_MS = 15_000;

/** Removes jobs that nobody will try again, an hour after their last attempt. */
export async function purgeJobs(db: Querier): Promise<void> {
  await db.query(PURGE);
}

const PURGE = {
  name: 'purge-jobs',
  text: `
    SELECT count(*) FROM graphile_worker.complete_jobs(ARRAY(
      SELECT id FROM graphile_worker.jobs
      WHERE locked_at IS NULL AND attempts >= max_attempts AND updated_at < now() - interval '1 hour'))`,
};

/** What the queue's library has to say, in our log: its everyday talk is ours at debug level. */
export function jobLogger(log: Logger): JobLogger {
  return new JobLogger(() => (level, message, meta) => {
    if (level === 'error') log.error({ err: meta?.error }, message);
    else if (level === 'warning') log.warn({ err: meta?.error }, message);
    else log.debug(message);
  });
}
