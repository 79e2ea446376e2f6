import { attention, type Check, duration, ok } from '../../core/installation/check.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/** Seconds after which a push service that accepts no push needs an operator. */
const FAILING_S = 600;

/** Returns the check that push services accept pushes. */
export function pushCheck(database: Pick<Database, 'query'>): Check {
  return {
    name: 'push',
    section: 'when-a-push-service-refuses',
    async look() {
      const [failing] = await database.query(READ_FAILING, FAILING_S);
      if (failing === undefined) return ok('Push services take what is pushed.');
      return attention(
        `${failing.origin} has taken no push for ${duration(failing.seconds)}. The log has its reason: look at PARLEY_VAPID_SUBJECT, and whether it can be reached.`,
      );
    },
  };
}

// Returns the push service with the most failing browsers, of the services that have accepted no
// push since the first of these failures. The subscription of a single failing browser ends by
// itself.
const READ_FAILING = statement<[seconds: number], { origin: string; seconds: number }>(
  'read-failing-push-service',
)`
    WITH services AS (
      SELECT origin, count(failing_since) AS failing, min(failing_since) AS since, max(last_success_at) AS last_success
      FROM push_subscriptions GROUP BY origin
    )
    SELECT origin, extract(epoch FROM clock_timestamp() - since)::float8 AS seconds FROM services
    WHERE since < clock_timestamp() - $1::float8 * interval '1 s' AND (last_success IS NULL OR last_success < since)
    ORDER BY failing DESC, origin LIMIT 1`;
