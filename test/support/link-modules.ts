import { globSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from '../start/parley.ts';

/**
 * Gives a copy of the sources, of today or of an earlier commit, the installed packages of this
 * checkout, except our own in packages/: through a link to the whole node_modules it would run the
 * packages of this checkout.
 */
export function linkModules(directory: string): void {
  const installed = realpathSync(join(ROOT, 'node_modules'));
  const target = join(directory, 'node_modules');
  mkdirSync(join(target, '@parley'), { recursive: true });
  for (const name of readdirSync(installed)) {
    if (name !== '@parley') symlinkSync(join(installed, name), join(target, name));
  }
  for (const path of globSync(join(directory, 'packages/*'))) {
    symlinkSync(path, join(target, '@parley', basename(path)));
  }
}
