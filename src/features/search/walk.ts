import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FoundBlock } from './find-blocks.ts';
import type { Period } from './scope.ts';

/** What was found, before it is ranked. */
export interface Hit<Item, M> {
  readonly item: Item;
  readonly match: M;
}

export interface Window<Item, M> {
  /** All hits of this period. */
  readonly period: Period;
  readonly hits: readonly Hit<Item, M>[];
}

export interface WalkOptions<Item extends Timed, M> {
  /**
   * The next blocks behind one that have something of the period, the newest first; fewer than
   * `limit` are the last.
   */
  readonly readBlocks: (
    after: FoundBlock | undefined,
    limit: number,
    period: Period,
  ) => Promise<readonly FoundBlock[]>;
  /** What of the period is in these blocks. */
  readonly readItems: (period: Period, blocks: readonly FoundBlock[]) => Promise<readonly Item[]>;
  /** What of the period may be in no block. */
  readonly readRecent: (period: Period) => Promise<readonly Item[]>;
  readonly match: (item: Item) => M | undefined;
  /** Milliseconds of `performance.now()` after which the walk gives up. */
  readonly deadlineMs: number;
}

/** What has a place in the order. */
export interface Timed {
  readonly id: string;
  readonly at: string;
}

/** The walk has looked at too much. */
export class WalkTooLongError extends Error {
  override readonly name = 'WalkTooLongError';
}

/**
 * Reads the hits of a period, the newest first, until there are `enough`: the period of the result
 * is then shorter. Its bounds are times of hits, not of blocks, so that a hit which moves from the
 * recent ones into a block, or from one block into another, stays where it was. Throws
 * WalkTooLongError.
 */
export async function readWindow<Item extends Timed, M>(
  { readBlocks, readItems, readRecent, match, deadlineMs }: WalkOptions<Item, M>,
  period: Period,
  enough: number,
): Promise<Window<Item, M>> {
  const hits = new Map<string, Hit<Item, M>>();
  const compare = async (items: readonly Item[]): Promise<void> => {
    let pausedMs = performance.now();
    for (const item of items) {
      const found = match(item);
      if (found !== undefined) hits.set(item.id, { item, match: found });
      if (performance.now() - pausedMs < TURN_MS) continue;
      await nextTurn();
      pausedMs = performance.now();
      if (pausedMs > deadlineMs) throw new WalkTooLongError();
    }
  };
  // Before the blocks: what is indexed in between is in both, and not in neither.
  await compare(await readRecent(period));
  // Blocks with something that is older than what was read.
  let open: readonly FoundBlock[] = [];
  let upper = period.upper;
  let after: FoundBlock | undefined;
  let limit = FIRST_BLOCKS;
  for (;;) {
    const blocks = await readBlocks(after, limit, period);
    after = blocks.at(-1);
    const isLast = blocks.length < limit;
    // Blocks that are still unread end at `lower` at the latest.
    const lower = isLast ? period.lower : after!.to_at;
    open = [...open, ...blocks];
    // Blocks of many conversations end at about the same time: of each, only what is between the
    // two times is read.
    if (lower < upper) {
      await compare(await readItems({ upper, lower }, open));
      open = open.filter(({ from_at }) => from_at <= lower);
      upper = lower;
    }
    const complete = [...hits.values()].filter(({ item }) => item.at > lower);
    if (isLast || (lower < period.upper && complete.length >= enough)) {
      return { period: { upper: period.upper, lower }, hits: complete };
    }
    if (performance.now() > deadlineMs) throw new WalkTooLongError();
    limit = Math.min(limit * GROWTH, MOST_BLOCKS);
  }
}

const FIRST_BLOCKS = 32;
const GROWTH = 4;
const MOST_BLOCKS = 1_024;
/** For this long the comparison may keep other requests waiting. */
const TURN_MS = 5;
