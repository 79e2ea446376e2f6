import type { Logger } from '../../log.ts';
import type { Database } from './database.ts';
import { LOCK } from './node-lock.ts';
import { statement } from './statement.ts';

/** Warns if the nodes of the database may open more connections than Postgres admits. */
export async function warnOfPlaces(database: Database, log: Logger): Promise<void> {
  const [lowest] = database.places.limits;
  if (lowest === undefined) return;
  const [{ nodes } = { nodes: 1 }] = await database.query(NODES, ...LOCK);
  const wanted = nodes * database.mostConnections;
  if (wanted > lowest.limit) {
    log.warn({ nodes, wanted, ...lowest }, 'Postgres admits fewer connections than its nodes may open');
  }
}

/** Each node has the lock of node-lock.ts. */
const NODES = statement<[number, number], { nodes: number }>('nodes-by-lock')`
  SELECT count(*)::int AS nodes FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND classid = $1 AND objid = $2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
