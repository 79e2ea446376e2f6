/**
 * Loaded before each test file (quick-tap.js) and into the servers that tests start
 * (start/parley.ts), which spend much of their processor time on loading modules. It does for them
 * what bin/quick-load.cjs does for `npm start`, with the files that `npm test` makes first
 * (prepare-start.js).
 *
 * Not in TypeScript itself: Node would load its compiler for this one file.
 */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadQuickly } from '../../bin/quick-load.cjs';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Returns a source without its types, by its path in the checkout; prepare-start.js reads all
 * sources.
 */
export const codeOf = loadQuickly(join(ROOT, '.tap/quick'));
