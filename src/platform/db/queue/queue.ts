import { sql } from 'kysely';
import type { Tx } from '../connection/handle.ts';
import { LeasedRows } from './leased-rows.ts';
import type { Topic } from './topic.ts';

export interface JobOptions {
  /** ISO 8601; at once if absent. A job begins no earlier, by Postgres' clock. */
  readonly runAt?: string;
  /** Milliseconds from now, instead of `runAt`. */
  readonly afterMs?: number;
  /** A key has at most one waiting job: a later job replaces it. One that is running continues. */
  readonly key?: string;
  /**
   * Whether the replaced job's time stays if it is earlier. The caller must hold a lock that the
   * handler of the job takes too before it ends, so that no job ends without this one's work.
   */
  readonly keepsEarlier?: true;
}

/**
 * Adds a job that runs on any node (job-worker.ts), if and only if `tx` commits. `payload` is JSON.
 */
export async function addJob<Payload extends object>(
  tx: Tx,
  { name: topic }: Topic<Payload>,
  payload: NoInfer<Payload>,
  { runAt, afterMs, key, keepsEarlier }: JobOptions = {},
): Promise<void> {
  const at =
    runAt === undefined
      ? sql`clock_timestamp() + ${afterMs ?? 0}::float8 * interval '1 millisecond'`
      : sql`${runAt}::timestamptz`;
  // A waiting job that no node has taken will do this one's work. It is left alone, because jobs of
  // one key would otherwise commit one after another.
  const unless = sql`WHERE NOT EXISTS (
      SELECT FROM jobs WHERE key = ${key ?? null} AND attempts = 0 AND due_at <= ${at})`;
  // The new id takes the row from a node that runs it.
  await sql`
    INSERT INTO jobs AS j (key, topic, payload, due_at)
    SELECT ${key ?? null}, ${topic}, ${JSON.stringify(payload)}::jsonb, ${at} ${keepsEarlier ? unless : sql``}
    ON CONFLICT (key) DO UPDATE SET id = excluded.id, topic = excluded.topic, payload = excluded.payload,
      due_at = ${keepsEarlier ? sql`least(j.due_at, excluded.due_at)` : sql`excluded.due_at`},
      attempts = 0`.execute(tx.kysely);
  tx.outbox.jobInMs = Math.min(
    tx.outbox.jobInMs ?? Number.POSITIVE_INFINITY,
    runAt === undefined ? (afterMs ?? 0) : Date.parse(runAt) - Date.now(),
  );
}

/** Removes the waiting job of a key; one that is running continues, and is not tried again. */
export async function removeJob(tx: Tx, key: string): Promise<void> {
  await tx.kysely.deleteFrom('jobs').where('key', '=', key).execute();
}

/** A job that this node has. */
export interface Job {
  readonly id: string;
  readonly fence: number;
  readonly topic: string;
  readonly payload: unknown;
  /** The number of attempts, with this one. */
  readonly attempts: number;
}

/** Jobs of these topics, those due first. Jobs of other topics are of a later version. */
export const JOBS = new LeasedRows<
  Pick<Job, 'id' | 'fence'>,
  Job,
  [topics: readonly string[], limit: number]
>({
  name: 'jobs',
  table: 'jobs',
  key: ['id'],
  due: 'due_at',
  fence: 'fence',
  tries: 'attempts',
  take: {
    from: `jobs q WHERE q.due_at <= statement_timestamp() AND q.topic = ANY($2) ORDER BY q.due_at LIMIT $3`,
    returning: 'q.id, q.fence, q.topic, q.payload, q.attempts',
  },
  // Locked by a transaction that replaces or removes it.
  renew: { passesLocked: true },
  // A job that was left out for this one (`keepsEarlier`) must not end with its former node's work.
  release: { set: 'fence = q.fence + 1' },
  settle: { removes: true },
});

/** Returns SQL: milliseconds until the first job of these topics is due, null if none waits. */
export function nextJobInMs(topics: string): string {
  return `(SELECT ceil(extract(epoch FROM q.due_at - clock_timestamp()) * 1000)::int8 AS due_in_ms
    FROM jobs q WHERE q.topic = ANY(${topics}) ORDER BY q.due_at LIMIT 1)`;
}
