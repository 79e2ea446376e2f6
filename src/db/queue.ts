import { Logger as JobLogger } from 'graphile-worker';
import { type Kysely, sql } from 'kysely';
import type { Logger } from '../log.ts';
import type { Schema } from './schema.ts';

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
export async function addJob(
  tx: Kysely<Schema>,
  task: string,
  payload: object,
  { runAt, key }: JobOptions = {},
): Promise<void> {
  await sql`
    SELECT graphile_worker.add_job(${task}, payload => ${JSON.stringify(payload)}::json,
      run_at => ${runAt ?? null}::timestamptz, job_key => ${key ?? null})`.execute(tx);
}

/** Takes the waiting job of a key out again; one that is running goes on. */
export async function removeJob(tx: Kysely<Schema>, key: string): Promise<void> {
  await sql`SELECT graphile_worker.remove_job(${key})`.execute(tx);
}

/** What the queue's library has to say, in our log: its everyday talk is ours at debug level. */
export function jobLogger(log: Logger): JobLogger {
  return new JobLogger(() => (level, message, meta) => {
    if (level === 'error') log.error({ meta }, message);
    else if (level === 'warning') log.warn({ meta }, message);
    else log.debug(message);
  });
}
