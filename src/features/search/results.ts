import type { SearchHighlight } from '../../contract/protocol/resources/search-hit.ts';
import type { KeysetPage } from '../../platform/db/connection/keyset.ts';
import type { Scope } from './scope.ts';
import { type Hit, readWindow, type Timed, type WalkOptions, type Window } from './walk.ts';

/** A hit with its place in the answer. */
interface Ranked<Item, M> extends Hit<Item, M> {
  /** Higher is better. */
  readonly score: number;
}

/** A result with what a cursor needs to go on behind it. */
export interface Result<Item, M, Shown> {
  readonly ranked: Ranked<Item, M>;
  readonly shown: Shown;
  readonly key: NonNullable<KeysetPage['after']>;
}

/** The present row of a hit, and where the words are in it. */
export interface Found<Row> {
  readonly row: Row;
  readonly highlights: readonly SearchHighlight[];
}

export interface ResultsOptions<Item extends Timed, M, Shown> extends WalkOptions<Item, M> {
  /**
   * Returns what is shown of hits, from their present rows, by id; those that must not be shown any
   * more are left out.
   */
  readonly confirm: (hits: readonly Item[]) => Promise<ReadonlyMap<string, Shown>>;
}

/** The parts of a cursor: when the search began, the window, and the place of a hit in it. */
export const RESULT_KEY = ['time', 'time', 'time', 'integer', 'time', 'text'] as const;

/**
 * Returns the results of a page. Hits are ranked within windows of time, the newest window first,
 * so that a page costs the reading of one window or two however many hits there are. A window is as
 * long as it takes to fill a page; the cursor has its bounds, so that a later page finds the same
 * one, and what is sent meanwhile is in none of them.
 */
export async function readResults<Item extends Timed, M extends { readonly weight: number }, Shown>(
  options: ResultsOptions<Item, M, Shown>,
  { now, period }: Scope,
  { after, fetch }: KeysetPage,
): Promise<Result<Item, M, Shown>[]> {
  const place = after && placeOf(after);
  const beganAt = place?.beganAt ?? now;
  const results: Result<Item, M, Shown>[] = [];
  let upper = place?.upper ?? period.upper;
  let lower = place?.lower ?? period.lower;
  // The window of the cursor is read as a whole.
  let enough = place === null ? fetch : Number.POSITIVE_INFINITY;
  while (upper > lower) {
    const window = await readWindow(options, { upper, lower }, enough);
    const { period: read } = window;
    let ranked = rank(window, beganAt);
    if (enough !== fetch) ranked = ranked.filter((hit) => isBehind(hit, place!));
    while (ranked.length > 0 && results.length < fetch) {
      const next = ranked.splice(0, fetch - results.length);
      const confirmed = await options.confirm(next.map(({ item }) => item));
      for (const hit of next) {
        const shown = confirmed.get(hit.item.id);
        if (shown === undefined) continue;
        const { score, item } = hit;
        results.push({ ranked: hit, shown, key: [beganAt, read.upper, read.lower, score, item.at, item.id] });
      }
    }
    if (results.length === fetch) break;
    upper = read.lower;
    lower = period.lower;
    enough = fetch;
  }
  return results;
}

function placeOf(key: NonNullable<KeysetPage['after']>) {
  const [beganAt, upper, lower, score, at, id] = key as [string, string, string, number, string, string];
  return { beganAt, upper, lower, score, at, id };
}

interface Weighed {
  readonly weight: number;
}

/**
 * Returns the hits of a window, the best first: how well they match, less their age when the search
 * began. The age counts by its order of magnitude: a hit of today precedes one of last week unless
 * that matches clearly better.
 */
function rank<Item extends Timed, M extends Weighed>(
  { hits }: Window<Item, M>,
  beganAt: string,
): Ranked<Item, M>[] {
  const beganMs = Date.parse(beganAt);
  return hits
    .map((hit) => ({ ...hit, score: scoreOf(hit.match.weight, beganMs - Date.parse(hit.item.at)) }))
    .sort((a, b) => b.score - a.score || compare(b.item.at, a.item.at) || compare(b.item.id, a.item.id));
}

/** Whether a hit comes behind the place of another. */
function isBehind<Item extends Timed, M>(
  { score, item }: Ranked<Item, M>,
  place: { readonly score: number; readonly at: string; readonly id: string },
): boolean {
  const order = place.score - score || compare(place.at, item.at) || compare(place.id, item.id);
  return order > 0;
}

function scoreOf(weight: number, ageMs: number): number {
  const days = Math.max(0, ageMs) / 86_400_000;
  return Math.round(weight * 100 - Math.log2(1 + days) * A_DOUBLING);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** What a hit loses each time that its age doubles. */
const A_DOUBLING = 40;
