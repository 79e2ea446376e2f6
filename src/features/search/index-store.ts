import { IS_MEMBER } from '../../core/resources/participant.ts';
import type { Db, Querier, Tx } from '../../platform/db/handle.ts';
import { statement } from '../../platform/db/statement.ts';
import { type Block, TRAILING_BLOCKS } from './block.ts';

/** What waits to be indexed. */
export interface Waiting {
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
 * Keeps every other node from writing to the index until the transaction ends. Returns false if
 * another node is at it. The transaction does not wait for the disk: what a crash of Postgres loses
 * is indexed again, since changes leave the queue behind their blocks.
 */
export async function lockIndex(tx: Tx): Promise<boolean> {
  const [row] = await tx.query(LOCK, INDEX_LOCK);
  return row!.locked;
}

/** A row of search_changes. */
export interface Changes {
  readonly id: number;
  readonly sent_ids: readonly string[];
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

/** A block as far as the next ones depend on it. */
interface KnownBlock {
  readonly first: number;
  readonly last: number;
  readonly messages: number;
  /** Seconds since 1970. */
  readonly from: number;
}

/** How far a conversation is indexed. */
export interface Standing {
  readonly id: string;
  readonly account_id: string;
  readonly purged_through: number;
  /** The last ones, the newest first. */
  readonly blocks: readonly KnownBlock[] | null;
  /** Blocks with missing numbers that have a row by now. */
  readonly incomplete: readonly KnownBlock[] | null;
}

/**
 * Returns how far these conversations are indexed; those that do not exist any more are left out.
 */
export function readStandings(tx: Tx, conversationIds: readonly string[]): Promise<Standing[]> {
  return tx.query(READ_STANDINGS, conversationIds);
}

/** Returns the blocks that have these messages. */
export function readBlocksWith(
  tx: Tx,
  conversationIds: readonly string[],
  messageIds: readonly string[],
): Promise<{ conversation_id: string; first: number; last: number }[]> {
  return tx.query(READ_BLOCKS_WITH, conversationIds, messageIds);
}

/** A range of a timeline. */
export interface TextRange {
  readonly conversationId: string;
  readonly first: number;
  /** Null: to the end. */
  readonly last: number | null;
  /** Maximum number of rows that are read. */
  readonly most: number;
}

export interface TextRow {
  /** Which range, from 1. */
  readonly place: number;
  readonly sequence: number;
  readonly is_shown: boolean;
  readonly body: string | null;
  readonly subject: string | null;
  readonly at: string;
  readonly author_id: string | null;
  readonly sender_id: string | null;
  readonly has_attachments: boolean;
}

/** Returns the rows of ranges in order. */
export function readTexts(tx: Tx, ranges: readonly TextRange[]): Promise<TextRow[]> {
  return tx.query(
    READ_TEXTS,
    ranges.map(({ conversationId }) => conversationId),
    ranges.map(({ first }) => first),
    ranges.map(({ last }) => last ?? Number.MAX_SAFE_INTEGER),
    ranges.map(({ most }) => most),
  );
}

export interface HeadRow {
  readonly id: string;
  readonly account_id: string;
  readonly title: string | null;
  readonly created_at: string;
  readonly names: readonly string[];
}

/** Returns what conversations are found by; those that do not exist any more are left out. */
export function readHeads(tx: Tx, conversationIds: readonly string[]): Promise<HeadRow[]> {
  return tx.query(READ_HEADS, conversationIds);
}

/**
 * Removes what is left of conversations that do not exist any more, and of numbers that were
 * purged.
 */
export async function deleteGone(tx: Tx, conversationIds: readonly string[]): Promise<void> {
  await tx.query(DELETE_GONE, conversationIds);
}

export async function deleteBlocks(
  tx: Tx,
  blocks: readonly { readonly conversationId: string; readonly first: number }[],
): Promise<void> {
  await tx.query(
    DELETE_BLOCKS,
    blocks.map(({ conversationId }) => conversationId),
    blocks.map(({ first }) => first),
  );
}

export async function insertBlocks(tx: Db, blocks: readonly Block[]): Promise<void> {
  await tx.query(
    INSERT_BLOCKS,
    JSON.stringify(
      blocks.map((block) => ({
        conversation_id: block.conversationId,
        first_sequence: block.first,
        last_sequence: block.last,
        account_id: block.accountId,
        messages: block.messages,
        from_at: block.fromAt,
        to_at: block.toAt,
        missing: block.missing,
        terms: block.terms,
      })),
    ),
  );
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
  text: `SELECT pg_try_advisory_xact_lock($1) AS locked, set_config('synchronous_commit', 'off', true)`,
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
    SELECT id, sent_ids, sent_of, changed_ids, changed_of, conversation_ids, actor_ids
    FROM oldest WHERE before <= $1 ORDER BY id`,
});

const DELETE_CHANGES = statement<[ids: readonly number[]]>({
  name: 'search-delete-changes',
  text: 'DELETE FROM search_changes WHERE id = ANY($1)',
});

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

const BLOCK_JSON = `json_build_object('first', b.first_sequence, 'last', b.last_sequence, 'messages', b.messages,
          'from', extract(epoch FROM b.from_at))`;

const READ_STANDINGS = statement<[conversationIds: readonly string[]], Standing>({
  name: 'search-read-standings',
  text: `
    SELECT c.id, c.account_id, c.purged_through, (
        SELECT json_agg(${BLOCK_JSON} ORDER BY b.first_sequence DESC) FROM (
          SELECT * FROM search_blocks WHERE conversation_id = c.id AND first_sequence > 0
          ORDER BY first_sequence DESC LIMIT ${TRAILING_BLOCKS}
        ) b
      ) AS blocks, (
        SELECT json_agg(${BLOCK_JSON}) FROM search_blocks b
        WHERE b.conversation_id = c.id AND b.missing <> '{}' AND EXISTS (
          SELECT FROM messages m WHERE m.conversation_id = c.id AND m.sequence = ANY(b.missing)
        )
      ) AS incomplete
    FROM conversations c WHERE c.id = ANY($1)`,
});

const READ_BLOCKS_WITH = statement<
  [conversationIds: readonly string[], messageIds: readonly string[]],
  { conversation_id: string; first: number; last: number }
>({
  name: 'search-read-blocks-with',
  text: `
    SELECT DISTINCT b.conversation_id, b.first_sequence AS first, b.last_sequence AS last
    FROM unnest($1::text[], $2::text[]) AS changed(conversation_id, id)
    JOIN messages m ON m.id = changed.id AND m.conversation_id = changed.conversation_id
    CROSS JOIN LATERAL (
      SELECT * FROM search_blocks WHERE conversation_id = m.conversation_id AND first_sequence BETWEEN 1 AND m.sequence
      ORDER BY first_sequence DESC LIMIT 1
    ) b
    WHERE b.last_sequence >= m.sequence`,
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

const READ_TEXTS = statement<
  [
    conversationIds: readonly string[],
    firsts: readonly number[],
    lasts: readonly number[],
    most: readonly number[],
  ],
  TextRow
>({
  name: 'search-read-texts',
  text: `
    SELECT r.place, m.*
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
      WITH ORDINALITY AS r(conversation_id, first, last, most, place)
    CROSS JOIN LATERAL (
      SELECT m.sequence, ${IS_SEARCHABLE} AS is_shown, left(m.body, ${SEARCHED_CHARACTERS}) AS body, m.subject,
        ${SENT_AT} AS at, m.author_id, m.sender_id, m.has_attachments
      FROM messages m
      WHERE m.conversation_id = r.conversation_id AND m.sequence BETWEEN r.first AND r.last AND m.sequence IS NOT NULL
      ORDER BY m.sequence LIMIT r.most
    ) m
    ORDER BY r.place, m.sequence`,
});

/** Of a conversation: it is found by those that were added first. */
const MAX_NAMES = 500;

const READ_HEADS = statement<[conversationIds: readonly string[]], HeadRow>({
  name: 'search-read-heads',
  text: `
    SELECT c.id, c.account_id, c.title, c.created_at, ARRAY(
        SELECT concat_ws(' ', a.name, a.handle) FROM participants p JOIN actors a ON a.id = p.actor_id
        WHERE p.conversation_id = c.id AND p.${IS_MEMBER}
        ORDER BY p.created_at, p.id LIMIT ${MAX_NAMES}
      ) AS names
    FROM conversations c WHERE c.id = ANY($1)`,
});

const DELETE_GONE = statement<[conversationIds: readonly string[]]>({
  name: 'search-delete-gone',
  text: `
    DELETE FROM search_blocks b WHERE b.conversation_id = ANY($1) AND b.last_sequence <= coalesce(
      (SELECT c.purged_through FROM conversations c WHERE c.id = b.conversation_id), 'infinity'::float8
    ) AND (b.first_sequence > 0 OR NOT EXISTS (SELECT FROM conversations c WHERE c.id = b.conversation_id))`,
});

const DELETE_BLOCKS = statement<[conversationIds: readonly string[], firsts: readonly number[]]>({
  name: 'search-delete-blocks',
  text: `
    DELETE FROM search_blocks b USING unnest($1::text[], $2::bigint[]) AS old(conversation_id, first)
    WHERE b.conversation_id = old.conversation_id AND b.first_sequence = old.first`,
});

const INSERT_BLOCKS = statement<[blocks: string]>({
  name: 'search-insert-blocks',
  text: `
    INSERT INTO search_blocks (conversation_id, first_sequence, last_sequence, account_id, messages, from_at, to_at, missing, terms)
    SELECT * FROM json_to_recordset($1::json) AS b(conversation_id text, first_sequence bigint, last_sequence bigint,
      account_id text, messages integer, from_at timestamptz, to_at timestamptz, missing bigint[], terms tsvector)`,
});
