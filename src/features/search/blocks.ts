import { IS_MEMBER } from '../../core/resources/participant.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { lexemesOf, quoted } from './query.ts';
import { wordsOf } from './words.ts';

/** A row of search_blocks. `terms` is the text of a tsvector. */
interface Block {
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

/** A range of a timeline. */
interface Range {
  readonly conversation_id: string;
  readonly first: number;
  readonly last: number;
}

interface UnindexedMessage extends Omit<Range, 'last'> {
  /** The end of its range, or null for the end of the conversation. */
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

/** Writes what conversations are found by: their titles and the names of their members. */
export async function writeHeads(tx: Tx, conversationIds: readonly string[]): Promise<void> {
  if (conversationIds.length === 0) return;
  await tx.query(DELETE_GONE, conversationIds);
  const heads = (await tx.query(READ_HEADS, conversationIds)).map(({ names, ...head }) => {
    const lexemes = lexemesOf(head.account_id);
    const terms = wordsIn(names).map((word) => lexemes.name(word));
    return { ...head, terms: textOf(new Set([lexemes.conversation(head.conversation_id), ...terms])) };
  });
  await tx.query(INSERT_BLOCKS, JSON.stringify(heads));
}

interface Written {
  /** The number of messages that were read. */
  readonly messages: number;
  /** Conversations that may have further messages. */
  readonly unread: readonly string[];
}

/**
 * Writes blocks of up to `most` messages after the indexed ones of each conversation, and rewrites
 * blocks that lack a message which exists by now or that have a changed one.
 */
export async function writeBlocks(
  tx: Tx,
  conversationIds: readonly string[],
  changedIds: readonly string[],
  most: number,
): Promise<Written> {
  if (conversationIds.length === 0) return { messages: 0, unread: [] };
  const stale = await tx.query(DELETE_STALE, conversationIds, changedIds);
  const messages = await tx.query(
    READ_UNINDEXED,
    stale.map(({ conversation_id }) => conversation_id),
    stale.map(({ first }) => first),
    stale.map(({ last }) => last),
    conversationIds,
    most,
  );
  const ranges = [...Map.groupBy(messages, (row) => `${row.conversation_id} ${row.first}`).values()];
  const blocks = ranges.flatMap(blocksOf);
  if (blocks.length > 0) await tx.query(INSERT_BLOCKS, JSON.stringify(blocks));
  const unread = ranges.filter((range) => range[0]!.last === null && range.length === most);
  return { messages: messages.length, unread: unread.map(([message]) => message!.conversation_id) };
}

/** Returns blocks that cover a range of a timeline without gaps. */
function blocksOf(messages: readonly UnindexedMessage[]): Block[] {
  const { account_id, conversation_id, first, last } = messages[0]!;
  const lexemes = lexemesOf(account_id);
  let next = first;
  return groupsOf(messages).map((group) => {
    const end = group.at(-1) === messages.at(-1) ? last : null;
    const row = { first_sequence: next, last_sequence: end ?? group.at(-1)!.sequence };
    const missing = new Set<number>();
    for (; next <= row.last_sequence; next++) missing.add(next);
    const terms = new Set<string>();
    for (const { sequence, is_shown, body, subject, author_id, sender_id, has_attachments } of group) {
      missing.delete(sequence);
      if (!is_shown) continue;
      for (const word of wordsIn([body, subject])) terms.add(lexemes.word(word));
      for (const id of [author_id, sender_id]) if (id !== null) terms.add(lexemes.author(id));
      if (has_attachments) terms.add(lexemes.file);
      terms.add(lexemes.conversation(conversation_id));
    }
    const times = group.map(({ at }) => at).sort();
    return {
      conversation_id,
      account_id,
      ...row,
      messages: group.filter(({ is_shown }) => is_shown).length,
      from_at: times[0]!,
      to_at: times.at(-1)!,
      missing: [...missing],
      terms: textOf(terms),
    };
  });
}

/**
 * Cuts a timeline into blocks of few words and few days, so that a block is read quickly and its
 * age says much about the age of its messages.
 */
function groupsOf(messages: readonly UnindexedMessage[]): UnindexedMessage[][] {
  const groups: UnindexedMessage[][] = [];
  let characters = 0;
  for (const message of messages) {
    const group = groups.at(-1);
    const size = (message.body?.length ?? 0) + (message.subject?.length ?? 0);
    const isNext =
      group !== undefined &&
      message.sequence < group[0]!.sequence + BLOCK_NUMBERS &&
      characters + size <= MAX_CHARACTERS &&
      Math.abs(Date.parse(message.at) - Date.parse(group[0]!.at)) <= MAX_SPAN_MS;
    characters = isNext ? characters + size : size;
    if (isNext) group.push(message);
    else groups.push([message]);
  }
  return groups;
}

function wordsIn(texts: readonly (string | null)[]): string[] {
  return texts.flatMap((text) => wordsOf(text ?? '', 'document').map((word) => word.text));
}

/** Returns the text form of a tsvector. */
function textOf(terms: ReadonlySet<string>): string {
  return Array.from(terms, quoted).join(' ');
}

/** Sequences in a full block. */
const BLOCK_NUMBERS = 16;
/** Characters of all texts of a block, because a tsvector has room for 1 MiB. */
const MAX_CHARACTERS = 60_000;
const MAX_SPAN_MS = 86_400_000;

const DELETE_STALE = statement<[conversationIds: readonly string[], changedIds: readonly string[]], Range>(
  'search-delete-stale',
)`
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
    RETURNING b.conversation_id, b.first_sequence AS first, b.last_sequence AS last`;

/** SQL: when a message was sent. */
export const SENT_AT = "coalesce((m.outcome ->> 'at')::timestamptz, m.created_at)";

/**
 * SQL: whether a search can find a message. The service's own messages have no searchable words.
 */
export const IS_SEARCHABLE = `m.status = 'sent' AND m.deleted_at IS NULL AND m.kind <> 'system_event'`;

/** Characters of a text that are indexed and searched. */
export const SEARCHED_CHARACTERS = 20_000;

// A stale block at the end of a conversation comes after its other blocks.
const READ_UNINDEXED = statement<
  [
    ofRanges: readonly string[],
    firsts: readonly number[],
    lasts: readonly number[],
    conversationIds: readonly string[],
    most: number,
  ],
  UnindexedMessage
>('search-read-unindexed')`
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
    ORDER BY 1, 3, m.sequence`;

/** Members of a conversation by whom it is found: those that were added first. */
const MAX_NAMES = 500;

const READ_HEADS = statement<
  [conversationIds: readonly string[]],
  Omit<Block, 'terms'> & { names: string[] }
>('search-read-heads')`
    SELECT c.id AS conversation_id, c.account_id, 0 AS first_sequence, 0 AS last_sequence, 0 AS messages,
      c.created_at AS from_at, c.created_at AS to_at, '{}'::bigint[] AS missing, c.title || ARRAY(
        SELECT concat_ws(' ', a.name, a.handle) FROM participants p JOIN actors a ON a.id = p.actor_id
        WHERE p.conversation_id = c.id AND p.${IS_MEMBER}
        ORDER BY p.created_at, p.id LIMIT ${MAX_NAMES}
      ) AS names
    FROM conversations c WHERE c.id = ANY($1)`;

const DELETE_GONE = statement<[conversationIds: readonly string[]]>('search-delete-gone')`
    DELETE FROM search_blocks b WHERE b.conversation_id = ANY($1) AND (b.first_sequence = 0 OR b.last_sequence <= coalesce(
      (SELECT c.purged_through FROM conversations c WHERE c.id = b.conversation_id), 'infinity'::float8
    ))`;

const INSERT_BLOCKS = statement<[blocks: string]>('search-insert-blocks')`
    INSERT INTO search_blocks (conversation_id, first_sequence, last_sequence, account_id, messages, from_at, to_at, missing, terms)
    SELECT * FROM json_to_recordset($1::json) AS b(conversation_id text, first_sequence bigint, last_sequence bigint,
      account_id text, messages integer, from_at timestamptz, to_at timestamptz, missing bigint[], terms tsvector)`;
