/** Makes what quick-start.js takes; npm runs it in front of the tests. */

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
// What V8 compiles of it is kept when this process ends. If there is something wrong with it, the tests say what.
await import('../../src/app/app.ts').catch(() => undefined);
process.exit();
