import { type MessageRow, messageColumns } from '../../core/resources/message.ts';
import type { Querier } from '../../platform/db/handle.ts';
import { type Statement, statement } from '../../platform/db/statement.ts';
import { IS_SEARCHABLE, SEARCHED_CHARACTERS, SENT_AT } from './blocks.ts';
import { IS_READABLE, type Period, type Scope, type Scoped, scopeValues } from './scope.ts';

/** Filters of a search for messages. */
export interface MessageFilters {
  /** The actor that readers of the caller's kind see as the author. */
  readonly authorId: string | null;
  readonly hasFile: boolean;
}

/** A message as far as it is compared with a query. */
export interface Candidate {
  readonly id: string;
  readonly conversation_id: string;
  readonly at: string;
  readonly body: string | null;
  readonly subject: string | null;
}

/** A block that may have a match. */
export interface FoundBlock {
  readonly conversation_id: string;
  readonly first_sequence: number;
  readonly last_sequence: number;
  readonly from_at: string;
  readonly to_at: string;
}

/** How blocks are found: by the index of their words, or among the newest ones of the account. */
export type Way = 'words' | 'newest';

export interface BlockRequest {
  /** A tsquery. */
  readonly terms: string;
  readonly period: Period;
  /** Behind this one; undefined: the first ones. */
  readonly after: FoundBlock | undefined;
  readonly limit: number;
}

/** Returns the next blocks of conversations that the caller may read, the newest first. */
export function readBlocks(
  db: Querier,
  scope: Scope,
  way: Way,
  { terms, period, after, limit }: BlockRequest,
): Promise<FoundBlock[]> {
  const { to_at, conversation_id, first_sequence } = after ?? BEFORE_ALL;
  const place = [to_at, conversation_id, first_sequence] as const;
  return db.query(
    READ_BLOCKS[way],
    ...scopeValues(scope),
    terms,
    period.upper,
    period.lower,
    limit,
    ...place,
  );
}

/** Returns the messages of blocks that the caller may find. */
export function readMessagesIn(
  db: Querier,
  scope: Scope,
  { authorId, hasFile }: MessageFilters,
  period: Period,
  blocks: readonly FoundBlock[],
): Promise<Candidate[]> {
  return db.query(
    READ_MESSAGES_IN,
    ...scopeValues(scope),
    period.upper,
    period.lower,
    authorId,
    hasFile,
    blocks.map((block) => block.conversation_id),
    blocks.map((block) => block.first_sequence),
    blocks.map((block) => block.last_sequence),
  );
}

/** Returns the readable messages of what changed last, which blocks may not have yet. */
export function readRecent(
  db: Querier,
  scope: Scope,
  { authorId, hasFile }: MessageFilters,
  period: Period,
): Promise<Candidate[]> {
  return db.query(READ_RECENT, ...scopeValues(scope), period.upper, period.lower, authorId, hasFile);
}

/** Returns the present rows of messages that the caller may find, in no order. */
export function readFound(
  db: Querier,
  scope: Scope,
  { authorId, hasFile }: MessageFilters,
  period: Period,
  found: readonly Candidate[],
): Promise<MessageRow[]> {
  return db.query(
    READ_FOUND,
    ...scopeValues(scope),
    period.upper,
    period.lower,
    authorId,
    hasFile,
    found.map(({ id }) => id),
    found.map(({ conversation_id }) => conversation_id),
  );
}

/** A conversation as far as it is compared with a query. */
export interface ConversationCandidate {
  readonly id: string;
  readonly conversation_id: string;
  /** When it was created. */
  readonly at: string;
  readonly title: string | null;
  readonly members: readonly {
    readonly id: string;
    readonly name: string | null;
    readonly handle: string | null;
  }[];
}

/** Returns the conversations of blocks with `first_sequence` 0 that the caller may find. */
export function readConversationsIn(
  db: Querier,
  scope: Scope,
  { upper, lower }: Period,
  blocks: readonly FoundBlock[],
): Promise<ConversationCandidate[]> {
  const ids = blocks.map((block) => block.conversation_id);
  return db.query(READ_CONVERSATIONS_IN, ...scopeValues(scope), upper, lower, ids);
}

/** Returns readable conversations that changed last. */
export function readRecentHeads(db: Querier, scope: Scope, period: Period): Promise<ConversationCandidate[]> {
  return db.query(READ_RECENT_HEADS, ...scopeValues(scope), period.upper, period.lower);
}

const BEFORE_ALL = { to_at: 'infinity', conversation_id: '', first_sequence: 0 } as const;

