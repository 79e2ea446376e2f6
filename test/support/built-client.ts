import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/parley.ts';

/**
 * Returns the directory of the SDK's package, which `npm run build` made. Throws if that was before
 * a change of its sources: a test of an earlier build would prove nothing.
 */
export function builtClient(): string {
  const directory = join(ROOT, 'packages/client/npm');
  const built = statSync(join(directory, 'dist/served/client.tgz'), { throwIfNoEntry: false });
  const sources = globSync('{bin/build,packages/client,packages/protocol}/**/*.{ts,json}', { cwd: ROOT });
  const changed = sources.filter(
    (path) =>
      !path.includes('/client/npm/dist') && statSync(join(ROOT, path)).mtimeMs > (built?.mtimeMs ?? 0),
  );
  if (changed.length > 0) throw new Error(`npm run build was not run since ${changed[0]} changed`);
  return directory;
}
