import { sql } from 'kysely';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/** The changes that wait to be indexed. */
interface Waiting {
  /** The age of the oldest change in seconds, or null if none waits. */
  readonly lag: number | null;
  readonly is_filled: boolean;
  /** Whether a round may begin. */
  readonly is_due: boolean;
}

export async function readWaiting(db: Querier): Promise<Waiting> {
  const [row] = await db.query(READ_WAITING);
  return row!;
}

/**
 * Keeps other nodes from writing to the index, and changes of messages of these conversations from
 * committing, until the transaction ends. Returns false if another node holds the lock. The
 * transaction does not wait for the disk: changes leave the queue after their blocks are written,
 * so what a crash of Postgres loses is indexed again.
 */
export async function lockIndex(tx: Tx, conversationIds: readonly string[] = []): Promise<boolean> {
  const [row] = await tx.query(LOCK, INDEX_LOCK);
  if (row!.locked && conversationIds.length > 0) await tx.query(LOCK_CONVERSATIONS, conversationIds);
  return row!.locked;
}

/** The work that the oldest changes require. */
export interface Round {
  readonly changeIds: readonly number[];
  readonly actorIds: readonly string[];
  /** Conversations whose title or members changed. */
  readonly heads: Set<string>;
  /** Conversations with new messages, and approximately how many. */
  readonly fresh: Map<string, number>;
  /** Ids of changed messages, by their conversations. */
  readonly changed: Map<string, string[]>;
  /**
   * The last conversation older than search that this round indexes; null if all are then indexed,
   * undefined if it adds none.
   */
  readonly filledThrough: string | null | undefined;
  /** Whether the index lags, left something over, or is being filled. */
  readonly isTooMuch: boolean;
}

/** Takes the oldest changes, or returns undefined while another node indexes or the index rests. */
export async function beginRound(tx: Tx): Promise<Round | undefined> {
  if (!(await lockIndex(tx))) return undefined;
  const { is_due, is_filled, lag } = await readWaiting(tx);
  if (!is_due) return undefined;
  const changes = await tx.query(READ_CHANGES, MAX_MESSAGES);
  const heads = new Set(changes.flatMap(({ conversation_ids }) => conversation_ids));
  const fresh = new Map<string, number>();
  const changed = new Map<string, string[]>();
  for (const { sent_of, changed_ids, changed_of } of changes) {
    for (const id of sent_of) fresh.set(id, (fresh.get(id) ?? 0) + 1);
    for (const [index, id] of changed_ids.entries()) {
      const of = changed_of[index]!;
      changed.set(of, [...(changed.get(of) ?? []), id]);
      fresh.set(of, (fresh.get(of) ?? 0) + CHANGED_SIZE);
    }
  }
  const size = [...fresh.values()].reduce((sum, count) => sum + count, heads.size);
  let filledThrough: string | null | undefined;
  if (!is_filled && size <= MAX_MESSAGES / 4) {
    const unfilled = await tx.query(READ_UNFILLED, FILLED_AT_ONCE);
    for (const { id } of unfilled) {
      fresh.set(id, PART_MESSAGES);
      heads.add(id);
    }
    filledThrough = unfilled.length < FILLED_AT_ONCE ? null : unfilled.at(-1)!.id;
  }
  await allowRound(tx, CLAIM_MS);
  const rate = size / Math.max((lag ?? 0) * 1_000, 1);
  return {
    changeIds: changes.map(({ id }) => id),
    actorIds: [...new Set(changes.flatMap(({ actor_ids }) => actor_ids))],
    heads,
    fresh,
    changed,
    filledThrough,
    isTooMuch: !is_filled || size >= MAX_MESSAGES || rate > MESSAGES_A_MS,
  };
}

/**
 * Removes the changes of a round, and notes the conversations of actors with a new name or address.
 */
export async function endRound(tx: Tx, { actorIds, changeIds, filledThrough }: Round): Promise<void> {
  if (actorIds.length > 0) await tx.query(NOTE_CONVERSATIONS_OF, actorIds);
  await tx.query(DELETE_CHANGES, changeIds);
  if (filledThrough === undefined) return;
  await tx.kysely.updateTable('search_progress').set({ filled_through: filledThrough }).execute();
}

/** Allows the next round after this many milliseconds. */
export async function allowRound(tx: Tx, afterMs: number): Promise<void> {
  const next_round_at = sql<string>`clock_timestamp() + ${afterMs} * interval '1 ms'`;
  await tx.kysely.updateTable('search_progress').set({ next_round_at }).execute();
}

