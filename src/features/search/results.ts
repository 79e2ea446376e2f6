import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SearchHighlight } from '@parley/protocol/resources/search-hit.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import { type Candidate, readCandidates, SearchTooLongError } from './candidates.ts';
import { highlightsOf } from './excerpt.ts';
import type { Kind } from './kinds.ts';
import { matchFields } from './match.ts';
import { type Period, readScope, type Scope, type Search } from './scope.ts';

/** A result with the key after which a cursor continues. */
export interface Result<Row> {
  readonly row: Row;
  readonly highlights: SearchHighlight[];
  readonly key: HitKey;
}

/** The parts of a cursor: when the search began, the window, and the position of a hit in it. */
export const RESULT_KEY = ['time', 'time', 'time', 'integer', 'time', 'text'] as const;
type HitKey = readonly [beganAt: string, upper: string, lower: string, score: number, at: string, id: string];

/**
 * Returns the results of a page. Hits are ranked within windows of time, newest window first, so
 * that a page reads only one or two windows, however many hits exist. A window is as long as it
 * takes to fill a page. The cursor has its bounds, so that a later page finds the same window, and
 * messages that are sent in the meantime are in no window. The caller must be allowed to read the
 * conversation of the filter; this is not checked.
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
  let place = after as HitKey | null;
  let [beganAt, upper, lower] = place ?? [scope.now, scope.upper, scope.lower];
  const results: Result<Row>[] = [];
  while (upper > lower && results.length < fetch) {
    const enough = place === null ? fetch : Number.POSITIVE_INFINITY;
    const window = await readWindow(db, kind, scope, { upper, lower }, enough);
    const ranked = window.hits
      .map(({ item, weight }) => {
        const score = scoreOf(weight, Date.parse(beganAt) - Date.parse(item.at));
        const key: HitKey = [beganAt, upper, window.lower, score, item.at, item.id];
        return { item, key };
      })
      .filter(({ key }) => place === null || compareKeys(key, place) > 0)
      .sort((a, b) => compareKeys(a.key, b.key));
    while (ranked.length > 0 && results.length < fetch) {
      const next = ranked.splice(0, fetch - results.length);
      const ids = next.map(({ item }) => item.id);
      const rows = new Map((await kind.readRows(db, scope, ids)).map((row) => [row.id, row]));
      for (const { item, key } of next) {
        const row = rows.get(item.id);
        // The row may have other texts by now.
        const match = row && matchFields(scope.phrases, kind.fieldsOf({ ...item, ...row }, scope.reader));
        if (match !== undefined) results.push({ row: row!, key, highlights: highlightsOf(match.found) });
      }
    }
    upper = window.lower;
    lower = scope.lower;
    place = null;
  }
  return results;
}

/** Compares hits: the best first, then the newest. */
function compareKeys([, , , scoreA, atA, idA]: HitKey, [, , , scoreB, atB, idB]: HitKey): number {
  return scoreB - scoreA || compare(atB, atA) || compare(idB, idA);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * Returns the quality of a hit, minus its age when the search began. Age counts by its order of
 * magnitude: a hit of today precedes a hit of last week unless the older one matches clearly
 * better.
 */
function scoreOf(weight: number, ageMs: number): number {
  const days = Math.max(0, ageMs) / 86_400_000;
  return Math.round(weight * 100 - Math.log2(1 + days) * A_DOUBLING);
}

/** The unranked hits of a period, with the time down to which they are complete. */
interface Window<Item> {
  readonly lower: string;
  readonly hits: readonly { readonly item: Item; readonly weight: number }[];
}

/**
 * Reads the hits of a period, newest first, until there are `enough`, which may be infinite. Throws
 * SearchTooLongError.
 */
async function readWindow<Item extends Candidate, Row extends { readonly id: string }>(
  db: Db,
  { candidates, fieldsOf }: Kind<Item, Row>,
  scope: Scope,
  period: Period,
  enough: number,
): Promise<Window<Item>> {
  const hits = new Map<string, Window<Item>['hits'][number]>();
  let window: Window<Item> = { lower: period.upper, hits: [] };
  for await (const { items, lower } of readCandidates(db, candidates, scope, period)) {
    let pausedMs = performance.now();
    for (const item of items) {
      const match = matchFields(scope.phrases, fieldsOf(item, scope.reader));
      if (match !== undefined) hits.set(item.id, { item, weight: match.weight });
      if (performance.now() - pausedMs < TURN_MS) continue;
      await nextTurn();
      pausedMs = performance.now();
      if (pausedMs > scope.deadlineMs) throw new SearchTooLongError();
    }
    window = { lower, hits: [...hits.values()].filter(({ item }) => item.at > lower) };
    if (window.hits.length >= enough) break;
  }
  return window;
}

/** The score that a hit loses each time its age doubles. */
const A_DOUBLING = 40;
/** Milliseconds for which the comparison may block other requests. */
const TURN_MS = 5;