const CANDIDATE = `m.id, ${SENT_AT} AS at, left(m.body, ${SEARCHED_CHARACTERS}) AS body, m.subject`;

/**
 * SQL: whether the caller may find a message of a conversation that it may read. `$a` and `$b` are
 * `authorId` and `hasFile`.
 */
function isFindable(upper: string, lower: string, author: string, file: string): string {
  return `${IS_SEARCHABLE} AND ${SENT_AT} <= ${upper}::timestamptz AND ${SENT_AT} > ${lower}::timestamptz
          AND (NOT $4::boolean OR m.visibility <> 'internal')
          AND (${author}::text IS NULL OR CASE WHEN $4 THEN m.sender_id ELSE m.author_id END = ${author})
          AND (NOT ${file}::boolean OR (m.has_attachments AND EXISTS (
            SELECT FROM attachments a WHERE a.message_id = m.id AND a.kind IN ('file', 'image')
          )))`;
}

const COLUMNS = 'conversation_id, first_sequence, last_sequence, account_id, from_at, to_at';
const IN_PERIOD = `from_at <= $7::timestamptz AND to_at > $8::timestamptz
        AND (to_at, conversation_id, first_sequence) < ($10::timestamptz, $11, $12::bigint)`;
const NEWEST_FIRST = 'to_at DESC, conversation_id DESC, first_sequence DESC';

/** Blocks that are looked at, for a word that most of them have. */
const NEWEST_BLOCKS = 2_000;

// The index of the words must be the only way to the rows: the planner cannot know how many there
// are, and takes the order for the better one when a word is rare (860 ms in place of 0.2 among 5 M
// messages).
const SOURCES: Readonly<Record<Way, string>> = {
  words: `found AS MATERIALIZED (
      SELECT ${COLUMNS} FROM search_blocks WHERE terms @@ $6::tsquery
    )`,
  newest: `found AS (
      SELECT ${COLUMNS} FROM (
        SELECT ${COLUMNS}, terms FROM search_blocks
        WHERE account_id = $1 AND first_sequence > 0 AND ${IN_PERIOD} ORDER BY ${NEWEST_FIRST} LIMIT ${NEWEST_BLOCKS}
      ) b WHERE terms @@ $6::tsquery
    )`,
};

type BlockParams = Scoped<
  [
    terms: string,
    upper: string,
    lower: string,
    limit: number,
    toAt: string,
    conversationId: string,
    firstSequence: number,
  ]
>;

function readBlocksBy(way: Way): Statement<BlockParams, FoundBlock> {
  return statement({
    name: `search-read-blocks-by-${way}`,
    text: `
    WITH ${SOURCES[way]}
    SELECT f.conversation_id, f.first_sequence, f.last_sequence, f.from_at, f.to_at FROM (
      SELECT * FROM found WHERE account_id = $1 AND ${IN_PERIOD} ORDER BY ${NEWEST_FIRST} OFFSET 0
    ) f
    WHERE EXISTS (SELECT FROM conversations c WHERE c.id = f.conversation_id AND ${IS_READABLE} OFFSET 0)
    LIMIT $9`,
  });
}

const READ_BLOCKS = { words: readBlocksBy('words'), newest: readBlocksBy('newest') };

const READ_MESSAGES_IN = statement<
  Scoped<
    [
      upper: string,
      lower: string,
      authorId: string | null,
      hasFile: boolean,
      conversationIds: readonly string[],
      firsts: readonly number[],
      lasts: readonly number[],
    ]
  >,
  Candidate
>({
  name: 'search-read-messages-in',
  text: `
    SELECT m.* FROM unnest($10::text[], $11::bigint[], $12::bigint[]) AS b(conversation_id, first, last)
    CROSS JOIN LATERAL (
      SELECT m.conversation_id, ${CANDIDATE} FROM messages m
      WHERE m.conversation_id = b.conversation_id AND m.sequence BETWEEN b.first AND b.last
        AND m.sequence IS NOT NULL AND ${isFindable('$6', '$7', '$8', '$9')}
      OFFSET 0
    ) m
    WHERE EXISTS (SELECT FROM conversations c WHERE c.id = b.conversation_id AND ${IS_READABLE} OFFSET 0)`,
});

/** Changes that are looked through: what is committed within some seconds at full load. */
const RECENT = {
  changes: 200,
  outboxRows: 500,
  messages: 5_000,
} as const;

