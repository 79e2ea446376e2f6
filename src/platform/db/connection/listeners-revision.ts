import type { Querier, Tx } from './handle.ts';
import { statement } from './statement.ts';

/**
 * Counts changes of what listens to committed events, as decimal text. Outbox rows that were
 * handled under an earlier count are handled again.
 */
export type ListenersRevision = string;

/** SQL: the committed revision. */
export const LISTENERS_REVISION = `coalesce((SELECT value FROM settings WHERE name = 'listeners_revision'), '0')`;

/** Raises the revision. Changes of accounts wait for each other here until they commit. */
export async function raiseListenersRevision(tx: Tx): Promise<void> {
  await tx.query(RAISE);
}

export async function readListenersRevision(db: Querier): Promise<ListenersRevision> {
  const [row] = await db.query(READ);
  return row!.revision;
}

const RAISE = statement('raise-listeners-revision')`
    INSERT INTO settings AS s (name, value) VALUES ('listeners_revision', '1')
    ON CONFLICT (name) DO UPDATE SET value = s.value::bigint + 1`;

const READ = statement<[], { revision: ListenersRevision }>('read-listeners-revision')`
    SELECT ${LISTENERS_REVISION} AS revision`;
