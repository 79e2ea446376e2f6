import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../start/parley.ts';

/** The major version after the pinned one that is supported longest. */
export const NEXT_NODE = 24;
const EXACT = '24.21.0';

/** Returns the program of the next Node, or undefined. */
export function nextNode(): Promise<string | undefined> {
  return nodeOf(EXACT);
}

/**
 * Returns the program of a version, which is installed at first use: `npm ci` does not fetch these
 * 50 MB. Undefined if that is not possible.
 */
export async function nodeOf(version: string): Promise<string | undefined> {
  const place = join(ROOT, 'node_modules/.cache/parley', `node-${version}`);
  const name = `node-${process.platform}-${process.arch}`;
  const program = join(place, 'node_modules', name, 'bin/node');
  if (existsSync(program)) return program;
  mkdirSync(place, { recursive: true });
  const flags = [
    '--no-save',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--ignore-scripts',
    '--prefix',
    place,
  ];
  await promisify(execFile)('npm', ['install', ...flags, `${name}@${version}`], { cwd: place }).catch(
    () => undefined,
  );
  return existsSync(program) ? program : undefined;
}
