export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Throws a RangeError for no values. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)];
  const lower = sorted[Math.ceil(middle) - 1];
  if (upper === undefined || lower === undefined)
    throw new RangeError('there is nothing to take a median of');
  return { median: (lower + upper) / 2, least: sorted[0]!, most: sorted.at(-1)! };
}
