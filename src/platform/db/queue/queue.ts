import { Logger as JobLogger } from 'graphile-worker';
import { sql } from 'kysely';
import type { Logger } from '../../log.ts';
import type { Querier, Tx } from '../connection/handle.ts';
import { statement } from '../connection/statement.ts';
import type { Topic } from './topic.ts';

export interface JobOptions {
  /** ISO 8601; at once if absent. A job begins no earlier, by Postgres' clock. */
  readonly runAt?: string;
  /** Milliseconds from now, instead of `runAt`. */
  readonly afterMs?: number;
  /** A key has at most one waiting job: a later job replaces it. */
  readonly key?: string;
}

/**
 * Adds a job that runs on any node (job-worker.ts), if and only if `tx` commits. `payload` is JSON.
 */
export async function addJob<Payload extends object>(
  tx: Tx,
  { name: task }: Topic<Payload>,
  payload: NoInfer<Payload>,
  { runAt, afterMs, key }: JobOptions = {},
): Promise<void> {
  const at =
    afterMs === undefined
      ? sql`${runAt ?? null}::timestamptz`
      : sql`clock_timestamp() + ${afterMs}::float8 * interval '1 millisecond'`;
  await sql`
    SELECT graphile_worker.add_job(${task}, payload => ${JSON.stringify(payload)}::json,
      run_at => ${at}, job_key => ${key ?? null})`.execute(tx.kysely);
}

/** Removes the waiting job of a key; one that is running continues. */
export async function removeJob(tx: Tx, key: string): Promise<void> {
  await sql`SELECT graphile_worker.remove_job(${key})`.execute(tx.kysely);
}

/** Removes the waiting jobs of several keys in one statement; those that are running continue. */
export async function removeJobs(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await tx.query(REMOVE_JOBS, keys);
}

const REMOVE_JOBS = statement<[keys: readonly string[]]>('remove-jobs')`
    SELECT count(*) FROM graphile_worker.complete_jobs(ARRAY(
      SELECT id FROM graphile_worker.jobs WHERE key = ANY($1) AND locked_at IS NULL))`;

/** Returns the ms until the first job is due by Postgres' clock (0 or less: now), or undefined. */
export async function nextJobDueMs(db: Querier): Promise<number | undefined> {
  const [next] = await db.query(NEXT_DUE);
  return next?.due_ms;
}

/** SQL: whether a job is due. */
export const HAS_DUE_JOB = `(
    SELECT run_at FROM graphile_worker._private_jobs WHERE is_available ORDER BY priority, run_at LIMIT 1
  ) <= statement_timestamp()`;

// Straight off the index that workers use: all our jobs have the same priority.
const NEXT_DUE = statement<[], { due_ms: number }>('next-job-due')`
    SELECT ceil(extract(epoch FROM run_at - clock_timestamp()) * 1000)::int8 AS due_ms
    FROM graphile_worker._private_jobs WHERE is_available ORDER BY priority, run_at LIMIT 1`;

/**
 * Returns SQL for whether a job of this key (an expression) will run soon. A worker that holds a
 * job longer than DEAD_AFTER_MS counts as dead here, which the library itself assumes only after
 * four hours; a failed job may be delayed for as long.
 */
export function hasLiveJob(key: string): string {
  return `EXISTS (
    SELECT FROM graphile_worker.jobs j WHERE j.key = ${key} AND CASE
      WHEN j.locked_at IS NULL
        THEN j.attempts < j.max_attempts AND j.run_at < clock_timestamp() + interval '${SOON_MS} ms'
      ELSE j.locked_at > clock_timestamp() - interval '${DEAD_AFTER_MS} ms'
    END)`;
}

/**
 * Returns SQL for the milliseconds until the waiting job of this key (an expression) runs; null if
 * there is none, or it is running or due.
 */
export function jobWaitsMs(key: string): string {
  return `(
    SELECT ceil(extract(epoch FROM j.run_at - clock_timestamp()) * 1000)::int8 FROM graphile_worker.jobs j
    WHERE j.key = ${key} AND j.locked_at IS NULL AND j.run_at > clock_timestamp())`;
}

/** A job that takes longer may run twice at once: callers of `hasLiveJob` must tolerate that. */
const DEAD_AFTER_MS = 3_000;
const SOON_MS = 15_000;

/** Removes jobs that have no attempts left, an hour after their last attempt. */
export async function purgeJobs(db: Querier): Promise<void> {
  await db.query(PURGE);
}

const PURGE = statement('purge-jobs')`
    SELECT count(*) FROM graphile_worker.complete_jobs(ARRAY(
      SELECT id FROM graphile_worker.jobs
      WHERE locked_at IS NULL AND attempts >= max_attempts AND updated_at < now() - interval '1 hour'))`;

/** Returns a logger for the queue's library that writes to our log; its info lines become debug. */
export function jobLogger(log: Logger): JobLogger {
  return new JobLogger(() => (level, message, meta) => {
    if (level === 'error') log.error({ err: meta?.error }, message);
    else if (level === 'warning') log.warn({ err: meta?.error }, message);
    else log.debug(message);
  });
}
