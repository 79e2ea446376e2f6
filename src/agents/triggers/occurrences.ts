import type { Selectable } from 'kysely';
import type { Db } from '../../db/handle.ts';
import { type KeysetPage, keysetList } from '../../db/keyset.ts';
import type { Schema } from '../../db/schema.ts';
import type { AgentOccurrence } from '../../protocol/resources/agent-occurrence.ts';

export type OccurrenceRow = Selectable<Schema['agent_occurrences']>;

/** Returns occurrences of one agent, newest first. */
export function readOccurrences(
  db: Db,
  agentId: string,
  outcome: string | null,
  page: KeysetPage,
): Promise<OccurrenceRow[]> {
  return OCCURRENCES.readPage(db, [agentId, outcome], page);
}

export function presentOccurrence(row: OccurrenceRow): AgentOccurrence {
  const { agent_id, due_at, outcome, reason, run_id, created_at } = row;
  return { object: 'agent_occurrence', agent_id, due_at, outcome, reason, run_id, created_at };
}

const OCCURRENCES = keysetList<[agentId: string, outcome: string | null], OccurrenceRow>({
  name: 'read-agent-occurrences',
  columns: '*',
  from: 'agent_occurrences',
  where: 'agent_id = $1 AND ($2::text IS NULL OR outcome = $2)',
  key: [['due_at', 'timestamptz']],
});
