import type { Database } from '../connection/database.ts';
import { statement } from '../connection/statement.ts';

/** Jobs in one statement. */
const MOST_AT_ONCE = 1_000;

/**
 * Moves waiting jobs of the previous version's queue (the schema `graphile_worker` of its library)
 * to this queue, after an upgrade and while nodes of that version still add jobs. Jobs that such a
 * node runs are left to it; after a minute it counts as dead. Jobs of topics that are not handled
 * here stay there. Returns the number of moved jobs.
 */
export async function moveEarlierJobs(database: Database, topics: readonly string[]): Promise<number> {
  const [schema] = await database.query(FIND_SCHEMA);
  if (schema?.is_there !== true) return 0;
  for (let moved = 0; ; ) {
    const [round] = await database.query(MOVE, topics, MOST_AT_ONCE);
    moved += round!.moved;
    if (round!.moved < MOST_AT_ONCE) return moved;
  }
}

const FIND_SCHEMA = statement<[], { is_there: boolean }>('find-earlier-jobs')`
    SELECT to_regclass('graphile_worker._private_jobs') IS NOT NULL AS is_there`;

const MOVE = statement<[topics: readonly string[], limit: number], { moved: number }>('move-earlier-jobs')`
    WITH found AS MATERIALIZED (
      SELECT e.id, t.identifier FROM graphile_worker._private_jobs e
      JOIN graphile_worker._private_tasks t ON t.id = e.task_id
      WHERE t.identifier = ANY($1) AND e.attempts < e.max_attempts
        AND coalesce(e.locked_at, '-infinity') < clock_timestamp() - interval '1 minute'
      LIMIT $2 FOR UPDATE OF e SKIP LOCKED
    ), removed AS (
      DELETE FROM graphile_worker._private_jobs e USING found WHERE e.id = found.id
      RETURNING e.key, found.identifier, e.payload, e.run_at
    ), added AS (
      INSERT INTO jobs AS j (key, topic, payload, due_at)
      SELECT key, identifier, payload::jsonb, run_at FROM removed
      ON CONFLICT (key) DO UPDATE SET id = excluded.id, topic = excluded.topic, payload = excluded.payload,
        due_at = least(j.due_at, excluded.due_at), attempts = 0
    )
    SELECT count(*) AS moved FROM removed`;
