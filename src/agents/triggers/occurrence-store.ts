import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../db/handle.ts';
import { type KeysetPage, keysetList } from '../../db/keyset.ts';
import type { Schema } from '../../db/schema.ts';

/** Days for which the outcome of an occurrence can be read. */
const KEPT_DAYS = 90;

export type OccurrenceRow = Selectable<Schema['agent_occurrences']>;

/** An occurrence before it is stored. */
export type NewOccurrence = Omit<OccurrenceRow, 'created_at'>;

/** Returns occurrences of one agent, newest first. */
export function readOccurrences(
  db: Db,
  agentId: string,
  outcome: string | null,
  page: KeysetPage,
): Promise<OccurrenceRow[]> {
  return OCCURRENCES.readPage(db, [agentId, outcome], page);
}

/** Removes the occurrences of an agent that have been kept long enough. */
export async function removeOldOccurrences(tx: Tx, agentId: string): Promise<void> {
  await tx.kysely
    .deleteFrom('agent_occurrences')
    .where('agent_id', '=', agentId)
    .where('due_at', '<', sql<string>`now() - ${sql.lit(`${KEPT_DAYS} days`)}::interval`)
    .execute();
}

/** Inserts occurrences; those that are stored already stay as they are. */
export async function insertOccurrences(tx: Tx, occurrences: readonly NewOccurrence[]): Promise<void> {
  await tx.kysely
    .insertInto('agent_occurrences')
    .values([...occurrences])
    .onConflict((conflict) => conflict.columns(['agent_id', 'due_at']).doNothing())
    .execute();
}

const OCCURRENCES = keysetList<[agentId: string, outcome: string | null], OccurrenceRow>({
  name: 'read-agent-occurrences',
  columns: '*',
  from: 'agent_occurrences',
  where: 'agent_id = $1 AND ($2::text IS NULL OR outcome = $2)',
  key: [['due_at', 'timestamptz']],
});
