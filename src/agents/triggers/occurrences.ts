import type { Selectable } from 'kysely';
import type { Db } from '../../db/handle.ts';
import type { Schema } from '../../db/schema.ts';
import type { Statement } from '../../db/statement.ts';
import type { Stretch } from '../../db/stretch.ts';
import type { AgentOccurrence } from '../../protocol/resources/agent-occurrence.ts';

export type OccurrenceRow = Selectable<Schema['agent_occurrences']>;

/** Returns occurrences of one agent: newest first in the direction `next`, else oldest first. */
export function readOccurrences(
  db: Db,
  agentId: string,
  outcome: string | undefined,
  { direction, after, fetch }: Stretch,
): Promise<OccurrenceRow[]> {
  return db.query(STATEMENTS[direction], agentId, outcome ?? null, after?.[0] ?? ENDS[direction], fetch);
}

export function presentOccurrence(row: OccurrenceRow): AgentOccurrence {
  const { agent_id, due_at, outcome, reason, run_id, created_at } = row;
  return { object: 'agent_occurrence', agent_id, due_at, outcome, reason, run_id, created_at };
}

const ENDS = { next: 'infinity', previous: '-infinity' } as const;

type Params = [agentId: string, outcome: string | null, after: string | number, fetch: number];

const STATEMENTS = {
  next: statement('newest', '<', 'DESC'),
  previous: statement('oldest', '>', 'ASC'),
} as const;

function statement(
  end: string,
  comparison: '<' | '>',
  order: 'ASC' | 'DESC',
): Statement<Params, OccurrenceRow> {
  return {
    name: `read-agent-occurrences-${end}`,
    text: `
    SELECT * FROM agent_occurrences
    WHERE agent_id = $1 AND ($2::text IS NULL OR outcome = $2) AND due_at ${comparison} $3::timestamptz
    ORDER BY due_at ${order} LIMIT $4`,
  };
}
