import { execFile } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Copies src/, and what else of the checkout is named, without a feature: without its folder, and
 * its two lines in the list. The dependencies are those of the checkout. What is built comes only
 * where it is named: another test may build it meanwhile, and a folder that vanishes ends a process
 * in `cpSync` without a filter (nodejs/node#63970).
 */
export function copyWithout(folder: string, directory: string, more: readonly string[] = []): void {
  for (const entry of ['src', 'package.json', 'tsconfig.json', ...more]) {
    const from = join(ROOT, entry);
    const filter = (path: string) => path === from || !/\/dist(-\w+)?$/.test(path);
    cpSync(from, join(directory, entry), { recursive: true, filter });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  rmSync(join(directory, 'src/features', folder), { recursive: true });
  const path = join(directory, 'src/app/features.ts');
  const list = readFileSync(path, 'utf8');
  const [line, name] = new RegExp(`^import \\{ (\\w+) \\} from '../features/${folder}/.*\\n`, 'm').exec(
    list,
  )!;
  writeFileSync(path, list.replace(line, '').replace(new RegExp(`^ {2}${name},.*\\n`, 'm'), ''));
}

/** Returns what the compiler finds in src/ of a copy; empty: nothing. */
export async function compile(directory: string): Promise<string> {
  const path = join(directory, 'tsconfig.json');
  const { compilerOptions, exclude } = JSON.parse(readFileSync(path, 'utf8'));
  // Pages have a configuration of their own.
  writeFileSync(path, JSON.stringify({ compilerOptions, include: ['src'], exclude }));
  // Without the test runner's NODE_OPTIONS, which load its hooks.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  return promisify(execFile)(process.execPath, [TSC, '--noEmit', '-p', directory], { env }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
}

const TSC = join(ROOT, 'node_modules/typescript/lib/tsc.js');
