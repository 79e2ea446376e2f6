import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { until } from './until.ts';

/**
 * Has files of deleted messages removed now, in place of a minute after their deletion, and waits
 * for it.
 */
export async function removeWithdrawnFiles(postgres: pg.Pool): Promise<void> {
  await postgres.query(
    "UPDATE uploads SET withdrawn_at = withdrawn_at - interval '2 minutes' WHERE withdrawn_at IS NOT NULL",
  );
  await postgres.query(`
    UPDATE graphile_worker._private_jobs SET run_at = now()
    WHERE locked_at IS NULL AND task_id = (${TASK})`);
  await until(
    async () => {
      await pause(100);
      const { rowCount } = await postgres.query(
        `SELECT FROM graphile_worker._private_jobs WHERE run_at <= now() AND task_id = (${TASK})`,
      );
      return rowCount === 0;
    },
    { what: 'the files to be removed' },
  );
}

const TASK = "SELECT id FROM graphile_worker._private_tasks WHERE identifier = 'remove_withdrawn_uploads'";
