import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../start/parley.ts';

/** Returns the directory of the SDK's package, which `npm run build` made. Throws like `built`. */
export function builtClient(): string {
  return built('packages/client', 'served/client.tgz');
}

/** Returns the directory of the package that converts archives. Throws like `built`. */
export function builtArchives(): string {
  return built('packages/archives', 'parley-archives.js');
}

/**
 * Returns the directory that users install of one of our packages. Throws if it was built before a
 * change of its sources: a test of an earlier build would prove nothing.
 */
function built(sourcesOf: string, file: string): string {
  const directory = join(ROOT, sourcesOf, 'npm');
  const made = statSync(join(directory, 'dist', file), { throwIfNoEntry: false });
  const sources = globSync(`{bin/build,${sourcesOf},packages/protocol}/**/*.{ts,json}`, { cwd: ROOT });
  const changed = sources.filter(
    (path) => !path.includes('/npm/dist') && statSync(join(ROOT, path)).mtimeMs > (made?.mtimeMs ?? 0),
  );
  if (changed.length > 0) throw new Error(`npm run build was not run since ${changed[0]} changed`);
  return directory;
}
