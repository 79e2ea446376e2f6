import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isForNode, lockedPackages } from '../support/lock-file.ts';
import type { Teardown } from '../support/teardown.ts';
import { freshDirectory, ROOT } from './parley.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The user as which a test that runs as root acts for an ordinary user. */
export const UNPRIVILEGED: Owner = { uid: 65_534, gid: 65_534 };
export const isRoot = process.getuid?.() === 0;

/**
 * Copies the files of this checkout that `npm start` needs to a separate directory: accessible only
 * to its owner (0700), or with `owner` owned by that user. `parts`: what is copied beside the
 * packages that are installed for more than development. Files are linked if the file system allows
 * it: node_modules is large.
 */
export function copyCheckout(t: Teardown, owner?: Owner, parts: readonly string[] = PARTS): string {
  const directory = freshDirectory(t);
  for (const [parent, paths] of Map.groupBy([...parts, ...packages()], dirname)) {
    const target = join(directory, parent);
    mkdirSync(target, { recursive: true });
    const sources = paths.map((path) => join(ROOT, path));
    try {
      execFileSync('cp', ['-al', ...sources, target], { stdio: 'ignore' });
    } catch {
      execFileSync('cp', ['-a', ...sources, target]);
    }
  }
  if (owner !== undefined) {
    chownSync(directory, owner.uid, owner.gid);
    chmodSync(directory, 0o755);
  }
  return directory;
}

const PARTS = ['package.json', 'bin', 'packages', 'src', 'examples', 'migrations', 'node_modules/.bin'];

/** Those that are installed for more than development, each with what is nested in it. */
function packages(): string[] {
  return Object.entries(lockedPackages(ROOT))
    .filter(([path, it]) => NOT_NESTED.test(path) && isForNode(it))
    .map(([path]) => path)
    .filter((path) => existsSync(join(ROOT, path)));
}

const NOT_NESTED = /^node_modules\/(?!.*\/node_modules\/)/;
