import type { Hit, Window } from './walk.ts';

/** A hit with its place in the answer. */
export interface Ranked<Item, M> extends Hit<Item, M> {
  /** Higher is better. */
  readonly score: number;
}

interface Weighed {
  readonly weight: number;
}

interface Timed {
  readonly id: string;
  readonly at: string;
}

/**
 * Returns the hits of a window, the best first: how well they match, less their age when the search
 * began. The age counts by its order of magnitude: a hit of today precedes one of last week unless
 * that matches clearly better.
 */
export function rank<Item extends Timed, M extends Weighed>(
  { hits }: Window<Item, M>,
  beganAt: string,
): Ranked<Item, M>[] {
  const beganMs = Date.parse(beganAt);
  return hits
    .map((hit) => ({ ...hit, score: scoreOf(hit.match.weight, beganMs - Date.parse(hit.item.at)) }))
    .sort((a, b) => b.score - a.score || compare(b.item.at, a.item.at) || compare(b.item.id, a.item.id));
}

/** Whether a hit comes behind the place of another. */
export function isBehind<Item extends Timed, M>(
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