const READ_RECENT = statement<
  Scoped<[upper: string, lower: string, authorId: string | null, hasFile: boolean]>,
  Candidate
>({
  name: 'search-read-recent',
  text: `
    WITH noted AS MATERIALIZED (
      SELECT n.conversation_id, n.id FROM (SELECT * FROM search_changes ORDER BY id DESC LIMIT ${RECENT.changes}) s,
        unnest(s.sent_ids || s.changed_ids, s.sent_of || s.changed_of) AS n(id, conversation_id)
      UNION
      SELECT n.conversation_id, n.id FROM (SELECT * FROM outbox ORDER BY id DESC LIMIT ${RECENT.outboxRows}) o,
        jsonb_to_recordset(o.payload -> 'messages') AS n(id text, conversation_id text)
      WHERE o.topic = 'messages.sent'
    ), readable AS MATERIALIZED (
      SELECT n.conversation_id, n.ids FROM (
        SELECT conversation_id, array_agg(id) AS ids FROM noted WHERE $5::text IS NULL OR conversation_id = $5
        GROUP BY conversation_id
      ) n
      WHERE EXISTS (SELECT FROM conversations c WHERE c.id = n.conversation_id AND ${IS_READABLE} OFFSET 0)
    )
    SELECT m.* FROM readable r, unnest(r.ids) AS n(id) CROSS JOIN LATERAL (
      SELECT m.conversation_id, ${CANDIDATE} FROM messages m
      WHERE m.id = n.id AND m.conversation_id = r.conversation_id AND m.sequence IS NOT NULL
        AND ${isFindable('$6', '$7', '$8', '$9')}
      OFFSET 0
    ) m
    LIMIT ${RECENT.messages}`,
});

const READ_FOUND = statement<
  Scoped<
    [
      upper: string,
      lower: string,
      authorId: string | null,
      hasFile: boolean,
      ids: readonly string[],
      conversationIds: readonly string[],
    ]
  >,
  MessageRow
>({
  name: 'search-read-found',
  text: `
    SELECT ${messageColumns('m')} FROM unnest($10::text[], $11::text[]) AS n(id, conversation_id)
    JOIN messages m ON m.id = n.id AND m.conversation_id = n.conversation_id AND m.sequence IS NOT NULL
    WHERE EXISTS (SELECT FROM conversations c WHERE c.id = m.conversation_id AND ${IS_READABLE} OFFSET 0)
      AND ${isFindable('$6', '$7', '$8', '$9')}`,
});

/** Members of a conversation whose names are compared: those that the index has. */
const MAX_MEMBERS = 500;

const CONVERSATION_CANDIDATE = `c.id, c.created_at AS at, c.title, CASE WHEN $4::boolean THEN '[]' ELSE (
        SELECT coalesce(json_agg(a), '[]') FROM (
          SELECT a.id, a.name, a.handle FROM participants p JOIN actors a ON a.id = p.actor_id
          WHERE p.conversation_id = c.id AND p.membership IN ('active', 'hidden')
          ORDER BY p.created_at, p.id LIMIT ${MAX_MEMBERS}
        ) a
      ) END AS members`;

const READ_CONVERSATIONS_IN = statement<
  Scoped<[upper: string, lower: string, ids: readonly string[]]>,
  ConversationCandidate
>({
  name: 'search-read-conversations-in',
  text: `
    SELECT c.id AS conversation_id, c.* FROM unnest($8::text[]) AS n(id) CROSS JOIN LATERAL (
      SELECT ${CONVERSATION_CANDIDATE} FROM conversations c
      WHERE c.id = n.id AND c.created_at <= $6::timestamptz AND c.created_at > $7::timestamptz AND ${IS_READABLE} OFFSET 0
    ) c`,
});

const READ_RECENT_HEADS = statement<Scoped<[upper: string, lower: string]>, ConversationCandidate>({
  name: 'search-read-recent-heads',
  text: `
    WITH noted AS MATERIALIZED (
      SELECT DISTINCT n.id FROM (SELECT * FROM search_changes ORDER BY id DESC LIMIT ${RECENT.changes}) s,
        unnest(s.conversation_ids) AS n(id)
      LIMIT ${RECENT.messages}
    )
    SELECT c.id AS conversation_id, c.* FROM noted n CROSS JOIN LATERAL (
      SELECT ${CONVERSATION_CANDIDATE} FROM conversations c
      WHERE c.id = n.id AND c.created_at <= $6::timestamptz AND c.created_at > $7::timestamptz AND ${IS_READABLE} OFFSET 0
    ) c`,
});
