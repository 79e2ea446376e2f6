import type { ProcessorTime } from './processor-time.ts';
import { type Spread, spreadOf } from './spread.ts';

/** The results of one block of a work. */
export interface Block {
  /** Work done a second: more is better, unless the work measures a time. */
  readonly figure: number;
  /** The number of sends, pages, deliveries … that were done. */
  readonly operations?: number;
  readonly processor?: ProcessorTime;
  /** Further values of the block, by a name with its unit. */
  readonly notes?: Readonly<Record<string, number>>;
}

/** One of the sides of a comparison. */
export interface Side {
  readonly name: string;
  /**
   * Does the work for `blockMs`; throws if the work was not done properly, since it then has no
   * figure.
   */
  readonly run: (blockMs: number) => Promise<Block>;
}

/** Number and length of the blocks. */
export interface Timing {
  readonly pairs: number;
  readonly blockMs: number;
  /** One block of each side before the first pair, thrown away. */
  readonly warmupMs: number;
}

export interface RoundsOptions extends Timing {
  readonly ours: Side;
  readonly controls: readonly Side[];
  /** Brings all sides to the same start, untimed, before each block. */
  readonly before?: () => Promise<void>;
  readonly onBlock?: (side: string, block: Block) => void;
}

export interface PairsOptions extends Omit<RoundsOptions, 'controls'> {
  readonly control: Side;
}

export interface Comparison {
  readonly ours: Measured;
  readonly control: Measured;
  readonly ratio: Spread;
}

export interface Measured {
  readonly name: string;
  readonly figure: Spread;
  /** Medians of the blocks. */
  readonly processor: ProcessorTime;
  readonly blocks: readonly Block[];
}

/**
 * Runs all sides in blocks in the order A B B A A B B A … (A B C C B A … with two controls), so
 * that drifts of the machine meet them alike. Compares within each round, whose blocks ran next to
 * each other. Returns the comparisons in the order of the controls.
 */
export async function compareRounds(options: RoundsOptions): Promise<Comparison[]> {
  const { ours, controls, pairs, blockMs, warmupMs, before, onBlock } = options;
  const sides = [ours, ...controls].map((side) => ({ side, blocks: [] as Block[] }));
  for (const { side } of sides) {
    await before?.();
    await side.run(warmupMs);
  }
  for (let round = 0; round < pairs; round++) {
    for (const { side, blocks } of round % 2 === 0 ? sides : sides.toReversed()) {
      await before?.();
      const block = await side.run(blockMs);
      blocks.push(block);
      onBlock?.(side.name, block);
    }
  }
  const [first, ...others] = sides.map(({ side, blocks }) => ({ name: side.name, blocks }));
  return others.map((control) => compareBlocks(first!, control));
}

export async function comparePairs({ control, ...options }: PairsOptions): Promise<Comparison> {
  const [comparison] = await compareRounds({ ...options, controls: [control] });
  return comparison!;
}

interface SideBlocks {
  readonly name: string;
  readonly blocks: readonly Block[];
}

/** Compares block by block, as many of either side, for works that measure both in one window. */
export function compareBlocks(ours: SideBlocks, control: SideBlocks): Comparison {
  const ratios = ours.blocks.map(({ figure }, index) => figure / control.blocks[index]!.figure);
  return {
    ours: measured(ours),
    control: measured(control),
    ratio: spreadOf(ratios),
  };
}

/** Compares another value of the same blocks, which `pick` finds in each. */
export function compareBy(comparison: Comparison, pick: (block: Block) => number): Comparison {
  const picked = ({ name, blocks }: Measured) => ({
    name,
    blocks: blocks.map((block) => ({ ...block, figure: pick(block) })),
  });
  return compareBlocks(picked(comparison.ours), picked(comparison.control));
}

function measured({ name, blocks }: SideBlocks): Measured {
  const figure = spreadOf(blocks.map((block) => block.figure));
  return { name, figure, processor: medianTimes(blocks), blocks };
}

const PARTS = ['node', 'postgres', 'generator'] as const;

function medianTimes(blocks: readonly Block[]): ProcessorTime {
  const medians = PARTS.flatMap((part) => {
    const values = blocks.flatMap(({ processor }) => processor?.[part] ?? []);
    return values.length === 0 ? [] : [[part, spreadOf(values).median]];
  });
  return Object.fromEntries(medians);
}
