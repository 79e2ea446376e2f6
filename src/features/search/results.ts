import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SearchHighlight } from '../../contract/protocol/resources/search-hit.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import {
  type Candidate,
  type CandidateReader,
  type CandidateStatements,
  candidateReader,
} from './candidates.ts';
import { highlightsOf } from './excerpt.ts';
import { type Field, type Match, matchFields } from './match.ts';
import { type Period, readScope, type Scope, type Search } from './scope.ts';
import { indexQuery } from './terms.ts';

/** What is searched. */
export interface Kind<Item extends Candidate, Row extends { readonly id: string }> {
  /** The lexemes of its words. */
  readonly words: 'word' | 'name';
  readonly candidates: CandidateStatements<Item>;
  readonly fieldsOf: (item: Item) => readonly Field[];
  /** Reads the present rows of hits, without those that may no longer be shown. */
  readonly readRows: (db: Db, scope: Scope, ids: readonly string[]) => Promise<readonly Row[]>;
  /** The fields of a row, which are compared again if it has them. */
  readonly fieldsOfRow?: (row: Row) => readonly Field[];
}

/** A result with the key after which a cursor continues. */
export interface Result<Row> {
  readonly row: Row;
  readonly highlights: readonly SearchHighlight[];
  readonly key: ResultKey;
}

/** The parts of a cursor: when the search began, the window, and the position of a hit in it. */
export const RESULT_KEY = ['time', 'time', 'time', 'integer', 'time', 'text'] as const;
type ResultKey = readonly [
  beganAt: string,
  upper: string,
  lower: string,
  score: number,
  at: string,
  id: string,
];

/**
 * Returns the results of a page. Hits are ranked within windows of time, newest window first, so
 * that a page costs the reading of one or two windows however many hits exist. A window is as long
 * as it takes to fill a page. The cursor has its bounds, so that a later page finds the same
 * window, and messages that are sent in the meantime are in none. The caller must be allowed to
 * read `search.conversationId`; this is not checked.
 */
export async function readResults<Item extends Candidate, Row extends { readonly id: string }>(
  db: Db,
  principal: Principal,
  kind: Kind<Item, Row>,
  search: Search,
  { after, fetch }: KeysetPage,
): Promise<Result<Row>[]> {
  const scope = await readScope(db, principal, search);
  if (scope.few?.length === 0) return [];
  const candidates = candidateReader(db, scope, kind.candidates, indexQuery(kind.words, search, scope));
  let place = after as ResultKey | null;
  let [beganAt, upper, lower] = place ?? [scope.now, scope.period.upper, scope.period.lower];
  const results: Result<Row>[] = [];
  while (upper > lower && results.length < fetch) {
    const enough = place === null ? fetch : null;
    const window = await readWindow(candidates, kind.fieldsOf, search, { upper, lower }, enough);
    const ranked = window.hits
      .map(({ item, match }) => {
        const score = scoreOf(match.weight, Date.parse(beganAt) - Date.parse(item.at));
        const key: ResultKey = [beganAt, upper, window.lower, score, item.at, item.id];
        return { id: item.id, match, key };
      })
      .filter(({ key }) => place === null || compareKeys(key, place) > 0)
      .sort((a, b) => compareKeys(a.key, b.key));
    while (ranked.length > 0 && results.length < fetch) {
      const next = ranked.splice(0, fetch - results.length);
      const ids = next.map(({ id }) => id);
      const rows = new Map((await kind.readRows(db, scope, ids)).map((row) => [row.id, row]));
      for (const { id, key, match } of next) {
        const row = rows.get(id);
        if (row === undefined) continue;
        const fields = kind.fieldsOfRow?.(row);
        const present = fields === undefined ? match : matchFields(search.phrases, fields);
        if (present !== undefined) results.push({ row, key, highlights: highlightsOf(present.found) });
      }
    }
    upper = window.lower;
    lower = scope.period.lower;
    place = null;
  }
  return results;
}

/** The best hit comes first, then the newest. */
function compareKeys([, , , scoreA, atA, idA]: ResultKey, [, , , scoreB, atB, idB]: ResultKey): number {
  return scoreB - scoreA || compare(atB, atA) || compare(idB, idA);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * Returns how well a hit matches, less its age when the search began. Age counts by its order of
 * magnitude: a hit of today precedes one of last week unless that matches clearly better.
 */
function scoreOf(weight: number, ageMs: number): number {
  const days = Math.max(0, ageMs) / 86_400_000;
  return Math.round(weight * 100 - Math.log2(1 + days) * A_DOUBLING);
}

/** The search has examined too much. */
export class SearchTooLongError extends Error {
  override readonly name = 'SearchTooLongError';
}

/** A match before it is ranked. */
interface Hit<Item> {
  readonly item: Item;
  readonly match: Match;
}

/**
 * Reads the hits of a period, newest first, until there are `enough`, and returns them with the
 * time down to which they are all; for null it reads the whole period. Throws SearchTooLongError.
 */
async function readWindow<Item extends Candidate>(
  candidates: CandidateReader<Item>,
  fieldsOf: (item: Item) => readonly Field[],
  { phrases, deadlineMs }: Search,
  wanted: Period,
  enough: number | null,
): Promise<{ readonly lower: string; readonly hits: readonly Hit<Item>[] }> {
  const hits = new Map<string, Hit<Item>>();
  const compareItems = async (items: readonly Item[]): Promise<void> => {
    let pausedMs = performance.now();
    for (const item of items) {
      const match = matchFields(phrases, fieldsOf(item));
      if (match !== undefined) hits.set(item.id, { item, match });
      if (performance.now() - pausedMs < TURN_MS) continue;
      await nextTurn();
      pausedMs = performance.now();
      if (pausedMs > deadlineMs) throw new SearchTooLongError();
    }
  };
  const period = enough === null ? wanted : await candidates.shorten(wanted);
  // Read before the entries: what is indexed in between is in both, not in neither.
  await compareItems(await candidates.readRecent(period));
  let after: Item | undefined;
  for (let limit = FIRST; ; limit = Math.min(limit * GROWTH, MOST)) {
    const items = await candidates.readIndexed(period, limit, after);
    await compareItems(items);
    after = items.at(-1);
    const isLast = items.length < limit;
    // Further candidates may have the same time as the last one.
    const lower = isLast ? period.lower : after!.at;
    const complete = [...hits.values()].filter(({ item }) => item.at > lower);
    const isEnd = isLast && lower === wanted.lower;
    if (isEnd || (enough !== null && complete.length >= enough)) return { lower, hits: complete };
    if (performance.now() > deadlineMs) throw new SearchTooLongError();
    if (isLast) return { lower, hits: complete };
  }
}

/** The score that a hit loses each time its age doubles. */
const A_DOUBLING = 40;
/** Candidates that are read at once, at first and at most. */
const FIRST = 32;
const MOST = 1_024;
const GROWTH = 4;
/** Milliseconds for which the comparison may block other requests. */
const TURN_MS = 5;
