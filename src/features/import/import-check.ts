import { attention, type Check, counted, ok } from '../../core/installation/check.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { isUnavailable } from '../../platform/db/connection/unavailable.ts';

/** Returns the check that imports get through. */
export function importCheck(database: Pick<Database, 'query'>): Check {
  return {
    name: 'imports',
    section: 'when-an-import-fails',
    async look() {
      try {
        const [counts] = await database.query(COUNT);
        const { failed, running } = counts!;
        if (failed > 0) {
          return attention(
            `${counted(failed, 'import')} failed within a day. Each says why; start it again then.`,
          );
        }
        return ok(running > 0 ? `Under way: ${counted(running, 'import')}.` : 'No import is under way.');
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        return ok('Imports are unknown while Postgres is away.');
      }
    },
  };
}

const COUNT = statement<[], { failed: number; running: number }>('count-imports')`
    SELECT count(*) FILTER (WHERE status = 'failed')::int AS failed,
      count(*) FILTER (WHERE status IN ('queued', 'running'))::int AS running
    FROM imports
    WHERE status IN ('queued', 'running')
      OR status = 'failed' AND completed_at > clock_timestamp() - interval '1 day'`;
