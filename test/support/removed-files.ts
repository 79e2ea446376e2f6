import type pg from 'pg';
import { hastenJobs } from './hasten-jobs.ts';

/**
 * Makes files of deleted messages be removed now, instead of a minute after their deletion, and
 * waits for that.
 */
export async function removeWithdrawnFiles(pool: pg.Pool): Promise<void> {
  await pool.query(
    "UPDATE uploads SET withdrawn_at = withdrawn_at - interval '2 minutes' WHERE withdrawn_at IS NOT NULL",
  );
  await hastenJobs({ pool }, { topic: 'remove_withdrawn_uploads' });
}
