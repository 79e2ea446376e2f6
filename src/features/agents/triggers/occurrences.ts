import type { AgentOccurrence } from '../../../contract/protocol/resources/agent-occurrence.ts';
import type { OccurrenceRow } from './occurrence-store.ts';

export function presentOccurrence(row: OccurrenceRow): AgentOccurrence {
  const { agent_id, due_at, outcome, reason, run_id, created_at } = row;
  return { object: 'agent_occurrence', agent_id, due_at, outcome, reason, run_id, created_at };
}
