import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the files of `npm test`, each a process; files that run together are behind one. */
export function suiteFiles(root: string): string[] {
  return processes(root).filter((file) => !isLong(file));
}

/** Those of test/long/, which `npm run test:all` adds. */
export function longFiles(root: string): string[] {
  return processes(root).filter(isLong);
}

function isLong(file: string): boolean {
  return file.startsWith('test/long/');
}

function processes(root: string): string[] {
  const { tap } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return globSync('{test,packages/*/test}/**/*.test.ts', { cwd: root, exclude: tap.exclude }).sort();
}
