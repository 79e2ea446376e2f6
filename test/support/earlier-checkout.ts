import { execFile } from 'node:child_process';
import { readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freshDirectory, ROOT } from '../start/parley.ts';
import type { Teardown } from './teardown.ts';

/** The code of an earlier commit of this repository, which can be run beside that of today. */
export interface EarlierCheckout {
  readonly root: string;
  /** Starts a node of it. */
  readonly command: readonly [file: string, ...args: string[]];
}

/**
 * Extracts a commit into a directory of this test, with today's dependencies if those of a node are
 * the same: what was for development then is not needed.
 * A clone without the commit fails the test: skipped, it would be missed by everyone whose checks
 * clone shallowly.
 */
export async function checkOutEarlier(t: Teardown, commit: string): Promise<EarlierCheckout> {
  await run('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).catch((cause) => {
    throw new Error(
      `this test runs the code of commit ${commit}, which is not in ${ROOT}: it needs a git clone with the whole ` +
        'history (git fetch --unshallow)',
      { cause },
    );
  });
  const root = freshDirectory(t);
  // By way of a file: tar stops reading at the end mark, and what git still writes behind it to a
  // pipe then fails.
  const archive = join(freshDirectory(t), 'commit.tar');
  await run('git', ['archive', '--format=tar', `--output=${archive}`, commit], { cwd: ROOT });
  await run('tar', ['-x', '-f', archive, '-C', root]);
  const today = packagesOf(ROOT);
  const needed = Object.entries(packagesOf(root)).filter(([path, it]) => isOfNode(path, it));
  if (needed.every(([path, it]) => identityOf(today[path]) === identityOf(it))) {
    symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(root, 'node_modules'));
  } else await run('npm', ['ci', '--omit=dev'], { cwd: root });
  return { root, command: [process.execPath, join(root, 'bin/parley.cjs'), 'start'] };
}

const run = promisify(execFile);

type Packages = Readonly<Record<string, Package>>;

interface Package {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/** Returns what a lock file holds, by path. */
function packagesOf(directory: string): Packages {
  return JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8')).packages;
}

/** The packages of the registry that are not installed for development alone. */
function isOfNode(path: string, { link, dev, devOptional }: Package): boolean {
  return path.startsWith('node_modules/') && !link && !dev && !devOptional;
}

function identityOf({ version, integrity }: Package = {}): string {
  return `${version} ${integrity}`;
}
