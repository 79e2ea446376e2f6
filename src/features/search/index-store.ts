import { IS_MEMBER } from '../../core/resources/participant.ts';
import type { Querier, Tx } from '../../platform/db/handle.ts';
import { statement } from '../../platform/db/statement.ts';

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

/** A row of search_changes. */
interface Changes {
  readonly id: number;
  readonly sent_of: readonly string[];
  readonly changed_ids: readonly string[];
  readonly changed_of: readonly string[];
  readonly conversation_ids: readonly string[];
  readonly actor_ids: readonly string[];
}

/** Returns the oldest changes, about as many as this. */
export function readChanges(tx: Tx, about: number): Promise<Changes[]> {
  return tx.query(READ_CHANGES, about);
}

/** Removes changes whose blocks are written. */
export async function deleteChanges(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query(DELETE_CHANGES, ids);
}

/** Puts conversations back whose messages were not all read. */
export async function returnConversations(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.query(RETURN_CONVERSATIONS, ids);
}

/** Notes the conversations of actors whose name or address changed. */
export async function noteConversationsOf(tx: Tx, actorIds: readonly string[]): Promise<void> {
  await tx.query(NOTE_CONVERSATIONS_OF, actorIds);
}

/**
 * Returns conversations from before search was added that were not indexed yet, the next ones;
 * none: all were.
 */
export async function readUnfilled(tx: Tx, limit: number): Promise<string[]> {
  return (await tx.query(READ_UNFILLED, limit)).map(({ id }) => id);
}

/**
 * `filledThrough`: the last conversation from before search that was indexed; null: all were;
 * undefined: no more than before.
 */
export async function writeProgress(tx: Tx, pauseMs: number, filledThrough?: string | null): Promise<void> {
  await tx.query(WRITE_PROGRESS, pauseMs, filledThrough !== undefined, filledThrough ?? null);
}

/** A range of a timeline. */
interface Range {
  readonly conversation_id: string;
  readonly first: number;
  readonly last: number;
}

/** Removes blocks that lack a message which is there by now, or that have one which changed. */
export function deleteStale(
  tx: Tx,
  conversationIds: readonly string[],
  changedIds: readonly string[],
): Promise<Range[]> {
  return tx.query(DELETE_STALE, conversationIds, changedIds);
}

export interface UnindexedMessage extends Omit<Range, 'last'> {
  /** The end of its range; null: the end of the conversation. */
  readonly last: number | null;
  readonly account_id: string;
  readonly sequence: number;
  readonly is_shown: boolean;
  readonly body: string | null;
  readonly subject: string | null;
  readonly at: string;
  readonly author_id: string | null;
  readonly sender_id: string | null;
  readonly has_attachments: boolean;
}

/**
 * Returns the messages of these ranges, and of each conversation up to `most` behind its blocks.
 */
export function readUnindexed(
  tx: Tx,
  conversationIds: readonly string[],
  ranges: readonly Range[],
  most: number,
): Promise<UnindexedMessage[]> {
  return tx.query(
    READ_UNINDEXED,
    ranges.map(({ conversation_id }) => conversation_id),
    ranges.map(({ first }) => first),
    ranges.map(({ last }) => last),
    conversationIds,
    most,
  );
}

/** A row of search_blocks. `terms` is the text of a tsvector. */
export interface Block {
  readonly conversation_id: string;
  readonly account_id: string;
  readonly first_sequence: number;
  readonly last_sequence: number;
  readonly messages: number;
  readonly from_at: string;
  readonly to_at: string;
  readonly missing: readonly number[];
  readonly terms: string;
}

/**
 * Returns the rows that conversations are found by, with what is to be their terms; those that do
 * not exist any more are left out.
 */
export function readHeads(
  tx: Tx,
  conversationIds: readonly string[],
): Promise<(Omit<Block, 'terms'> & { names: string[] })[]> {
  return tx.query(READ_HEADS, conversationIds);
}

/**
 * Removes the rows of titles, what is left of conversations that do not exist any more, and numbers
 * that were purged.
 */
export async function deleteGone(tx: Tx, conversationIds: readonly string[]): Promise<void> {
  await tx.query(DELETE_GONE, conversationIds);
}

export async function insertBlocks(tx: Tx, blocks: readonly Block[]): Promise<void> {
  await tx.query(INSERT_BLOCKS, JSON.stringify(blocks));
}

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

