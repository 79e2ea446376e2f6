/** The samples of a server's profiler (servers/profiled.ts): the tree of calls, its root first. */
export type Profile = readonly CallNode[];

interface CallNode {
  readonly id: number;
  /** The address of the file; empty for code that is not JavaScript. */
  readonly url: string;
  readonly name: string;
  /** The number of samples that found this function itself running. */
  readonly samples: number;
  /** Ids of the functions that it called. */
  readonly children: readonly number[];
}

/** A part of a server: its name, and pieces of the paths of its files. */
export type Part = readonly [name: string, paths: readonly string[]];

export const COLLECTOR = 'garbage collector';
export const REST = 'event loop, uWS, kernel';

/**
 * Returns the share of the busy samples by part, the first that fits. Code of no part counts to its
 * caller: the system calls of a part, and its use of Node and of packages.
 */
export function sharesOf(profile: Profile, parts: readonly Part[]): Map<string, number> {
  const byId = new Map(profile.map((node) => [node.id, node]));
  const samples = new Map<string, number>();
  const partOf = (path: string) => parts.find(([, paths]) => paths.some((one) => path.includes(one)))?.[0];
  const visit = (node: CallNode, above: string) => {
    if (node.name === '(idle)') return;
    const own = node.name === '(garbage collector)' ? COLLECTOR : (partOf(node.url) ?? above);
    samples.set(own, (samples.get(own) ?? 0) + node.samples);
    for (const id of node.children) visit(byId.get(id)!, own);
  };
  visit(profile[0]!, REST);
  const total = [...samples.values()].reduce((sum, count) => sum + count, 0);
  return new Map([...samples].map(([part, count]) => [part, count / total]));
}
