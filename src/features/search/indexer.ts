import { BackgroundWork } from '../../platform/background.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { codeOf } from '../../platform/db/connection/unavailable.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import { foldEntries, IS_EARLIER, writeEntries } from './entries.ts';
import type { SearchMetrics } from './metrics.ts';

interface IndexerOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly metrics: SearchMetrics;
  readonly log: Logger;
}

/**
 * Writes the entries of a search after commits, on every node. Each part of the work is a
 * transaction of about 5 ms followed by a rest, because work in one piece kept a core busy for 250
 * ms and doubled the p99 of sends. The node that finds a part due takes it; a node that dies leaves
 * its part noted.
 *
 * Up to 3,500 messages a second are indexed as they arrive. Above that rate, or while older
 * messages are indexed, it rests as all background work does, and the index lags. Searches read
 * noted changes directly (candidates.ts).
 */
export class Indexer {
  readonly #options: IndexerOptions;
  readonly #loop: Loop;

  constructor(options: IndexerOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: (signal) => this.#round(signal),
      onError: (error) => options.log.warn({ err: error }, 'indexing for search failed'),
    });
    options.watch.add({ name: 'search', condition: HAS_WORK, onDue: () => this.#loop.wake() });
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  /** Indexes parts until none is left or another node takes the next one. */
  async #round(signal: AbortSignal): Promise<void> {
    const { database, metrics } = this.#options;
    const [oldest] = await database.query(READ_LAG);
    metrics.searchLagSeconds.set(oldest?.lag ?? 0);
    const beganMs = performance.now();
    for (let isFull = true; isFull && !signal.aborted; ) {
      const part = await indexPart(database);
      if (part === undefined) return;
      metrics.searchIndexed.inc(part.size);
      metrics.searchLagSeconds.set(part.isFull ? part.lag : 0);
      isFull = part.isFull;
      if (isFull) await database.load.pause(part.restMs, signal);
    }
    metrics.searchRoundSeconds.observe((performance.now() - beganMs) / 1_000);
  }
}

interface Part {
  /** Messages and conversations that were read. */
  readonly size: number;
  /** Whether more may be waiting. */
  readonly isFull: boolean;
  /** The age of the oldest note in seconds, 0 if there was none. */
  readonly lag: number;
  /** Milliseconds before the next part may begin, on any node. */
  readonly restMs: number;
}

/**
 * Indexes about PART of the noted changes, of the content older than search, and of the entries
 * with an earlier folding. Returns undefined if there are none, another node works, the index
 * rests, or a change of a message takes long to commit.
 */
export function indexPart(database: Database): Promise<Part | undefined> {
  const work = new BackgroundWork(database.load);
  return database
    .transaction((tx) => takePart(tx, work))
    .catch((error: unknown) => {
      if (codeOf(error) !== LOCK_TIMEOUT) throw error;
      return undefined;
    });
}

async function takePart(tx: Tx, work: BackgroundWork): Promise<Part | undefined> {
  const [turn] = await tx.query(TAKE_TURN, INDEX_LOCK);
  if (!turn!.is_ours) return undefined;
  const rows = await tx.query(READ_NOTES, PART);
  const notes = rows.filter(({ id }) => id !== null);
  const { filled_through, lag, waiting } = rows[0]!;
  const noted = new Map(
    notes.flatMap(({ entry_ids, conversation_ids }) => entry_ids.map((id, n) => [id, conversation_ids[n]!])),
  );

  let filledThrough = filled_through;
  const room = PART - noted.size;
  if (filled_through !== null && room > 0) {
    const unfilled = await tx.query(READ_UNFILLED, filled_through, room);
    for (const { id, conversation_id } of unfilled) noted.set(id, conversation_id);
    filledThrough = unfilled.length < room ? null : unfilled.at(-1)!.id;
  }
  const foldable = noted.size < PART ? await tx.query(READ_EARLIER, PART - noted.size) : [];
  if (noted.size + foldable.length === 0 && filledThrough === filled_through) return undefined;

  const ofFoldable = foldable.map(({ conversation_id }) => conversation_id);
  await tx.query(LOCK_CONVERSATIONS, [...new Set([...noted.values(), ...ofFoldable])]);
  await writeEntries(tx, [...noted.keys()]);
  await foldEntries(
    tx,
    foldable.map(({ id }) => id),
  );
  const isPaced = filledThrough === null && foldable.length === 0 && keepsUp(waiting, lag);
  const pacedMs = isPaced
    ? Math.max(0, noted.size / MESSAGES_A_MS - work.workedMs)
    : Number.POSITIVE_INFINITY;
  const restMs = Math.round(Math.min(work.restMs, pacedMs));
  const noteIds = notes.map(({ id }) => id!);
  await tx.query(END_PART, noteIds, filledThrough, restMs);
  const size = noted.size + foldable.length;
  const isFull = size >= PART || notes.length === MAX_NOTES || filledThrough !== null;
  return { size, isFull, lag, restMs };
}

