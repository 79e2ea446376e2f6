/**
 * The position of a piece in a text that is being streamed, in UTF-16 units: it covers `from` to
 * `to` of the writer's `attempt` (from 1). A reset to `keep` has `from` and `to` equal to `keep`; a
 * snapshot starts at 0. It travels as one number in the header of a frame, so that nodes order and
 * drop pieces without parsing them.
 */
export interface TextPosition {
  readonly attempt: number;
  readonly from: number;
  readonly to: number;
}

/** Texts end far below 2^17 units, attempts below 2^19: together they are exact in a double. */
const UNITS = 2 ** 17;

/** Never returns 0, which means no piece. Throws a RangeError if the position does not fit. */
export function packPosition({ attempt, from, to }: TextPosition): number {
  if (attempt < 1 || attempt >= 2 ** 19 || from < 0 || from > to || to >= UNITS) {
    throw new RangeError('not a position in a text');
  }
  return (attempt * UNITS + from) * UNITS + to;
}

/** Throws a RangeError for a number that `packPosition` does not return. */
export function unpackPosition(packed: number): TextPosition {
  // Also false for NaN.
  if (!(packed >= UNITS * UNITS)) throw new RangeError('not a position in a text');
  const to = packed % UNITS;
  const rest = (packed - to) / UNITS;
  const from = rest % UNITS;
  return { attempt: (rest - from) / UNITS, from, to };
}