/**
 * Notes conversations again whose messages were not all read. Nodes of the previous version also
 * read a note with an empty id as a whole conversation.
 */
export async function returnConversations(tx: Tx, ids: readonly string[]): Promise<void> {
  const note = { sent_ids: ids.map(() => ''), sent_of: [...ids] };
  await tx.kysely.insertInto('search_changes').values(note).execute();
}

/** Approximate number of messages in a round. */
export const MAX_MESSAGES = 2_048;
/** Approximate number of messages in a part: about 5 ms of a core, for which sends wait. */
export const PART_MESSAGES = 64;
/** The cost of a changed message in messages. Its block has up to 16, some of them changed too. */
const CHANGED_SIZE = 4;
/** The rate up to which everything is indexed within about a second: 3,500 messages a second. */
export const MESSAGES_A_MS = 3.5;
/** A round that takes longer belongs to a node that died, and another node begins one. */
const CLAIM_MS = 10_000;
const FILLED_AT_ONCE = 16;
/** An arbitrary number that no other advisory lock of Parley uses. */
const INDEX_LOCK = 7_230_915_029;

/** SQL: whether a round may begin and has something to index. */
export const HAS_WAITING = `EXISTS (
    SELECT FROM search_progress WHERE next_round_at <= statement_timestamp()
      AND (filled_through IS NOT NULL OR (SELECT id FROM search_changes ORDER BY id LIMIT 1) IS NOT NULL))`;

const READ_WAITING = statement<[], Waiting>('search-read-waiting')`
    SELECT extract(epoch FROM clock_timestamp() - (SELECT created_at FROM search_changes ORDER BY id LIMIT 1))::float8 AS lag,
      p.filled_through IS NULL AS is_filled, p.next_round_at <= clock_timestamp() AS is_due
    FROM search_progress p`;

const LOCK = statement<[key: number], { locked: boolean }>('search-lock-index')`
    SELECT pg_try_advisory_xact_lock($1) AS locked, set_config('synchronous_commit', 'off', true),
    set_config('lock_timeout', '400ms', true)`;

// Changes hold one of these locks until they commit (migration 0034), so that no message changes
// between reading and writing. A round that waits longer than this begins again.
const LOCK_CONVERSATIONS = statement<[conversationIds: readonly string[]]>('search-lock-conversations')`
    SELECT count(pg_advisory_xact_lock(29, key)) FROM (
      SELECT DISTINCT hashtext(id) & 255 AS key FROM unnest($1::text[]) AS id ORDER BY 1
    ) keys`;

interface Changes {
  readonly id: number;
  readonly sent_of: readonly string[];
  readonly changed_ids: readonly string[];
  readonly changed_of: readonly string[];
  readonly conversation_ids: readonly string[];
  readonly actor_ids: readonly string[];
}

// Rows of open transactions are not visible yet; a later round reads them.
const READ_CHANGES = statement<[about: number], Changes>('search-read-changes')`
    WITH oldest AS (
      SELECT *, sum(1 + cardinality(sent_ids) + cardinality(changed_ids) + 4 * cardinality(conversation_ids)) OVER (ORDER BY id)
        - cardinality(sent_ids) - cardinality(changed_ids) - 4 * cardinality(conversation_ids) AS before
      FROM (SELECT * FROM search_changes ORDER BY id LIMIT 1000) c
    )
    SELECT id, sent_of, changed_ids, changed_of, conversation_ids, actor_ids
    FROM oldest WHERE before <= $1 ORDER BY id`;

const DELETE_CHANGES = statement<[ids: readonly number[]]>('search-delete-changes')`
    DELETE FROM search_changes WHERE id = ANY($1)`;

const NOTE_CONVERSATIONS_OF = statement<[actorIds: readonly string[]]>('search-note-conversations-of')`
    INSERT INTO search_changes (conversation_ids)
    SELECT array_agg(conversation_id) FROM (
      SELECT conversation_id, row_number() OVER () / 200 AS part FROM participants WHERE actor_id = ANY($1)
    ) p GROUP BY part`;

const READ_UNFILLED = statement<[limit: number], { id: string }>('search-read-unfilled')`
    SELECT c.id FROM search_progress p JOIN conversations c ON c.id > p.filled_through ORDER BY c.id LIMIT $1`;
