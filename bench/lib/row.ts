import type { Comparison } from './pairs.ts';
import type { ProcessorTime } from './processor-time.ts';
import type { Spread } from './spread.ts';

/** One line of the table. */
export interface Row {
  readonly work: string;
  readonly ours: string;
  readonly control: string;
  /** Null without a comparison. */
  readonly ratio: Spread | null;
  /** The processor time of one operation; empty where there is no operation. */
  readonly processor: { readonly ours: ProcessorTime; readonly control: ProcessorTime };
  /** Null for rows that only inform. */
  readonly goal: Condition | null;
}

export interface Condition {
  readonly text: string;
  readonly met: boolean;
}

/** The conditions that a ratio, and other values measured with it, have to meet. */
export interface Goal {
  /** The least ratio that meets the goal. */
  readonly atLeast?: number | undefined;
  /** The greatest: of times and memory. */
  readonly atMost?: number | undefined;
  /** Further conditions. */
  readonly besides?: (comparison: Comparison) => readonly Condition[];
}

export function comparisonRow(work: string, comparison: Comparison, unit: string, goal: Goal = {}): Row {
  const { ours, control, ratio } = comparison;
  return {
    work,
    ours: `${count(ours.figure.median)} ${unit}`,
    control: `${count(control.figure.median)} ${unit} (${control.name})`,
    ratio,
    processor: { ours: ours.processor, control: control.processor },
    goal: all([...ratioConditions(ratio, goal), ...(goal.besides?.(comparison) ?? [])]),
  };
}

function ratioConditions({ median }: Spread, { atLeast, atMost }: Goal): Condition[] {
  return [
    ...(atLeast === undefined ? [] : [{ text: `≥ ${atLeast} ×`, met: median >= atLeast }]),
    ...(atMost === undefined ? [] : [{ text: `≤ ${atMost} ×`, met: median <= atMost }]),
  ];
}

/** Returns all conditions as one; null for none. */
export function all(conditions: readonly Condition[]): Condition | null {
  if (conditions.length === 0) return null;
  return {
    text: conditions.map(({ text }) => text).join(', '),
    met: conditions.every(({ met }) => met),
  };
}

/** Returns 12,345 or, below a hundred, two digits after the point. */
export function count(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 2 : 0 });
}
