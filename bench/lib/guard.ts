import type { Machine } from './result-file.ts';

/** One figure that the guard compares with a recorded one. */
export interface Watched {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** The change for the worse. */
  readonly worse: 'more' | 'less';
  /**
   * Whether it depends on the processor, so that it compares with figures of the same machine only.
   */
  readonly ofMachine: boolean;
  /** The greatest value, for a figure that moves too much to be compared with a recorded one. */
  readonly atMost?: number;
}

/** The content of `bench/results/guard.json`. */
export interface Recorded {
  readonly commit: string | null;
  readonly recorded_at: string;
  readonly machine: Machine;
  readonly figures: Readonly<Record<string, number>>;
}

export interface Verdict {
  readonly line: string;
  readonly warns: boolean;
}

/**
 * Compares each figure with the recorded one, or with its bound. Warns where it is worse by more
 * than `TOLERANCE`, or beyond the bound.
 */
export function judge(
  watched: readonly Watched[],
  recorded: Recorded | undefined,
  machine: Machine,
): Verdict[] {
  const sameMachine = recorded?.machine.cpu === machine.cpu && recorded.machine.cores === machine.cores;
  return watched.map(({ name, unit, value, worse, ofMachine, atMost }) => {
    const figure = `${name}: ${format(value)} ${unit}`;
    if (atMost !== undefined) {
      const warns = value > atMost;
      return { line: `${figure}, at most ${format(atMost)} ${unit}${warns ? ': WARNING' : ''}`, warns };
    }
    const before = recorded?.figures[name];
    if (before === undefined) return { line: `${figure}, not recorded`, warns: false };
    const was = `${format(before)} ${unit} recorded`;
    if (ofMachine && !sameMachine) return { line: `${figure}, ${was} on another machine`, warns: false };
    const change = value / before - 1;
    const percent = `${change < 0 ? '−' : '+'}${Math.abs(change * 100).toFixed(0)} %`;
    const warns = (worse === 'more' ? change : before / value - 1) > TOLERANCE;
    return { line: `${figure}, ${was} (${percent})${warns ? ': WARNING' : ''}`, warns };
  });
}

export const TOLERANCE = 0.2;

function format(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 });
}
