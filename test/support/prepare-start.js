/** Makes the files that quick-start.js uses; npm runs it before the tests. */

import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { ROOT, STRIPPED, strippedPath } from './quick-start.js';

rmSync(STRIPPED, { recursive: true, force: true });
mkdirSync(STRIPPED, { recursive: true });
for (const path of globSync('{src,test,migrations}/**/*.ts', { cwd: ROOT })) {
  const source = readFileSync(join(ROOT, path), 'utf8');
  writeFileSync(strippedPath(source), stripTypeScriptTypes(source));
}
// V8's compiled code is stored when this process ends. Errors are left to the tests to report.
await import('../../src/app/app.ts').catch(() => undefined);
process.exit();
