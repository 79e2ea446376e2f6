import type { Queries } from '../../db/statement.ts';

/** Who did what may start agents. */
export interface Cause {
  /** Actor id; null: nobody, or nobody in particular. */
  readonly by: string | null;
  /** The run it belongs to, where that is known. */
  readonly runId: string | null;
  /** When. */
  readonly at: string;
}

export interface Origin {
  readonly byAgent: boolean;
  readonly byCustomer: boolean;
  /** Of a run that it starts: how many runs have led to it. */
  readonly depth: number;
}

/**
 * Where a cause comes from. What an agent did outside a reply of its run (a tool that sent a message, say) names no
 * run: the deepest of those that it had at that time counts, so that no chain of agents is endless.
 */
export async function readOrigin(database: Queries, { by, runId, at }: Cause): Promise<Origin> {
  if (by === null) return NOBODY;
  const [row] = await database.query<OriginRow>(READ_ORIGIN, [by, runId, at]);
  if (row === undefined) return NOBODY;
  const { by_agent: byAgent, by_customer: byCustomer, depth } = row;
  return { byAgent, byCustomer, depth: byAgent ? (depth ?? 0) + 1 : 0 };
}

interface OriginRow {
  readonly by_agent: boolean;
  readonly by_customer: boolean;
  readonly depth: number | null;
}

const NOBODY: Origin = { byAgent: false, byCustomer: false, depth: 0 };

const READ_ORIGIN = {
  name: 'read-trigger-origin',
  text: `
    SELECT a.type = 'agent' AS by_agent, a.customer AS by_customer, coalesce(
      (SELECT r.depth FROM agent_runs r WHERE r.id = $2),
      greatest(
        (SELECT max(r.depth) FROM agent_runs r
          WHERE r.actor_id = $1 AND r.completed_at IS NULL AND r.created_at <= $3::timestamptz),
        (SELECT max(r.depth) FROM agent_runs r
          WHERE r.actor_id = $1 AND r.completed_at >= $3::timestamptz AND r.created_at <= $3::timestamptz)
      )
    ) AS depth
    FROM actors a WHERE a.id = $1`,
};
