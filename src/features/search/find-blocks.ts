import type { Querier } from '../../platform/db/connection/handle.ts';
import { type Statement, statement } from '../../platform/db/connection/statement.ts';
import { IS_READABLE, type Period, type Scope, type Scoped, scopeValues } from './scope.ts';

/** A block that may have a match. */
export interface FoundBlock {
  readonly conversation_id: string;
  readonly first_sequence: number;
  readonly last_sequence: number;
  readonly from_at: string;
  readonly to_at: string;
}

/**
 * Returns the next blocks after one that overlap the period, newest first. Fewer than `limit` are
 * the last.
 */
export type BlockReader = (
  after: FoundBlock | undefined,
  limit: number,
  period: Period,
) => Promise<readonly FoundBlock[]>;

/**
 * Reads blocks that the caller may read and that match a tsquery. `newest` looks for words of many
 * blocks among the account's newest ones. The index of the words finds all others, but reads every
 * block that has them.
 */
export function blockReader(db: Querier, scope: Scope, terms: string, first: Way): BlockReader {
  let way = first;
  return async (after, limit, { upper, lower }) => {
    const { to_at, conversation_id, first_sequence } = after ?? BEFORE_ALL;
    const place = [to_at, conversation_id, first_sequence] as const;
    const values = [...scopeValues(scope), terms, upper, lower, limit, ...place] as const;
    const blocks = await db.query(READ_BLOCKS[way], ...values);
    if (way === 'words' || blocks.length === limit) return blocks;
    way = 'words';
    return db.query(READ_BLOCKS[way], ...values);
  };
}

type Way = 'words' | 'newest';

const BEFORE_ALL = { to_at: 'infinity', conversation_id: '', first_sequence: 0 } as const;

const COLUMNS = 'conversation_id, first_sequence, last_sequence, account_id, from_at, to_at';
const IN_PERIOD = `from_at <= $7::timestamptz AND to_at > $8::timestamptz
        AND (to_at, conversation_id, first_sequence) < ($10::timestamptz, $11, $12::bigint)`;
const NEWEST_FIRST = 'to_at DESC, conversation_id DESC, first_sequence DESC';

/** Blocks that are examined for a word that most of them have. */
const NEWEST_BLOCKS = 2_000;

// The index of the words must be the only path to the rows: the planner cannot estimate their
// number and prefers the order for a rare word (860 ms instead of 0.2 ms among 5 M messages). Of
// the newest blocks, only as many are read as fill the page.
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
  return statement<BlockParams, FoundBlock>(`search-read-blocks-by-${way}`)`
    WITH ${SOURCES[way]}
    SELECT f.conversation_id, f.first_sequence, f.last_sequence, f.from_at, f.to_at FROM (
      SELECT * FROM found WHERE account_id = $1 AND ${IN_PERIOD} ORDER BY ${NEWEST_FIRST} OFFSET 0
    ) f
    WHERE EXISTS (SELECT FROM conversations c WHERE c.id = f.conversation_id AND ${IS_READABLE} OFFSET 0)
    LIMIT $9`;
}

const READ_BLOCKS = { words: readBlocksBy('words'), newest: readBlocksBy('newest') };

/** The most recent changes that are searched directly: those of some seconds at full load. */
export const RECENT = { changes: 200, outboxRows: 500, messages: 5_000 } as const;
