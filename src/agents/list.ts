import type { Db } from '../db/handle.ts';
import { type KeysetPage, keysetList } from '../db/keyset.ts';
import { AGENT_COLUMNS, type AgentRow } from '../resources/agent.ts';

/** Filters for a list of agents. */
export interface AgentFilters {
  readonly trigger_type?: string | undefined;
  readonly status?: string | undefined;
  readonly category_code?: string | undefined;
}

/** Returns agents of one account, newest first. */
export function readAgents(
  db: Db,
  accountId: string,
  filters: AgentFilters,
  page: KeysetPage,
): Promise<AgentRow[]> {
  const { trigger_type = null, status = null, category_code = null } = filters;
  return AGENTS.readPage(db, [accountId, trigger_type, status, category_code], page);
}

const AGENTS = keysetList<
  [accountId: string, triggerType: string | null, status: string | null, categoryCode: string | null],
  AgentRow
>({
  name: 'read-agents',
  columns: AGENT_COLUMNS.join(', '),
  from: 'agent_definitions',
  where: `account_id = $1
      AND ($2::text IS NULL OR trigger_type = $2)
      AND ($3::text IS NULL OR status = $3)
      AND ($4::text IS NULL OR category_code = $4)`,
  key: [
    ['created_at', 'timestamptz'],
    ['id', 'text'],
  ],
  search: ['name', 'slug', 'description'],
});
