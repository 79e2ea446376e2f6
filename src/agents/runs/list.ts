import { type Principal, seesWholeAccount } from '../../access/principal.ts';
import type { Db } from '../../db/handle.ts';
import type { Statement } from '../../db/statement.ts';
import type { Stretch } from '../../db/stretch.ts';
import type { RunRow } from '../../resources/run.ts';
import { isReadableBy } from './access.ts';

/** Filters for the runs of an agent. */
export interface RunFilters {
  readonly status?: string | undefined;
  readonly trigger_type?: string | undefined;
}

/** Returns runs of one agent that the caller may read: newest first in the direction `next`, else oldest first. */
export function readRunsOf(
  db: Db,
  principal: Principal,
  agentId: string,
  filters: RunFilters,
  { direction, after, fetch }: Stretch,
): Promise<RunRow[]> {
  return db.query(
    STATEMENTS[direction][after === null ? 'whole' : 'behind'],
    agentId,
    seesWholeAccount(principal),
    principal.actor.id,
    filters.status ?? null,
    filters.trigger_type ?? null,
    fetch,
    ...(after ?? []),
  );
}

type Params = [
  agentId: string,
  seesWholeAccount: boolean,
  actorId: string,
  status: string | null,
  triggerType: string | null,
  fetch: number,
  ...after: (string | number)[],
];

const STATEMENTS = {
  next: statements('newest', '<', 'r.created_at DESC, r.id DESC'),
  previous: statements('oldest', '>', 'r.created_at, r.id'),
} as const;

function statements(end: string, comparison: '<' | '>', order: string) {
  const statement = (name: string, from: string): Statement<Params, RunRow> => ({
    name: `read-runs-of-agent-${end}-${name}`,
    text: `
    SELECT r.* FROM agent_runs r
    WHERE r.agent_id = $1
      AND ($2::boolean OR ${isReadableBy('$3')})
      AND ($4::text IS NULL OR r.status = $4)
      AND ($5::text IS NULL OR r.trigger_type = $5) ${from}
    ORDER BY ${order} LIMIT $6`,
  });
  return {
    whole: statement('whole', ''),
    behind: statement('behind', `AND (r.created_at, r.id) ${comparison} ($7::timestamptz, $8)`),
  };
}
