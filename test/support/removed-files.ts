import type pg from 'pg';
import { hastenJobs } from './hasten-jobs.ts';

/**
 * Has files of deleted messages removed now, in place of a minute after their deletion, and waits
 * for it.
 */
export async function removeWithdrawnFiles(pool: pg.Pool): Promise<void> {
  await pool.query(
    "UPDATE uploads SET withdrawn_at = withdrawn_at - interval '2 minutes' WHERE withdrawn_at IS NOT NULL",
  );
  await hastenJobs({ pool }, { topic: 'remove_withdrawn_uploads' });
}
