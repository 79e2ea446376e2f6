import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freshDirectory, ROOT } from '../start/parley.ts';
import { linkModules } from './link-modules.ts';
import { identityOf, isForNode, lockedPackages } from './lock-file.ts';
import type { Teardown } from './teardown.ts';

/** The code of an earlier commit of this repository, which can run beside today's code. */
export interface EarlierCheckout {
  readonly root: string;
  /** Starts a node of that commit. */
  readonly command: readonly [file: string, ...args: string[]];
}

/**
 * Extracts a commit into a directory of this test, with today's dependencies if those of a node are
 * the same: its dependencies for development are not needed. A clone without the commit fails the
 * test: skipped, it would be missed by everyone whose checks clone shallowly.
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
  const today = lockedPackages(ROOT);
  const needed = Object.entries(lockedPackages(root)).filter(
    ([path, it]) => path.startsWith('node_modules/') && !it.link && isForNode(it),
  );
  if (needed.every(([path, it]) => identityOf(today[path]) === identityOf(it))) {
    linkModules(root);
  } else await run('npm', ['ci', '--omit=dev'], { cwd: root });
  return { root, command: [process.execPath, join(root, 'bin/parley.cjs'), 'start'] };
}

const run = promisify(execFile);
