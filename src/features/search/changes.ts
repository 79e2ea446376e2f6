import { sql } from 'kysely';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/** What waits to be indexed. */
interface Waiting {
  /** The age of the oldest change, in seconds; null: there is none. */
  readonly lag: number | null;
  readonly is_filled: boolean;
  /** A round may begin. */
  readonly is_due: boolean;
}

export async function readWaiting(db: Querier): Promise<Waiting> {
  const [row] = await db.query(READ_WAITING);
  return row!;
}

/**
 * Keeps every other node from writing to the index until the transaction ends, and changes of
 * messages of these conversations from committing. Returns false if another node is at it. The
 * transaction does not wait for the disk: what a crash of Postgres loses is indexed again, since
 * changes leave the queue behind their blocks.
 */
export async function lockIndex(tx: Tx, conversationIds: readonly string[] = []): Promise<boolean> {
  const [row] = await tx.query(LOCK, INDEX_LOCK);
  if (row!.locked && conversationIds.length > 0) await tx.query(LOCK_CONVERSATIONS, conversationIds);
  return row!.locked;
}

/** What the oldest changes ask for. */
export interface Round {
  readonly changeIds: readonly number[];
  readonly actorIds: readonly string[];
  /** Conversations whose title or members changed. */
  readonly heads: Set<string>;
  /** Conversations with new messages, and about how many. */
  readonly fresh: Map<string, number>;
  /** Ids of changed messages, by their conversations. */
  readonly changed: Map<string, string[]>;
  /**
   * The last conversation from before search that is indexed with this round; null: all are;
   * undefined: no more than before.
   */
  readonly filledThrough: string | null | undefined;
  /** More arrives than the index keeps up with, something was left over, or it is being filled. */
  readonly isTooMuch: boolean;
}

/**
 * Takes the oldest changes. Returns undefined where another node is at the index, or the index
 * rests.
 */
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
 * Removes the changes of a round, and notes the conversations of actors whose name or address
 * changed.
 */
export async function endRound(tx: Tx, { actorIds, changeIds, filledThrough }: Round): Promise<void> {
  if (actorIds.length > 0) await tx.query(NOTE_CONVERSATIONS_OF, actorIds);
  await tx.query(DELETE_CHANGES, changeIds);
  if (filledThrough === undefined) return;
  await tx.kysely.updateTable('search_progress').set({ filled_through: filledThrough }).execute();
}

/** Has the next round begin after this many milliseconds. */
export async function allowRound(tx: Tx, afterMs: number): Promise<void> {
  const next_round_at = sql<string>`clock_timestamp() + ${afterMs} * interval '1 ms'`;
  await tx.kysely.updateTable('search_progress').set({ next_round_at }).execute();
}

/**
 * Notes conversations again whose messages were not all read. Nodes of the version before read
 * those of an empty id as a whole, too.
 */
export async function returnConversations(tx: Tx, ids: readonly string[]): Promise<void> {
  const note = { sent_ids: ids.map(() => ''), sent_of: [...ids] };
  await tx.kysely.insertInto('search_changes').values(note).execute();
}

/** Messages of a round, about. */
export const MAX_MESSAGES = 2_048;
/** Messages of a part, about: some 5 ms of a core, for which sends wait. */
export const PART_MESSAGES = 64;
/** What a changed message costs: its block has up to 16, some of which have changed too. */
const CHANGED_SIZE = 4;
/** The rate up to which everything is indexed within a second or so: 3,500 a second. */
export const MESSAGES_A_MS = 3.5;
/** A round that has not ended by then belongs to a node that died, and another node begins one. */
const CLAIM_MS = 10_000;
const FILLED_AT_ONCE = 16;
/** Any number that no other advisory lock of Parley uses. */
const INDEX_LOCK = 7_230_915_029;

/** SQL: whether a round may begin and has something to index. */
export const HAS_WAITING = `EXISTS (
    SELECT FROM search_progress WHERE next_round_at <= statement_timestamp()
      AND (filled_through IS NOT NULL OR (SELECT id FROM search_changes ORDER BY id LIMIT 1) IS NOT NULL))`;

const READ_WAITING = statement<[], Waiting>({
  name: 'search-read-waiting',
  text: `
    SELECT extract(epoch FROM clock_timestamp() - (SELECT created_at FROM search_changes ORDER BY id LIMIT 1))::float8 AS lag,
      p.filled_through IS NULL AS is_filled, p.next_round_at <= clock_timestamp() AS is_due
    FROM search_progress p`,
});

const LOCK = statement<[key: number], { locked: boolean }>({
  name: 'search-lock-index',
  text: `SELECT pg_try_advisory_xact_lock($1) AS locked, set_config('synchronous_commit', 'off', true),
    set_config('lock_timeout', '400ms', true)`,
});

// A change holds one of these locks until it commits (migration 0034), so that what is read here
// is not changed before it is written. A round that has waited for this long begins again.
const LOCK_CONVERSATIONS = statement<[conversationIds: readonly string[]]>({
  name: 'search-lock-conversations',
  text: `
    SELECT count(pg_advisory_xact_lock(29, key)) FROM (
      SELECT DISTINCT hashtext(id) & 255 AS key FROM unnest($1::text[]) AS id ORDER BY 1
    ) keys`,
});

/** A row of search_changes. */
interface Changes {
  readonly id: number;
  readonly sent_of: readonly string[];
  readonly changed_ids: readonly string[];
  readonly changed_of: readonly string[];
  readonly conversation_ids: readonly string[];
  readonly actor_ids: readonly string[];
}

// Rows whose transactions are still open are not seen, and are read by a later round.
const READ_CHANGES = statement<[about: number], Changes>({
  name: 'search-read-changes',
  text: `
    WITH oldest AS (
      SELECT *, sum(1 + cardinality(sent_ids) + cardinality(changed_ids) + 4 * cardinality(conversation_ids)) OVER (ORDER BY id)
        - cardinality(sent_ids) - cardinality(changed_ids) - 4 * cardinality(conversation_ids) AS before
      FROM (SELECT * FROM search_changes ORDER BY id LIMIT 1000) c
    )
    SELECT id, sent_of, changed_ids, changed_of, conversation_ids, actor_ids
    FROM oldest WHERE before <= $1 ORDER BY id`,
});

const DELETE_CHANGES = statement<[ids: readonly number[]]>({
  name: 'search-delete-changes',
  text: 'DELETE FROM search_changes WHERE id = ANY($1)',
});

const NOTE_CONVERSATIONS_OF = statement<[actorIds: readonly string[]]>({
  name: 'search-note-conversations-of',
  text: `
    INSERT INTO search_changes (conversation_ids)
    SELECT array_agg(conversation_id) FROM (
      SELECT conversation_id, row_number() OVER () / 200 AS part FROM participants WHERE actor_id = ANY($1)
    ) p GROUP BY part`,
});

const READ_UNFILLED = statement<[limit: number], { id: string }>({
  name: 'search-read-unfilled',
  text: `
    SELECT c.id FROM search_progress p JOIN conversations c ON c.id > p.filled_through ORDER BY c.id LIMIT $1`,
});
