import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Teardown } from '../support/teardown.ts';
import { freshDirectory, ROOT } from './parley.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Who a test that runs as root stands in for an ordinary user with. */
export const NOBODY: Owner = { uid: 65_534, gid: 65_534 };
export const isRoot = process.getuid?.() === 0;

/**
 * What `npm start` needs of this checkout, in a directory of its own: for its owner alone (0700), or with
 * `owner` that user's. Linked rather than copied where the file system allows it: node_modules is large.
 */
export function copyCheckout(t: Teardown, owner?: Owner): string {
  const directory = freshDirectory(t);
  const parts = ['package.json', 'bin', 'src', 'examples', 'migrations', 'node_modules/.bin', ...packages()];
  for (const [parent, paths] of Map.groupBy(parts, dirname)) {
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

/** Those that are installed for more than development, each with what is nested in it. */
function packages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  return Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => NOT_NESTED.test(path) && !dev && !devOptional)
    .map(([path]) => path)
    .filter((path) => existsSync(join(ROOT, path)));
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly devOptional?: boolean }>>;
}

const NOT_NESTED = /^node_modules\/(?!.*\/node_modules\/)/;
