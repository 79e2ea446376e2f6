import type { Db } from '../db/handle.ts';
import type { Statement } from '../db/statement.ts';
import type { SearchStretch } from '../db/stretch.ts';
import { AGENT_COLUMNS, type AgentRow } from '../resources/agent.ts';

/** Filters for a list of agents. */
export interface AgentFilters {
  readonly trigger_type?: string | undefined;
  readonly status?: string | undefined;
  readonly category_code?: string | undefined;
}

/** Returns agents of one account: newest first in the direction `next`, else oldest first. */
export function readAgents(
  db: Db,
  accountId: string,
  filters: AgentFilters,
  { direction, after, fetch, search }: SearchStretch,
): Promise<AgentRow[]> {
  return db.query(
    STATEMENTS[direction][after === null ? 'whole' : 'behind'],
    accountId,
    filters.trigger_type ?? null,
    filters.status ?? null,
    filters.category_code ?? null,
    search === null ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`,
    fetch,
    ...(after ?? []),
  );
}

type Params = [
  accountId: string,
  triggerType: string | null,
  status: string | null,
  categoryCode: string | null,
  pattern: string | null,
  fetch: number,
  ...after: (string | number)[],
];

const STATEMENTS = {
  next: statements('newest', '<', 'created_at DESC, id DESC'),
  previous: statements('oldest', '>', 'created_at, id'),
} as const;

function statements(end: string, comparison: '<' | '>', order: string) {
  const statement = (name: string, from: string): Statement<Params, AgentRow> => ({
    name: `read-agents-${end}-${name}`,
    text: `
    SELECT ${AGENT_COLUMNS.join(', ')} FROM agent_definitions
    WHERE account_id = $1
      AND ($2::text IS NULL OR trigger_type = $2)
      AND ($3::text IS NULL OR status = $3)
      AND ($4::text IS NULL OR category_code = $4)
      AND ($5::text IS NULL OR name ILIKE $5 OR slug ILIKE $5 OR description ILIKE $5) ${from}
    ORDER BY ${order} LIMIT $6`,
  });
  return {
    whole: statement('whole', ''),
    behind: statement('behind', `AND (created_at, id) ${comparison} ($7::timestamptz, $8)`),
  };
}
