/**
 * Where a piece stands in a text that is being written, in UTF-16 units: it says `from` to `to` of the writer's
 * `attempt` (from 1). A reset to `keep` is from and to `keep`; a snapshot is from 0. Frames carry it as one number
 * in their header, so that nodes order and drop pieces without reading them.
 */
export interface StreamPlace {
  readonly attempt: number;
  readonly from: number;
  readonly to: number;
}

/** Texts end far below 2^17 units, attempts below 2^19: together exact in a double. */
const UNITS = 2 ** 17;

/** Never 0, which is what other ephemeral frames have. Throws a RangeError for what does not fit. */
export function packPlace({ attempt, from, to }: StreamPlace): number {
  if (attempt < 1 || attempt >= 2 ** 19 || from < 0 || from > to || to >= UNITS) {
    throw new RangeError('not a place in a text');
  }
  return (attempt * UNITS + from) * UNITS + to;
}

/** Undefined where the frame is no piece of a text. */
export function unpackPlace(packed: number): StreamPlace | undefined {
  if (packed < UNITS * UNITS) return undefined;
  const to = packed % UNITS;
  const rest = (packed - to) / UNITS;
  const from = rest % UNITS;
  return { attempt: (rest - from) / UNITS, from, to };
}
