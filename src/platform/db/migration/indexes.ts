import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { Schema } from '../tables/schema.ts';

/**
 * An index of a table that may be large. A changed one is renamed, and `dropped` gets the old name.
 */
interface Index {
  readonly unique?: true;
  /** The SQL after `ON`. */
  readonly on: string;
}

/**
 * Indexes that no migration makes, because a migration would lock its table for as long as the
 * build takes.
 */
export interface Indexes {
  readonly built: Readonly<Record<string, Index>>;
  /** Names of indexes that no version in use needs any more. */
  readonly dropped: readonly string[];
}

/**
 * Builds missing indexes and removes those in `dropped`, without blocking writes; returns their
 * names. It can be killed at any moment and run again: an interrupted build leaves an invalid
 * index, which counts as missing. Nodes that start together take turns.
 *
 * `db` must be one connection without a time limit, outside of a transaction.
 */
export async function buildIndexes(db: Kysely<Schema>, indexes: Indexes): Promise<string[]> {
  for (;;) {
    if ((await pending(db, indexes)).length === 0) return [];
    if (await tryLock(db)) break;
    // Polls, because a statement that waits for the lock holds a snapshot, and the other node's
    // build waits for every older snapshot to end: neither would ever finish.
    await delay(POLL_MS);
  }
  try {
    const todo = await pending(db, indexes);
    for (const { name, exists } of todo) {
      if (exists) await sql`DROP INDEX CONCURRENTLY IF EXISTS ${sql.id(name)}`.execute(db);
      const index = indexes.built[name];
      if (index === undefined) continue;
      const unique = index.unique === true ? 'UNIQUE ' : '';
      await sql.raw(`CREATE ${unique}INDEX CONCURRENTLY ${name} ON ${index.on}`).execute(db);
    }
    return todo.map(({ name }) => name);
  } finally {
    await sql`SELECT pg_advisory_unlock(${LOCK})`.execute(db);
  }
}

interface Pending {
  readonly name: string;
  /** Whether the index exists, and is invalid or no longer wanted. */
  readonly exists: boolean;
}

async function pending(db: Kysely<Schema>, { built, dropped }: Indexes): Promise<Pending[]> {
  const { rows } = await sql<Pending>`
    SELECT wanted.name, i.indexrelid IS NOT NULL AS exists
    FROM unnest(${Object.keys(built)}::text[]) AS wanted(name)
    LEFT JOIN pg_index i ON i.indexrelid = to_regclass(wanted.name)
    WHERE i.indisvalid IS NOT TRUE
    UNION ALL
    SELECT name, true FROM unnest(${dropped}::text[]) AS dropped(name) WHERE to_regclass(name) IS NOT NULL
    ORDER BY name`.execute(db);
  return rows;
}

async function tryLock(db: Kysely<Schema>): Promise<boolean> {
  const { rows } = await sql<{ taken: boolean }>`SELECT pg_try_advisory_lock(${LOCK}) AS taken`.execute(db);
  return rows[0]?.taken === true;
}

/** The advisory lock of index builds: any number that nothing else of Parley uses. */
const LOCK = 7_230_915_005;
const POLL_MS = 200;
