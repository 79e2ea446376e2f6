import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { IS_READABLE, type Period, type Scope, type ScopeValues } from './scope.ts';

/** A message or a conversation that may match. */
export interface Candidate {
  readonly id: string;
  /** When it was sent or made. */
  readonly at: string;
}

type RecentValues = readonly [...ScopeValues, upper: string, lower: string];
type IndexedValues = readonly [...RecentValues, terms: string, limit: number, at: string, id: string];

export type CandidateStatements<Item extends Candidate> = ReturnType<typeof candidateStatements<Item>>;
export type CandidateReader<Item extends Candidate> = ReturnType<typeof candidateReader<Item>>;

/** Returns a reader of candidates that the caller may find, and whose terms match a tsquery. */
export function candidateReader<Item extends Candidate>(
  db: Querier,
  { values, few, isFilled }: Scope,
  statements: CandidateStatements<Item>,
  terms: string,
) {
  let way: 'newest' | 'words' = few === undefined && isFilled ? 'newest' : 'words';
  return {
    /** Reads the indexed ones after a candidate, newest first. Fewer than `limit` are the last. */
    async readIndexed({ upper, lower }: Period, limit: number, after: Candidate | undefined) {
      const { at, id } = after ?? { at: 'infinity', id: '' };
      const indexed = [...values, upper, lower, terms, limit, at, id] as const;
      if (!isFilled) return db.query(statements.unfilled[way], ...indexed);
      const items = await db.query(statements[way], ...indexed);
      if (way === 'words' || items.length === limit) return items;
      way = 'words';
      return db.query(statements.words, ...indexed);
    },

    /** Reads those that may not be indexed yet. */
    readRecent: ({ upper, lower }: Period) => db.query(statements.recent, ...values, upper, lower),

    /** Shortens a period to what can be read at once, which matters while the index is filled. */
    async shorten({ upper, lower }: Period): Promise<Period> {
      if (isFilled) return { upper, lower };
      const [reach] = await db.query(READ_REACH, values[0], upper, terms);
      way = reach === undefined ? 'words' : 'newest';
      return { upper, lower: reach === undefined || reach.at < lower ? lower : reach.at };
    },
  };
}

/**
 * Returns the statements of a kind. `item` is SQL that selects a candidate by `f.id` and
 * `f.conversation_id`, by the parameters of RecentValues.
 */
export function candidateStatements<Item extends Candidate>(name: string, item: string) {
  const itemsOf = (found: string) =>
    `SELECT item.* FROM (${found}) f CROSS JOIN LATERAL (${item} OFFSET 0) item`;
  const indexed = (way: string, found: string) =>
    statement<IndexedValues, Item>(`search-${name}-by-${way}`)`
    WITH found AS ${found}
    ${itemsOf(`SELECT * FROM found WHERE ${IN_PERIOD} OFFSET 0`)} WHERE ${IN_READABLE} LIMIT $11`;
  return {
    /** Looks among the newest entries, for words that many have. */
    newest: indexed('newest', `(${NEWEST})`),
    // The index of the words must be the only path to the rows: the planner cannot estimate their
    // number and prefers the order for a rare word (860 ms instead of 0.2 ms among 5 M rows).
    words: indexed('words', `MATERIALIZED (${WORDS})`),
    /** Both look into the blocks of the version before too. */
    unfilled: {
      newest: indexed('newest-unfilled', `MATERIALIZED (${NEWEST} UNION ALL ${UNFILLED})`),
      words: indexed('words-unfilled', `MATERIALIZED (${WORDS} UNION ALL ${UNFILLED})`),
    },
    recent: statement<RecentValues, Item>(`search-${name}-recent`)`
    WITH noted AS (
      SELECT n.id, n.conversation_id
      FROM (SELECT * FROM search_notes ORDER BY id DESC LIMIT ${RECENT.notes}) s,
        unnest(s.entry_ids, s.conversation_ids) AS n(id, conversation_id)
      UNION
      SELECT n.id, n.conversation_id FROM (SELECT * FROM outbox ORDER BY id DESC LIMIT ${RECENT.outboxRows}) o,
        jsonb_to_recordset(o.payload -> 'messages') AS n(id text, conversation_id text)
      WHERE o.topic = 'messages.sent'
    ), readable AS MATERIALIZED (
      SELECT * FROM (SELECT conversation_id, array_agg(id) AS ids FROM noted GROUP BY 1) f WHERE ${IN_READABLE}
    )
    ${itemsOf('SELECT conversation_id, unnest(ids) AS id FROM readable')} LIMIT ${RECENT.items}`,
  };
}

/** The most recent changes that are searched directly: those of some seconds at full load. */
const RECENT = { notes: 2_000, outboxRows: 500, items: 5_000 } as const;

/**
 * Entries that are examined for a word that many have: those of the page, and this many at most.
 */
const MOST_NEWEST = 4_000;

const COLUMNS = 'id, conversation_id, account_id, at';
const IN_READABLE = `EXISTS (SELECT FROM conversations c WHERE c.id = f.conversation_id AND ${IS_READABLE} OFFSET 0)`;
const IN_PERIOD = `account_id = $1 AND at <= $8::timestamptz AND at > $9::timestamptz
        AND (at, id) < ($12::timestamptz, $13) ORDER BY at DESC, id DESC`;
const WORDS = `SELECT ${COLUMNS} FROM search_entries WHERE terms @@ $10::tsquery`;
const NEWEST = `SELECT ${COLUMNS} FROM (
        SELECT * FROM search_entries WHERE id <> conversation_id AND ${IN_PERIOD} LIMIT ${MOST_NEWEST}
      ) e WHERE terms @@ $10::tsquery`;
const UNFILLED = `SELECT ${COLUMNS} FROM search_unfilled
      WHERE terms @@ $10::tsquery AND from_at <= $8::timestamptz AND to_at > $9::timestamptz`;

// There is no row where the words have few blocks (migration 0036).
const READ_REACH = statement<[accountId: string, upper: string, terms: string], { at: string }>(
  'search-read-reach',
)`
    SELECT at FROM search_reach($1, $2::timestamptz, $3::tsquery, ${MOST_NEWEST}) AS at WHERE at IS NOT NULL`;
