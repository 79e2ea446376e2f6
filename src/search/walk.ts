import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockKey, BlocksRead } from './find-store.ts';
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
  /** The next blocks behind one, the newest first; fewer than `limit` are the last. */
  readonly readBlocks: (
    after: BlockKey | undefined,
    limit: number,
    period: Period,
  ) => Promise<BlocksRead<Item>>;
  /** What no block may have. */
  readonly readRecent: (period: Period) => Promise<readonly Item[]>;
  readonly match: (item: Item) => M | undefined;
  /** Milliseconds of `performance.now()` after which the walk gives up. */
  readonly deadlineMs: number;
}

interface Timed {
  readonly id: string;
  readonly at: string;
}

/** The walk has looked at too much. */
export class WalkTooLongError extends Error {}

/**
 * Reads the hits of a period, the newest first, until there are `enough`: the period of the result is then shorter. Its
 * bounds are times of hits, not of blocks, so that a hit which moves from the recent ones into a block, or from one block
 * into another, stays where it was. Throws WalkTooLongError.
 */
export async function readWindow<Item extends Timed, M>(
  { readBlocks, readRecent, match, deadlineMs }: WalkOptions<Item, M>,
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
  let after: BlockKey | undefined;
  let limit = FIRST_BLOCKS;
  for (;;) {
    const { items, blocks, last } = await readBlocks(after, limit, period);
    await compare(items);
    const lower = blocks < limit ? period.lower : last!.to_at;
    // Blocks that are still unread end at `lower` at the latest.
    const complete = [...hits.values()].filter(({ item }) => item.at > lower);
    const isShorter = lower < period.upper;
    if (blocks < limit || (isShorter && complete.length >= enough)) {
      return { period: { upper: period.upper, lower }, hits: complete };
    }
    if (performance.now() > deadlineMs) throw new WalkTooLongError();
    after = last;
    limit = Math.min(limit * 2, MOST_BLOCKS);
  }
}

const FIRST_BLOCKS = 32;
const MOST_BLOCKS = 256;
/** For this long the comparison may keep other requests waiting. */
const TURN_MS = 5;