/** Returns whether the noted messages arrived at a rate with which the index keeps up. */
export function keepsUp(waiting: number, lagSeconds: number): boolean {
  return waiting <= MESSAGES_A_MS * lagSeconds * 1_000;
}

/** Messages of a part: about 5 ms of a core, for which sends wait. A note has at most as many. */
const PART = 64;
const MAX_NOTES = 16;
/** The rate up to which messages are indexed within about a second: 3,500 messages a second. */
const MESSAGES_A_MS = 3.5;
/** SQLSTATE: a change of a message did not commit while a part waited. */
const LOCK_TIMEOUT = '55P03';
/** An arbitrary number that no other advisory lock of Parley uses. */
const INDEX_LOCK = 7_230_915_036;

/** SQL: whether a part may begin and has something to index. */
const HAS_WORK = `EXISTS (SELECT FROM search_state WHERE next_part_at <= statement_timestamp()
      AND (filled_through IS NOT NULL OR (SELECT id FROM search_notes ORDER BY id LIMIT 1) IS NOT NULL
        OR (SELECT account_id FROM search_entries WHERE ${IS_EARLIER} ORDER BY account_id LIMIT 1) IS NOT NULL))`;

// The transaction does not wait for the disk: notes go with the commit of their entries, so entries
// that a crash of Postgres loses are indexed again.
const TAKE_TURN = statement<[key: number], { is_ours: boolean }>('search-take-turn')`
    SELECT pg_try_advisory_xact_lock($1) AND next_part_at <= clock_timestamp() AS is_ours,
      set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '400ms', true)
    FROM search_state`;

const READ_LAG = statement<[], { lag: number }>('search-read-lag')`
    SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 AS lag FROM search_notes ORDER BY id LIMIT 1`;

interface Waiting {
  readonly filled_through: string | null;
  readonly lag: number;
  /** The approximate number of noted messages and conversations. */
  readonly waiting: number;
  /** Null if nothing is noted. */
  readonly id: number | null;
  readonly entry_ids: readonly string[];
  readonly conversation_ids: readonly string[];
}

// Rows of open transactions are not visible yet; a later part reads them.
const READ_NOTES = statement<[about: number], Waiting>('search-read-notes')`
    SELECT s.filled_through, n.id, n.entry_ids, n.conversation_ids,
      coalesce(extract(epoch FROM clock_timestamp() - min(n.created_at) OVER ()), 0)::float8 AS lag,
      coalesce(((SELECT max(id) FROM search_notes) - min(n.id) OVER () + 1) * n.mean, 0)::float8 AS waiting
    FROM search_state s LEFT JOIN (
      SELECT *, sum(cardinality(entry_ids)) OVER (ORDER BY id) - cardinality(entry_ids) AS before,
        avg(cardinality(entry_ids)) OVER () AS mean
      FROM (SELECT * FROM search_notes ORDER BY id LIMIT ${MAX_NOTES}) oldest
    ) n ON n.before < $1
    ORDER BY n.id`;

const READ_UNFILLED = statement<[through: string, limit: number], { id: string; conversation_id: string }>(
  'search-read-unfilled',
)`
    (SELECT id, id AS conversation_id FROM conversations WHERE id > $1 ORDER BY id LIMIT $2)
    UNION ALL
    (SELECT id, conversation_id FROM messages WHERE id > $1 ORDER BY id LIMIT $2)
    ORDER BY id LIMIT $2`;

/** An entry to be folded again, and its conversation. */
const READ_EARLIER = statement<[limit: number], { id: string; conversation_id: string }>(
  'search-read-earlier',
)`
    SELECT id, conversation_id FROM search_entries WHERE ${IS_EARLIER} ORDER BY account_id LIMIT $1`;

// Changes hold one of these locks until they commit (migrations/0050), so that no message changes
// between reading and writing.
const LOCK_CONVERSATIONS = statement<[conversationIds: readonly string[]]>('search-lock-conversations')`
    SELECT count(pg_advisory_xact_lock(29, key)) FROM (
      SELECT DISTINCT hashtext(id) & 255 AS key FROM unnest($1::text[]) AS id ORDER BY 1
    ) keys`;

const END_PART = statement<[noteIds: readonly number[], filledThrough: string | null, restMs: number]>(
  'search-end-part',
)`
    WITH done AS (DELETE FROM search_notes WHERE id = ANY($1))
    UPDATE search_state SET filled_through = $2, next_part_at = clock_timestamp() + $3 * interval '1 ms'`;
