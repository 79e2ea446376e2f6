/** The rows of a page in the middle of a list that is newest first. */
export interface Middle<Row> {
  /** At most one more than the page shows, as `toList` expects them. */
  readonly rows: readonly Row[];
  /** Newer rows than these follow in the other direction. */
  readonly startsInside: boolean;
}

/**
 * Returns the rows nearest to a place: one half newer, one half older, and more of one side where
 * the other ends. Both sides begin at the place and have one row more than the page, where there
 * are so many. A page that grows too large ends early (platform/http/pipeline/pagination.ts), so
 * the newer side, which comes first, gets half of its bytes at most.
 */
export function middleOf<Row>(
  newer: readonly Row[],
  older: readonly Row[],
  limit: number,
  bytesOf: (row: Row) => number,
): Middle<Row> {
  const half = Math.min(newer.length, Math.ceil(limit / 2));
  const wanted = Math.min(newer.length, Math.max(half, limit - older.length));
  const count = fitting(newer.slice(0, wanted), bytesOf);
  return {
    rows: [...newer.slice(0, count).reverse(), ...older.slice(0, limit - count + 1)],
    startsInside: newer.length > count,
  };
}

/** Returns how many of the rows have room, at least one. */
function fitting<Row>(rows: readonly Row[], bytesOf: (row: Row) => number): number {
  let left = MAX_NEWER_BYTES;
  const end = rows.findIndex((row, index) => {
    left -= bytesOf(row);
    return left < 0 && index > 0;
  });
  return end === -1 ? rows.length : end;
}

const MAX_NEWER_BYTES = 512 * 1024;
