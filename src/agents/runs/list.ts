import { type Principal, seesWholeAccount } from '../../access/principal.ts';
import type { Db } from '../../db/handle.ts';
import { type KeysetPage, keysetList } from '../../db/keyset.ts';
import type { RunRow } from '../../resources/run.ts';
import { isReadableBy } from './access.ts';

/** Filters for the runs of an agent. */
export interface RunFilters {
  readonly status?: string | undefined;
  readonly trigger_type?: string | undefined;
}

/** Returns runs of one agent that the caller may read, newest first. */
export function readRunsOf(
  db: Db,
  principal: Principal,
  agentId: string,
  filters: RunFilters,
  page: KeysetPage,
): Promise<RunRow[]> {
  const { status = null, trigger_type = null } = filters;
  const values = [agentId, seesWholeAccount(principal), principal.actor.id, status, trigger_type] as const;
  return RUNS.readPage(db, values, page);
}

const RUNS = keysetList<
  readonly [
    agentId: string,
    seesWholeAccount: boolean,
    actorId: string,
    status: string | null,
    triggerType: string | null,
  ],
  RunRow
>({
  name: 'read-runs-of-agent',
  columns: 'r.*',
  from: 'agent_runs r',
  where: `r.agent_id = $1
      AND ($2::boolean OR ${isReadableBy('$3')})
      AND ($4::text IS NULL OR r.status = $4)
      AND ($5::text IS NULL OR r.trigger_type = $5)`,
  key: [
    ['r.created_at', 'timestamptz'],
    ['r.id', 'text'],
  ],
});
