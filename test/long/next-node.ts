import { installedProgram } from './installed-program.ts';

/** The major version after the pinned one with the longest support. */
export const NEXT_NODE = 24;
const EXACT = '24.21.0';

/** Returns the program of the next Node, or undefined. */
export function nextNode(): Promise<string | undefined> {
  return nodeOf(EXACT);
}

/** Returns the program of a version, or undefined. It takes 50 MB. */
export function nodeOf(version: string): Promise<string | undefined> {
  const name = `node-${process.platform}-${process.arch}`;
  return installedProgram(name, version, `${name}/bin/node`);
}
