/** Makes the files that quick-start.js uses; npm runs it before the tests. */

import { globSync } from 'node:fs';
import { codeOf, ROOT } from './quick-start.js';

for (const path of globSync('{src,test,migrations}/**/*.ts', { cwd: ROOT })) codeOf(path);
// The files are written when this process ends. Errors are left to the tests to report.
await import('../../src/app/app.ts').catch(() => undefined);
process.exit();
