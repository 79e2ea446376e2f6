/** The messages of a timeline that are in the document, by the keys of the first and the last. */
export interface ShownRange {
  /** Null: as many as a step before the end. */
  readonly from: string | null;
  /** Null: to the newest, also as new ones arrive. */
  readonly to: string | null;
}

/** Messages in the document at most. */
export const MOST_SHOWN = 300;
/** Messages that are added at once. */
const STEP = 60;

export const NEWEST: ShownRange = { from: null, to: null };

/** Two indexes: from the first, to before the second. */
export type Indexes = readonly [from: number, to: number];

/**
 * Returns the indexes of the shown messages, at most MOST_SHOWN. `follows`: the reader is at the
 * end, so old messages make room for new ones; otherwise new ones wait.
 */
export function indexesOf(keys: readonly Keyed[], { from, to }: ShownRange, follows: boolean): Indexes {
  const last = to === null ? -1 : keys.findLastIndex(({ key }) => key === to);
  const end = last < 0 ? keys.length : last + 1;
  const first = from === null ? -1 : keys.findIndex(({ key }) => key === from);
  const begin = first >= 0 && first < end ? first : Math.max(0, end - STEP);
  if (end - begin <= MOST_SHOWN) return [begin, end];
  return follows ? [end - MOST_SHOWN, end] : [begin, begin + MOST_SHOWN];
}

/** Returns the range with messages more at the top; the far end makes room. */
export function withOlder(keys: readonly Keyed[], [from, to]: Indexes): ShownRange {
  const begin = Math.max(0, from - STEP);
  const end = Math.min(to, begin + MOST_SHOWN);
  return { from: keys[begin]?.key ?? null, to: end === keys.length ? null : keys[end - 1]!.key };
}

/** Returns the range with messages more at the bottom; the far end makes room. */
export function withNewer(keys: readonly Keyed[], [from, to]: Indexes): ShownRange {
  const end = Math.min(keys.length, to + STEP);
  const begin = Math.max(from, end - MOST_SHOWN);
  return { from: keys[begin]?.key ?? null, to: end === keys.length ? null : keys[end - 1]!.key };
}

/** Returns the range around an index, unless it is shown. */
export function around(keys: readonly Keyed[], [from, to]: Indexes, index: number): ShownRange | null {
  if (index >= from && index < to) return null;
  const begin = Math.max(0, index - STEP);
  const end = Math.min(keys.length, index + STEP);
  return { from: keys[begin]!.key, to: end === keys.length ? null : keys[end - 1]!.key };
}

interface Keyed {
  readonly key: string;
}
