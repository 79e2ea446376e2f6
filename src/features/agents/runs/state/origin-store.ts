import { RUN_LIMITS } from '../../../../contract/protocol/resources/agent-run.ts';
import type { Db } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';

export interface OriginRow {
  readonly by_agent: boolean;
  readonly by_customer: boolean;
  readonly depth: number | null;
  readonly root_id: string | null;
  readonly traceparent: string | null;
  /** The number of runs with the same root, counted up to the limit. */
  readonly started: number;
}

/** An action of this actor at this time, in this run if it is known. */
export interface OriginKey {
  readonly by: string;
  readonly runId: string | null;
  readonly at: string;
}

/** Returns undefined if there is no such actor. */
export async function readOriginRow(db: Db, { by, runId, at }: OriginKey): Promise<OriginRow | undefined> {
  const [row] = await db.query(READ_ORIGIN, by, runId, at);
  return row;
}

const READ_ORIGIN = statement<[by: string, runId: string | null, at: string], OriginRow>({
  name: 'read-trigger-origin',
  text: `
    SELECT a.type = 'agent' AS by_agent, a.customer AS by_customer, r.depth, r.root_id, r.traceparent, (
      SELECT count(*) FROM (
        SELECT FROM agent_runs s WHERE s.root_id = r.root_id LIMIT ${RUN_LIMITS.chain}
      ) AS started
    ) AS started
    FROM actors a LEFT JOIN LATERAL (
      SELECT coalesce(c.root_id, c.id) AS root_id, c.depth, c.traceparent FROM (
        SELECT r.id, r.root_id, r.depth, r.traceparent, 1 AS choice FROM agent_runs r WHERE r.id = $2
        UNION ALL
        SELECT r.id, r.root_id, r.depth, r.traceparent, 2 FROM agent_runs r
          WHERE r.actor_id = $1 AND r.completed_at IS NULL AND r.created_at <= $3::timestamptz
        UNION ALL
        SELECT r.id, r.root_id, r.depth, r.traceparent, 2 FROM agent_runs r
          WHERE r.actor_id = $1 AND r.completed_at >= $3::timestamptz AND r.created_at <= $3::timestamptz
      ) c ORDER BY c.choice, c.depth DESC LIMIT 1
    ) r ON a.type = 'agent'
    WHERE a.id = $1`,
});
