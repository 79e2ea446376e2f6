import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SearchHighlight } from '../../contract/protocol/resources/search-hit.ts';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import type { ShownField } from './excerpt.ts';
import type { BlockReader, FoundBlock } from './find-blocks.ts';
import { type Match, matchFields } from './match.ts';
import type { Phrase } from './query.ts';
import type { Period, Scope } from './scope.ts';

/** A match before it is ranked. */
export interface Hit<Item> {
  readonly item: Item;
  readonly match: Match<ShownField>;
}

/** The present row of a hit, and the ranges of the words in it. */
export interface Found<Row> {
  readonly row: Row;
  readonly highlights: readonly SearchHighlight[];
}

/** A result with the key after which a cursor continues. */
export interface Result<Row> extends Found<Row> {
  readonly key: ResultKey;
}

interface Timed {
  readonly id: string;
  readonly at: string;
}

/** The parameters of a search. */
export interface Wanted {
  readonly phrases: readonly Phrase[];
  /** Milliseconds of `performance.now()` after which the search gives up. */
  readonly deadlineMs: number;
}

export interface WindowOptions<Item extends Timed> extends Wanted {
  readonly readBlocks: BlockReader;
  /** Reads the items of the period that are in these blocks. */
  readonly readItems: (period: Period, blocks: readonly FoundBlock[]) => Promise<readonly Item[]>;
  /** Reads the items of the period that may be in no block. */
  readonly readRecent: (period: Period) => Promise<readonly Item[]>;
  readonly fieldsOf: (item: Item) => readonly ShownField[];
}

export interface ResultsOptions<Item extends Timed, Row> extends WindowOptions<Item> {
  /** Returns the present rows of hits, by id, without those that may no longer be shown. */
  readonly confirm: (hits: readonly Hit<Item>[]) => Promise<ReadonlyMap<string, Found<Row>>>;
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
 * window, and messages that are sent in the meantime are in none.
 */
export async function readResults<Item extends Timed, Row>(
  options: ResultsOptions<Item, Row>,
  { now, period }: Scope,
  { after, fetch }: KeysetPage,
): Promise<Result<Row>[]> {
  const place = after as ResultKey | null;
  const [beganAt, ...bounds] = place ?? [now, period.upper, period.lower];
  let [upper, lower] = bounds;
  // The window of a cursor is read as a whole.
  let enough = place === null ? fetch : Number.POSITIVE_INFINITY;
  const results: Result<Row>[] = [];
  while (upper > lower) {
    const window = await readWindow(options, { upper, lower }, enough);
    const { period: read } = window;
    let ranked = window.hits
      .map((hit): RankedHit<Item> => {
        const score = scoreOf(hit.match.weight, Date.parse(beganAt) - Date.parse(hit.item.at));
        return { ...hit, key: [beganAt, read.upper, read.lower, score, hit.item.at, hit.item.id] };
      })
      .sort((a, b) => compareKeys(a.key, b.key));
    if (enough !== fetch) ranked = ranked.filter(({ key }) => compareKeys(key, place!) > 0);
    while (ranked.length > 0 && results.length < fetch) {
      const next = ranked.splice(0, fetch - results.length);
      const confirmed = await options.confirm(next);
      for (const { key, item } of next) {
        const found = confirmed.get(item.id);
        if (found !== undefined) results.push({ ...found, key });
      }
    }
    if (results.length === fetch) break;
    upper = read.lower;
    lower = period.lower;
    enough = fetch;
  }
  return results;
}

interface RankedHit<Item> extends Hit<Item> {
  readonly key: ResultKey;
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

/**
 * Reads the hits of a period, newest first, until there are `enough`; the result then has a shorter
 * period. Its bounds are times of hits, not of blocks, so that a hit that moves into a block, or
 * from one block to another, keeps its position. Throws SearchTooLongError.
 */
export async function readWindow<Item extends Timed>(
  { readBlocks, readItems, readRecent, phrases, fieldsOf, deadlineMs }: WindowOptions<Item>,
  period: Period,
  enough: number,
): Promise<{ readonly period: Period; readonly hits: readonly Hit<Item>[] }> {
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
  // Read before the blocks, so that messages that are indexed in between are in both, not in
  // neither.
  await compareItems(await readRecent(period));
  // Read before the blocks: messages indexed in between are in both, not in neither.
  let open: readonly FoundBlock[] = [];
  let upper = period.upper;
  let after: FoundBlock | undefined;
  let limit = FIRST_BLOCKS;
  for (;;) {
    const blocks = await readBlocks(after, limit, period);
    after = blocks.at(-1);
    const isLast = blocks.length < limit;
    // Unread blocks end at `lower` at the latest.
    const lower = isLast ? period.lower : after!.to_at;
    open = [...open, ...blocks];
    // Blocks of many conversations end at about the same time, so only their messages between the
    // two times are read.
    if (lower < upper) {
      await compareItems(await readItems({ upper, lower }, open));
      open = open.filter(({ from_at }) => from_at <= lower);
      upper = lower;
    }
    const complete = [...hits.values()].filter(({ item }) => item.at > lower);
    if (isLast || (lower < period.upper && complete.length >= enough)) {
      return { period: { upper: period.upper, lower }, hits: complete };
    }
    if (performance.now() > deadlineMs) throw new SearchTooLongError();
    limit = Math.min(limit * GROWTH, MOST_BLOCKS);
  }
}

/** The score that a hit loses each time its age doubles. */
const A_DOUBLING = 40;
const FIRST_BLOCKS = 32;
const GROWTH = 4;
const MOST_BLOCKS = 1_024;
/** Milliseconds for which the comparison may block other requests. */
const TURN_MS = 5;
