import { LinkHistory } from './link-history.ts';
import type { LinkWatch } from './link-watch.ts';
import { readNamedTable } from './named-table.ts';

/** The result of many histories. */
export interface Histories {
  readonly problems: string[];
  /** Events that the clients' links noticed. */
  readonly events: number;
  /** Cells that are said to be unreachable, and were reached. */
  readonly reached: readonly string[];
  /** Cells that were not reached, though nothing says that they cannot be. */
  readonly unreached: readonly string[];
}

/** Runs the histories of seeds one after another, until there are so many problems. */
export async function runHistories(
  watch: LinkWatch,
  { first, count, mostProblems = 10 }: { first: number; count: number; mostProblems?: number },
): Promise<Histories> {
  const problems: string[] = [];
  for (let seed = first; seed < first + count && problems.length < mostProblems; seed++) {
    const [problem] = (await new LinkHistory(seed, watch).run()).problems;
    if (problem !== undefined) problems.push(`seed ${seed}: ${problem}`);
  }
  const { states, events, others, cells } = readNamedTable();
  const unreachable = new Set(others.map(({ name }) => name).filter((name) => name !== 'KEEPS'));
  const all = cells.flatMap((row, state) =>
    row.map((cell, event) => ({
      name: `${states[state]?.name} × ${events[event]?.name}: ${cell}`,
      isUnreachable: unreachable.has(cell),
      count: watch.counts[state]?.[event] ?? 0,
    })),
  );
  return {
    problems,
    events: all.reduce((sum, cell) => sum + cell.count, 0),
    reached: all.filter((one) => one.isUnreachable && one.count > 0).map(({ name }) => name),
    unreached: all.filter((one) => !one.isUnreachable && one.count === 0).map(({ name }) => name),
  };
}
