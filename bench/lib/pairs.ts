/** The results of one block of a work. */
export interface Block {
  /** Work done a second: more is better, unless the work measures a time. */
  readonly figure: number;
  /** Whatever else the block saw, by a name with its unit. */
  readonly notes?: Readonly<Record<string, number>>;
}

/** One of the two sides of a comparison. */
export interface Side {
  readonly name: string;
  /** Does the work for `blockMs`; throws when the work was not done properly, for then there is no figure. */
  readonly run: (blockMs: number) => Promise<Block>;
}

export interface PairsOptions {
  readonly ours: Side;
  readonly control: Side;
  readonly pairs: number;
  readonly blockMs: number;
  /** One block of each side before the first pair, thrown away. */
  readonly warmupMs: number;
  /** Brings both sides to the same start, untimed, before each block. */
  readonly before?: () => Promise<void>;
  readonly onBlock?: (side: string, block: Block) => void;
}

export interface Comparison {
  readonly ours: Measured;
  readonly control: Measured;
  readonly ratio: Spread;
}

export interface Measured {
  readonly name: string;
  readonly figure: Spread;
  readonly blocks: readonly Block[];
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/**
 * Runs both sides in blocks in the order A B B A A B B A …, so that what drifts on the machine meets both alike,
 * and compares within each pair: blocks that ran next to each other.
 */
export async function comparePairs(options: PairsOptions): Promise<Comparison> {
  const { ours, control, pairs, blockMs, warmupMs, before, onBlock } = options;
  const blocks = { ours: [] as Block[], control: [] as Block[] };
  const run = async (which: 'ours' | 'control') => {
    await before?.();
    const block = await options[which].run(blockMs);
    blocks[which].push(block);
    onBlock?.(options[which].name, block);
  };
  for (const side of [ours, control]) {
    await before?.();
    await side.run(warmupMs);
  }
  for (let pair = 0; pair < pairs; pair++) {
    const order = pair % 2 === 0 ? (['ours', 'control'] as const) : (['control', 'ours'] as const);
    for (const which of order) await run(which);
  }
  return compareBlocks(
    { name: ours.name, blocks: blocks.ours },
    { name: control.name, blocks: blocks.control },
  );
}

interface SideBlocks {
  readonly name: string;
  readonly blocks: readonly Block[];
}

/** Block by block, as many of the one as of the other: for works that measure both sides in one window. */
export function compareBlocks(ours: SideBlocks, control: SideBlocks): Comparison {
  const ratios = ours.blocks.map(({ figure }, index) => figure / control.blocks[index]!.figure);
  return {
    ours: measured(ours.name, ours.blocks),
    control: measured(control.name, control.blocks),
    ratio: spreadOf(ratios),
  };
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

function measured(name: string, blocks: readonly Block[]): Measured {
  return { name, figure: spreadOf(blocks.map(({ figure }) => figure)), blocks };
}
