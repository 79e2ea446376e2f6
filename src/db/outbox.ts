import { sql, type Transaction } from 'kysely';
import type { Database } from './database.ts';
import type { Schema } from './schema.ts';

/** An event that is true and not yet told to everybody. */
export interface OutboxRow {
  readonly id: number;
  readonly topic: string;
  readonly payload: unknown;
  readonly attempts: number;
}

/** How long a row is its writer's alone; then a sweep of any node takes it over (design.md section 5). */
export const TAKEOVER_MS = 2_000;

/** How long a sweep has for what it took, before another one may. */
const LEASE_MS = 10_000;

/**
 * An event for whichever node sweeps next, at once: for writers that deal with nothing themselves.
 * `payload` is JSON.
 */
export async function insertOutbox(tx: Transaction<Schema>, topic: string, payload: object): Promise<void> {
  await tx
    .insertInto('outbox')
    .values({
      topic,
      payload: JSON.stringify(payload),
      due_at: sql<string>`clock_timestamp() - ${sql.lit(`${TAKEOVER_MS} ms`)}::interval`,
    })
    .execute();
}

/**
 * Takes rows that their writer has not dealt with, and keeps other sweeps off them for a while. The
 * lease is a time in the row, not a lock: no transaction stays open while effects run.
 */
export function takeOverdue(database: Database, limit: number): Promise<OutboxRow[]> {
  return database.query<OutboxRow>(TAKE_OVERDUE, [limit]);
}

/** The events were published and their effects are committed. A row that comes back after a crash is dealt with again. */
export async function removeDone(database: Database, ids: readonly number[]): Promise<void> {
  await database.relaxed.query(REMOVE, [ids]);
}

/** How many rows wait, and the age of the oldest in seconds. */
export async function measureOutbox(database: Database): Promise<{ pending: number; lagSeconds: number }> {
  const [row] = await database.query<{ pending: number; lag: number | null }>(MEASURE);
  return { pending: row?.pending ?? 0, lagSeconds: Number(row?.lag ?? 0) };
}

const TAKE_OVERDUE = {
  name: 'outbox-take-overdue',
  text: `
    UPDATE outbox SET attempts = attempts + 1, due_at = clock_timestamp() + interval '${LEASE_MS} ms'
    WHERE id IN (
      SELECT id FROM outbox WHERE due_at <= clock_timestamp() - interval '${TAKEOVER_MS} ms'
      ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id, topic, payload, attempts`,
};

const REMOVE = { name: 'outbox-remove', text: 'DELETE FROM outbox WHERE id = ANY($1::bigint[])' };

const MEASURE = {
  name: 'outbox-measure',
  text: `SELECT count(*) AS pending, extract(epoch FROM clock_timestamp() - min(created_at)) AS lag FROM outbox`,
};
