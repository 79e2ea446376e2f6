import type { Selectable } from 'kysely';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

/** Days for which the outcome of an occurrence can be read. */
const KEPT_DAYS = 90;

export type OccurrenceRow = Selectable<Schema['agent_occurrences']>;

/** An occurrence before it is stored. */
export type NewOccurrence = Omit<OccurrenceRow, 'created_at'>;

/** Removes occurrences that have been kept long enough. */
export async function removeOldOccurrences(db: Db): Promise<void> {
  await db.query(REMOVE_OLD);
}

/** Inserts occurrences; existing ones stay as they are. */
export async function insertOccurrences(tx: Tx, occurrences: readonly NewOccurrence[]): Promise<void> {
  await tx.kysely
    .insertInto('agent_occurrences')
    .values([...occurrences])
    .onConflict((conflict) => conflict.columns(['agent_id', 'due_at']).doNothing())
    .execute();
}

/** The occurrences of one agent, newest first. */
export const OCCURRENCES = keysetList<[agentId: string, outcome: string | null], OccurrenceRow>({
  name: 'read-agent-occurrences',
  columns: '*',
  from: 'agent_occurrences',
  where: 'agent_id = $1 AND ($2::text IS NULL OR outcome = $2)',
  key: [['due_at', 'timestamptz']],
});

const REMOVE_OLD = statement('remove-old-occurrences')`
    DELETE FROM agent_occurrences WHERE due_at < clock_timestamp() - interval '${KEPT_DAYS} days'`;
