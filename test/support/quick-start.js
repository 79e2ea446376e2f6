/**
 * Loaded before each test file (quick-tap.js) and into the servers that tests start (start/parley.ts), which spend
 * much of their processor time on loading modules. It saves a third of that: sources come with their types removed,
 * and with the code that V8 has compiled for them, from the directory that `npm test` fills first (prepare-start.js).
 * Files that have changed since then are loaded as usual.
 *
 * Not in TypeScript itself: Node would load its compiler for this one file.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const STRIPPED = join(ROOT, '.tap/stripped');
const COMPILED = join(ROOT, '.tap/compiled');
const OURS = new URL('../../', import.meta.url).href;

module.enableCompileCache(COMPILED);
module.registerHooks({
  load(url, context, next) {
    if (!url.endsWith('.ts') || !url.startsWith(OURS)) return next(url, context);
    try {
      const stripped = strippedPath(readFileSync(fileURLToPath(url)));
      return { format: 'module', source: readFileSync(stripped), shortCircuit: true };
    } catch {
      return next(url, context);
    }
  },
});

/** Returns the path of a source without its types. */
export function strippedPath(source) {
  return join(STRIPPED, `${createHash('sha1').update(source).digest('hex')}.js`);
}
