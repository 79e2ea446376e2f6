import { execFile } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../start/parley.ts';
import { copySources } from './copy-sources.ts';

/**
 * Copies src/, and what else of the checkout is named, without these features: without their
 * folders, and their two lines each in the list. The dependencies are those of the checkout.
 */
export function copyWithout(
  features: readonly string[],
  directory: string,
  more: readonly string[] = [],
): void {
  copySources(['src', 'package.json', 'tsconfig.json', ...more], directory);
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const path = join(directory, 'src/app/features.ts');
  let list = readFileSync(path, 'utf8');
  for (const folder of features) {
    rmSync(join(directory, 'src/features', folder), { recursive: true });
    const [line, name] = new RegExp(`^import \\{ (\\w+) \\} from '../features/${folder}/.*\\n`, 'm').exec(
      list,
    )!;
    list = list.replace(line, '').replace(new RegExp(`^ {2}${name},.*\\n`, 'm'), '');
  }
  writeFileSync(path, list);
}

/** Returns what the compiler finds in src/ of a copy; empty: nothing. */
export async function compile(directory: string): Promise<string> {
  const path = join(directory, 'tsconfig.json');
  const { compilerOptions, exclude } = JSON.parse(readFileSync(path, 'utf8'));
  // Pages have a configuration of their own.
  writeFileSync(path, JSON.stringify({ compilerOptions, include: ['src'], exclude }));
  // Without the test runner's NODE_OPTIONS, which load its hooks; else as `npm run types`.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, GOGC: '400' };
  const options = { cwd: directory, env };
  return promisify(execFile)(process.execPath, [TSC, '--noEmit', '--singleThreaded'], options).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
}

const TSC = join(ROOT, 'node_modules/typescript/lib/tsc.js');
