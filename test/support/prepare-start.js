/** Makes the ground of the tests: tap with its plugins, and the files that quick-start.js uses. */

import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, ROOT } from './quick-start.js';

const { tap, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const plugins = JSON.stringify([devDependencies.tap, tap.plugin]);
/** This file names the plugins that tap was built with. `npm ci` removes it. */
const builtWith = join(ROOT, 'node_modules/.cache/parley/tap');
if (!existsSync(builtWith) || readFileSync(builtWith, 'utf8') !== plugins) {
  execFileSync('tap', ['build'], { cwd: ROOT, stdio: 'inherit' });
  mkdirSync(dirname(builtWith), { recursive: true });
  writeFileSync(builtWith, plugins);
}

for (const path of globSync('{src,test,migrations}/**/*.ts', { cwd: ROOT })) codeOf(path);
// The files are written when this process ends. Errors are left to the tests to report.
await import('../../src/app/app.ts').catch(() => undefined);
process.exit();
