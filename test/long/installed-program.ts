import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../start/parley.ts';

const FLAGS = [
  '--no-save',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--no-package-lock',
  '--ignore-scripts',
];

/**
 * Returns the path of a program of a package, which is installed at first use: `npm ci` does not
 * fetch what few tests need. Undefined if that is not possible.
 */
export async function installedProgram(
  name: string,
  version: string,
  program: string,
): Promise<string | undefined> {
  const place = join(ROOT, 'node_modules/.cache/parley', `${name}-${version}`);
  const path = join(place, 'node_modules', program);
  if (existsSync(path)) return path;
  mkdirSync(place, { recursive: true });
  const install = ['install', ...FLAGS, '--prefix', place, `${name}@${version}`];
  await promisify(execFile)('npm', install, { cwd: place }).catch(() => undefined);
  return existsSync(path) ? path : undefined;
}
