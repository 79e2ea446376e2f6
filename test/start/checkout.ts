import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { join } from 'node:path';
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
  const parts = ['node_modules', 'package.json', 'src', 'migrations'].map((name) => join(ROOT, name));
  try {
    execFileSync('cp', ['-al', ...parts, directory], { stdio: 'ignore' });
  } catch {
    execFileSync('cp', ['-a', ...parts, directory]);
  }
  if (owner !== undefined) {
    chownSync(directory, owner.uid, owner.gid);
    chmodSync(directory, 0o755);
  }
  return directory;
}
