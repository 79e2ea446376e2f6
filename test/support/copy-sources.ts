import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/parley.ts';

/**
 * Copies files and folders of this checkout, by their paths in it, without built folders: another
 * test may build them meanwhile, in folders that it renames. A folder that vanishes under `cpSync`
 * without a filter ends the process (nodejs/node#63970). A built folder is copied if it is named
 * itself.
 */
export function copySources(
  paths: readonly string[],
  directory: string,
  isCopied: (path: string) => boolean = () => true,
): void {
  for (const path of paths) {
    const from = join(ROOT, path);
    const filter = (it: string) => it === from || (!BUILT.test(it) && isCopied(it));
    cpSync(from, join(directory, path), { recursive: true, filter });
  }
}

/** Matches the last part of their paths, with a number behind the name during a build. */
const BUILT = /\/dist(-\w+)?$/;
