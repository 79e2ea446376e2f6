import type { Disposer } from '../../src/platform/lifecycle.ts';
import type { Bars } from './bars.ts';
import type { Curves } from './curves.ts';
import type { Comparison, Timing } from './pairs.ts';
import type { Row } from './row.ts';

/** One of the works of bench/README.md (P1 … P14). */
export interface Work {
  /** The name on the command line and in the results: `p2`. */
  readonly name: string;
  readonly title: string;
  /** Whether it takes too long for a run that only looks for breakage, unless it is named. */
  readonly fullOnly?: true;
  /** Starts its servers and measures its parts, one after the other. */
  readonly run: (session: Session) => Promise<void>;
}

/** The dependencies that a work gets from the runner. */
export interface Session {
  /** The scale by which a work chooses its sizes. A short run leaves out some of the parts. */
  readonly scale: Scale;
  readonly timing: Timing;
  /** Everything that a work starts is released through it, also when the run is interrupted. */
  readonly disposer: Disposer;
  /** Prints one line of progress. */
  readonly say: (line: string) => void;
  /**
   * Measures one part, unless a full run of the same checkout that was interrupted has measured it.
   */
  readonly part: (name: string, measure: () => Promise<Findings>) => Promise<Findings>;
}

/** The results of a part, or of all parts of a work. */
export interface Findings {
  readonly rows: readonly Row[];
  /** Every comparison with every block, by the name of its row. */
  readonly comparisons?: Readonly<Record<string, Comparison>>;
  /** Further values that a reader needs to judge the figures: sizes, counts, settings. */
  readonly facts?: Facts;
  /** The drawings of `npm run bench -- plot`, by the name of the picture. */
  readonly curves?: Readonly<Record<string, Curves>>;
  readonly bars?: Readonly<Record<string, Bars>>;
}

export type Facts = Readonly<Record<string, string | number>>;

/**
 * Ten pairs of long blocks show how fast it is, three of short ones whether something broke, and
 * one pair of a fraction of a second whether it runs at all (test/long/bench/).
 */
export const TIMINGS = {
  full: { pairs: 10, blockMs: 6_000, warmupMs: 4_000 },
  short: { pairs: 3, blockMs: 2_000, warmupMs: 500 },
  brief: { pairs: 1, blockMs: 300, warmupMs: 100 },
} as const satisfies Readonly<Record<string, Timing>>;

export type Scale = keyof typeof TIMINGS;
