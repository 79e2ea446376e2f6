import type { Disposer } from '../../src/lifecycle.ts';
import type { Comparison, Spread } from './pairs.ts';

/** One of the works of bench/README.md (P1 … P12). */
export interface Work {
  /** As on the command line and in the results: `p2`. */
  readonly name: string;
  readonly title: string;
  /** Takes too long for a run that only looks whether something broke: runs there when it is named. */
  readonly fullOnly?: true;
  readonly run: (session: Session) => Promise<Findings>;
}

/** The dependencies that a work gets from the runner. */
export interface Session {
  /** Long blocks and many pairs, for figures that count; else whatever shows a change within a minute. */
  readonly full: boolean;
  /** Everything that a work starts is released through it, also when the run is interrupted. */
  readonly disposer: Disposer;
  /** Prints one line of progress. */
  readonly say: (line: string) => void;
}

export interface Findings {
  readonly rows: readonly Row[];
  /** Every comparison with every block, by the name of its row. */
  readonly comparisons: Readonly<Record<string, Comparison>>;
  /** Whatever else a reader needs to judge the figures: sizes, counts, settings. */
  readonly facts?: Readonly<Record<string, string | number>>;
}

/** One line of the table. */
export interface Row {
  readonly work: string;
  readonly ours: string;
  readonly control: string;
  /** Null if nothing is compared. */
  readonly ratio: Spread | null;
  /** Null: for information. */
  readonly goal: { readonly text: string; readonly met: boolean } | null;
}

/**
 * Number and length of blocks: two pairs of short ones show whether something broke, ten of long ones how fast it is.
 */
export function schedule(
  full: boolean,
  short: { pairs: number; blockMs: number },
): { pairs: number; blockMs: number; warmupMs: number } {
  return full
    ? { pairs: 10, blockMs: 6_000, warmupMs: 4_000 }
    : { ...short, warmupMs: Math.min(SHORT_WARMUP_MS, short.blockMs) };
}

const SHORT_WARMUP_MS = 1_000;

export interface ComparisonRow {
  readonly comparison: Comparison;
  readonly unit: string;
  /** The least ratio that meets the goal. */
  readonly atLeast?: number | undefined;
  /** The greatest: of times and memory. */
  readonly atMost?: number | undefined;
  /** A further condition of the goal, and whether it is met. */
  readonly besides?: { readonly text: string; readonly met: boolean } | undefined;
}

export function comparisonRow(work: string, options: ComparisonRow): Row {
  const { comparison, unit, atLeast, atMost, besides } = options;
  const { ours, control, ratio } = comparison;
  const texts = [
    atLeast === undefined ? undefined : `≥ ${atLeast} ×`,
    atMost === undefined ? undefined : `≤ ${atMost} ×`,
    besides?.text,
  ].filter((text) => text !== undefined);
  const within = ratio.median >= (atLeast ?? 0) && ratio.median <= (atMost ?? Number.POSITIVE_INFINITY);
  return {
    work,
    ours: `${count(ours.figure.median)} ${unit}`,
    control: `${count(control.figure.median)} ${unit} (${control.name})`,
    ratio,
    goal: texts.length === 0 ? null : { text: texts.join(', '), met: within && besides?.met !== false },
  };
}

/** 12,345 or, below a hundred, two digits after the point. */
export function count(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 2 : 0 });
}