// Nodes of the version before read such a conversation as a whole.
const RETURN_CONVERSATIONS = statement<[ids: readonly string[]]>({
  name: 'search-return-conversations',
  text: `
    INSERT INTO search_changes (sent_ids, sent_of) SELECT array_fill(''::text, ARRAY[cardinality($1::text[])]), $1`,
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

const WRITE_PROGRESS = statement<[pauseMs: number, isFilling: boolean, filledThrough: string | null]>({
  name: 'search-write-progress',
  text: `
    UPDATE search_progress SET next_round_at = clock_timestamp() + $1 * interval '1 ms',
      filled_through = CASE WHEN $2::boolean THEN $3 ELSE filled_through END`,
});

const DELETE_STALE = statement<[conversationIds: readonly string[], changedIds: readonly string[]], Range>({
  name: 'search-delete-stale',
  text: `
    DELETE FROM search_blocks b USING (
      SELECT conversation_id, first_sequence FROM search_blocks b
      WHERE conversation_id = ANY($1) AND missing <> '{}' AND EXISTS (
        SELECT FROM messages m WHERE m.conversation_id = b.conversation_id AND m.sequence = ANY(b.missing)
      )
      UNION
      SELECT b.conversation_id, b.first_sequence
      FROM unnest($2::text[]) AS changed(id) JOIN messages m ON m.id = changed.id CROSS JOIN LATERAL (
        SELECT * FROM search_blocks WHERE conversation_id = m.conversation_id AND first_sequence BETWEEN 1 AND m.sequence
        ORDER BY first_sequence DESC LIMIT 1
      ) b
      WHERE b.last_sequence >= m.sequence
    ) stale
    WHERE b.conversation_id = stale.conversation_id AND b.first_sequence = stale.first_sequence
    RETURNING b.conversation_id, b.first_sequence AS first, b.last_sequence AS last`,
});

/** SQL: when a message was sent. */
export const SENT_AT = "coalesce((m.outcome ->> 'at')::timestamptz, m.created_at)";

/**
 * SQL: whether a message has words that a search finds. What the service itself writes into a
 * timeline has none.
 */
export const IS_SEARCHABLE = `m.status = 'sent' AND m.deleted_at IS NULL AND m.kind <> 'system_event'`;

/** Characters of a text that are indexed, and that are searched. */
export const SEARCHED_CHARACTERS = 20_000;

// A stale block at the end of a conversation is behind its blocks.
const READ_UNINDEXED = statement<
  [
    ofRanges: readonly string[],
    firsts: readonly number[],
    lasts: readonly number[],
    conversationIds: readonly string[],
    most: number,
  ],
  UnindexedMessage
>({
  name: 'search-read-unindexed',
  text: `
    WITH ends AS MATERIALIZED (
      SELECT c.id, c.account_id, c.purged_through, 1 + coalesce((
        SELECT b.last_sequence FROM search_blocks b WHERE b.conversation_id = c.id ORDER BY b.first_sequence DESC LIMIT 1
      ), 0) AS next
      FROM conversations c WHERE c.id = ANY($4)
    ), ranges AS (
      SELECT e.*, e.next AS first, NULL::bigint AS last FROM ends e
      UNION ALL
      SELECT e.*, r.first, r.last FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS r(id, first, last)
      JOIN ends e ON e.id = r.id AND r.first < e.next
    )
    SELECT r.id AS conversation_id, r.account_id, greatest(r.first, r.purged_through + 1) AS first, r.last, m.*
    FROM ranges r CROSS JOIN LATERAL (
      SELECT m.sequence, ${IS_SEARCHABLE} AS is_shown, left(m.body, ${SEARCHED_CHARACTERS}) AS body, m.subject,
        ${SENT_AT} AS at, m.author_id, m.sender_id, m.has_attachments
      FROM messages m
      WHERE m.conversation_id = r.id AND m.sequence BETWEEN r.first AND coalesce(r.last, ${Number.MAX_SAFE_INTEGER})
      ORDER BY m.sequence LIMIT CASE WHEN r.last IS NULL THEN $5::bigint END
    ) m
    ORDER BY 1, 3, m.sequence`,
});

/** Of a conversation: it is found by those that were added first. */
const MAX_NAMES = 500;

const READ_HEADS = statement<
  [conversationIds: readonly string[]],
  Omit<Block, 'terms'> & { names: string[] }
>({
  name: 'search-read-heads',
  text: `
    SELECT c.id AS conversation_id, c.account_id, 0 AS first_sequence, 0 AS last_sequence, 0 AS messages,
      c.created_at AS from_at, c.created_at AS to_at, '{}'::bigint[] AS missing, c.title || ARRAY(
        SELECT concat_ws(' ', a.name, a.handle) FROM participants p JOIN actors a ON a.id = p.actor_id
        WHERE p.conversation_id = c.id AND p.${IS_MEMBER}
        ORDER BY p.created_at, p.id LIMIT ${MAX_NAMES}
      ) AS names
    FROM conversations c WHERE c.id = ANY($1)`,
});

const DELETE_GONE = statement<[conversationIds: readonly string[]]>({
  name: 'search-delete-gone',
  text: `
    DELETE FROM search_blocks b WHERE b.conversation_id = ANY($1) AND (b.first_sequence = 0 OR b.last_sequence <= coalesce(
      (SELECT c.purged_through FROM conversations c WHERE c.id = b.conversation_id), 'infinity'::float8
    ))`,
});

const INSERT_BLOCKS = statement<[blocks: string]>({
  name: 'search-insert-blocks',
  text: `
    INSERT INTO search_blocks (conversation_id, first_sequence, last_sequence, account_id, messages, from_at, to_at, missing, terms)
    SELECT * FROM json_to_recordset($1::json) AS b(conversation_id text, first_sequence bigint, last_sequence bigint,
      account_id text, messages integer, from_at timestamptz, to_at timestamptz, missing bigint[], terms tsvector)`,
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
