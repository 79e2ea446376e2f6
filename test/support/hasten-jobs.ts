import type { Database } from '../../src/platform/db/connection/database.ts';
import { until } from './until.ts';

/**
 * Makes the jobs of a key or a topic due now, instead of at their times, and waits until a node has
 * run them.
 */
export async function hastenJobs(
  { pool }: Pick<Database, 'pool'>,
  { key, topic }: { readonly key?: string | undefined; readonly topic?: string },
): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    'UPDATE jobs SET due_at = now() WHERE key = $1 OR topic = $2 RETURNING id',
    [key ?? null, topic ?? null],
  );
  const ids = rows.map(({ id }) => id);
  const left = async () => (await pool.query('SELECT FROM jobs WHERE id = ANY($1)', [ids])).rowCount;
  await until(async () => (await left()) === 0, { what: 'jobs to end' });
}
