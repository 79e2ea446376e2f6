/**
 * Loaded in front of each test file (quick-tap.js) and of the servers that tests start (start/parley.ts), which
 * spend much of their processor time on loading modules. It takes a third off that: sources come without their types,
 * and with what V8 has compiled of them, from where `npm test` puts them first (prepare-start.js). What has changed
 * since then is loaded as ever.
 *
 * No TypeScript itself: Node would load its compiler for this one file.
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

/** Where a source is without its types. */
export function strippedPath(source) {
  return join(STRIPPED, `${createHash('sha1').update(source).digest('hex')}.js`);
}
