import { type Block, compareRounds, type Side, type Timing } from './pairs.ts';
import { comparisonRow, count, type Goal } from './row.ts';
import type { Facts, Findings, Session } from './work.ts';

export interface ComparedOptions {
  /** The unit of the figures: `/s`. */
  readonly unit: string;
  readonly ours: Side;
  readonly against: readonly Against[];
  /** Brings all sides to the same start, untimed, before each block. */
  readonly before?: () => Promise<void>;
  readonly facts?: Facts;
  /** Default: the session's. */
  readonly timing?: Timing;
}

/** A control, and the row that compares with it. */
interface Against extends Goal {
  readonly work: string;
  readonly control: Side;
}

/** Compares one side with one or several controls in the same rounds, in a row for each control. */
export async function compareWith(session: Session, options: ComparedOptions): Promise<Findings> {
  const { unit, ours, against, before, facts = {}, timing = session.timing } = options;
  const comparisons = await compareRounds({
    ours,
    controls: against.map(({ control }) => control),
    onBlock: (side, { figure }: Block) => session.say(`  ${side}: ${count(figure)} ${unit}`),
    ...(before === undefined ? {} : { before }),
    ...timing,
  });
  const rows = against.map((goal, index) => comparisonRow(goal.work, comparisons[index]!, unit, goal));
  return {
    rows,
    comparisons: Object.fromEntries(against.map(({ work }, index) => [work, comparisons[index]!])),
    facts,
  };
}
