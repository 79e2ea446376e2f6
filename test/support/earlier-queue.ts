import type { Database } from '../../src/platform/db/connection/database.ts';

/** A job of the previous version, with the columns that this version reads. */
export interface EarlierJob {
  readonly topic: string;
  readonly payload: object;
  readonly key?: string;
  /** SQL. Default: at once. */
  readonly runAt?: string;
  /** SQL: since when one of its nodes has the job. */
  readonly lockedAt?: string;
  readonly attempts?: number;
}

/**
 * Makes the schema of the previous version's queue, which its library made, as far as it is read.
 */
export async function createEarlierQueue({ pool }: Database): Promise<void> {
  await pool.query(`
    CREATE SCHEMA graphile_worker;
    CREATE TABLE graphile_worker._private_tasks (
      id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, identifier text NOT NULL UNIQUE);
    CREATE TABLE graphile_worker._private_jobs (
      id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
      task_id int NOT NULL REFERENCES graphile_worker._private_tasks,
      payload json NOT NULL DEFAULT '{}', run_at timestamptz NOT NULL DEFAULT now(),
      attempts smallint NOT NULL DEFAULT 0, max_attempts smallint NOT NULL DEFAULT 25,
      key text UNIQUE, locked_at timestamptz, locked_by text)`);
}

/** Adds a job as a node of the previous version does. */
export async function addEarlierJob({ pool }: Database, job: EarlierJob): Promise<void> {
  const { topic, payload, key = null, runAt = 'now()', lockedAt = 'NULL', attempts = 0 } = job;
  await pool.query(
    'INSERT INTO graphile_worker._private_tasks (identifier) VALUES ($1) ON CONFLICT DO NOTHING',
    [topic],
  );
  await pool.query(
    `INSERT INTO graphile_worker._private_jobs (task_id, payload, key, attempts, run_at, locked_at)
     SELECT id, $2, $3, $4, ${runAt}, ${lockedAt} FROM graphile_worker._private_tasks WHERE identifier = $1`,
    [topic, JSON.stringify(payload), key, attempts],
  );
}
