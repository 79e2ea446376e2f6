import {
  FIGURES_KEPT_S,
  type InstallationNode,
  type NodeFigures,
} from '@parley/protocol/resources/installation.ts';

/**
 * Adds an answer to the known nodes, each with its figures of the last ten minutes. Answers
 * overlap, and may come from different nodes, of which one may lack figures of another. Nodes that
 * are not in the answer have ended.
 */
export function withAnswer(
  known: readonly InstallationNode[],
  answer: readonly InstallationNode[],
): readonly InstallationNode[] {
  return answer.map((node) => {
    const before = known.find(({ id }) => id === node.id)?.figures ?? [];
    return { ...node, figures: union(before, node.figures) };
  });
}

/** Returns for how many seconds to ask, so that answers overlap. `sinceMs`: age of the last one. */
export function secondsToAsk(sinceMs: number): number {
  return Math.min(FIGURES_KEPT_S, Math.ceil(sinceMs / 1_000) + OVERLAP_S);
}

/** Returns the last figures of a node, or undefined before there are any. */
export function latest({ figures }: InstallationNode): NodeFigures | undefined {
  return figures.at(-1);
}

/** Returns seconds since 1970. */
export function secondsOf(at: string): number {
  return Date.parse(at) / 1_000;
}

/** Nodes take figures every two seconds, and tell them a moment later. */
const OVERLAP_S = 6;

function union(before: readonly NodeFigures[], more: readonly NodeFigures[]): NodeFigures[] {
  const byTime = new Map([...before, ...more].map((figures) => [figures.at, figures]));
  const all = [...byTime.values()].sort((a, b) => secondsOf(a.at) - secondsOf(b.at));
  const last = all.at(-1);
  if (last === undefined) return all;
  const oldest = secondsOf(last.at) - FIGURES_KEPT_S;
  return all.filter(({ at }) => secondsOf(at) >= oldest);
}
