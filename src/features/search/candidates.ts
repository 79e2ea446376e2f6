import type { SearchType } from '@parley/protocol/resources/search-hit.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { lexemesOf, quoted } from './entries.ts';
import type { Phrase } from './query.ts';
import { IS_READABLE, type Period, type Scope, type ScopeValues } from './scope.ts';

/** A message or a conversation that may match. */
export interface Candidate {
  readonly id: string;
  /** When it was sent or created. */
  readonly at: string;
}

type RecentValues = readonly [...ScopeValues, upper: string, lower: string];
type IndexedValues = readonly [...RecentValues, terms: string, limit: number, at: string, id: string];

export type CandidateStatements<Item extends Candidate> = ReturnType<typeof candidateStatements<Item>>;

/**
 * Yields the candidates of a period that the caller may find, each batch with the time down to
 * which it is complete: first possibly unindexed candidates, then the indexed ones, newest first.
 * Throws SearchTooLongError.
 */
export async function* readCandidates<Item extends Candidate>(
  db: Querier,
  statements: CandidateStatements<Item>,
  scope: Scope,
  { upper, lower }: Period,
): AsyncGenerator<{ readonly items: readonly Item[]; readonly lower: string }> {
  const { values, few } = scope;
  const terms = indexQuery(statements.type, scope);
  // Only messages are so many that a look at the newest pays.
  const mayBeFrequent = few === undefined && statements.type === 'messages';
  let way: 'newest' | 'words' = mayBeFrequent ? 'newest' : 'words';
  // Read before the entries: items that are indexed in between are in both, not in neither.
  yield { items: await db.query(statements.recent, ...values, upper, lower), lower: upper };
  let after: Candidate = { at: 'infinity', id: '' };
  for (let limit = FIRST; ; limit = Math.min(limit * GROWTH, MAX_READ)) {
    if (performance.now() > scope.deadlineMs) throw new SearchTooLongError();
    const indexed = [...values, upper, lower, terms, limit, after.at, after.id] as const;
    let items = await db.query(statements[way], ...indexed);
    if (way === 'newest' && items.length < limit) {
      way = 'words';
      items = await db.query(statements.words, ...indexed);
    }
    if (items.length < limit) return yield { items, lower };
    after = items.at(-1)!;
    // Further candidates may have the same time as the last one.
    yield { items, lower: after.at };
  }
}

/** The search has examined too many candidates. */
export class SearchTooLongError extends Error {
  override readonly name = 'SearchTooLongError';
}

/**
 * Returns a tsquery for entries that may match. It has only the longest words of a long query,
 * because they narrow most; every word is compared with the message later. Entries with the
 * earlier folding are asked for by its words too.
 */
function indexQuery(type: SearchType, { phrases, earlier = [], author_id, has, values, few }: Scope): string {
  const lexemes = lexemesOf(values[0]);
  const lexemeOf = type === 'messages' ? lexemes.word : lexemes.name;
  const ways = [phrases, earlier].filter(({ length }) => length > 0).map((way) => wordsIn(way, lexemeOf));
  const conditions = [`(${ways.join(' | ')})`];
  if (author_id !== undefined) conditions.push(quoted(lexemes.author(author_id)));
  if (has === 'file') conditions.push(quoted(lexemes.file));
  if (few) conditions.push(`(${few.map((id) => quoted(lexemes.conversation(id))).join(' | ')})`);
  return conditions.join(' & ');
}

/** Returns the tsquery of the longest words of phrases. */
function wordsIn(phrases: readonly Phrase[], lexemeOf: (text: string) => string): string {
  const words = new Map<string, string>();
  for (const { text, isPrefix } of phrases.flat()) {
    words.set(text, `${quoted(lexemeOf(text))}${isPrefix ? ':*' : ''}`);
  }
  const longest = [...words].sort(([a], [b]) => b.length - a.length).slice(0, MAX_INDEX_WORDS);
  return longest.map(([, condition]) => condition).join(' & ');
}

/**
 * Returns the statements of a type. `item` is SQL that selects a candidate by `f.id` and
 * `f.conversation_id`, with the parameters of RecentValues.
 */
export function candidateStatements<Item extends Candidate>(type: SearchType, item: string) {
  const itemsOf = (found: string) =>
    `SELECT item.* FROM (${found}) f CROSS JOIN LATERAL (${item} OFFSET 0) item`;
  const indexed = (way: string, found: string) =>
    statement<IndexedValues, Item>(`search-${type}-by-${way}`)`
    WITH found AS ${found}
    ${itemsOf(`SELECT * FROM found WHERE ${IN_PERIOD} OFFSET 0`)} WHERE ${IN_READABLE} LIMIT $11`;
  return {
    type,
    /** Looks among the newest entries, for frequent words. */
    newest: indexed('newest', `(${NEWEST})`),
    // The index of the words must be the only path to the rows: the planner cannot estimate their
    // number and prefers the order for a rare word (860 ms instead of 0.2 ms among 5 M rows).
    words: indexed('words', `MATERIALIZED (${WORDS})`),
    recent: statement<RecentValues, Item>(`search-${type}-recent`)`
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

/** The most recent changes that are searched directly: some seconds' changes at full load. */
const RECENT = { notes: 2_000, outboxRows: 500, items: 5_000 } as const;
/** Most entries examined for a frequent word, besides those of the page. */
const MAX_NEWEST = 4_000;
/** Candidates read at once, at first and at most. */
const FIRST = 32;
const MAX_READ = 1_024;
const GROWTH = 4;
const MAX_INDEX_WORDS = 16;

const COLUMNS = 'id, conversation_id, account_id, at';
const IN_READABLE = `EXISTS (SELECT FROM conversations c WHERE c.id = f.conversation_id AND ${IS_READABLE} OFFSET 0)`;
const IN_PERIOD = `account_id = $1 AND at <= $8::timestamptz AND at > $9::timestamptz
        AND (at, id) < ($12::timestamptz, $13) ORDER BY at DESC, id DESC`;
const WORDS = `SELECT ${COLUMNS} FROM search_entries WHERE terms @@ $10::tsquery`;
const NEWEST = `SELECT ${COLUMNS} FROM (
        SELECT * FROM search_entries WHERE id <> conversation_id AND ${IN_PERIOD} LIMIT ${MAX_NEWEST}
      ) e WHERE terms @@ $10::tsquery`;
