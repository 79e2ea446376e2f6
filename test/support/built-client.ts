import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/parley.ts';

/**
 * Returns the directory of the SDK's package, which `npm run build` made. Throws if that was before
 * a change of its sources: a test of an earlier build would prove nothing.
 */
export function builtClient(): string {
  const directory = join(ROOT, 'src/contract/client');
  const built = statSync(join(directory, 'dist/served/client.tgz'), { throwIfNoEntry: false });
  const sources = globSync('{bin/build,src/contract}/**/*.{ts,json}', { cwd: ROOT });
  const changed = sources.filter(
    (path) => !path.includes('/client/dist') && statSync(join(ROOT, path)).mtimeMs > (built?.mtimeMs ?? 0),
  );
  if (changed.length > 0) throw new Error(`npm run build was not run since ${changed[0]} changed`);
  return directory;
}
