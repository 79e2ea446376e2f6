import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../start/parley.ts';
import { copySources } from './copy-sources.ts';
import { linkModules } from './link-modules.ts';

/**
 * Copies packages/ and src/, and other named parts of the checkout, without these features: without
 * their folders, and their two lines each in the list, in the configuration and in the commands.
 * The dependencies are those of the checkout.
 */
export function copyWithout(
  features: readonly string[],
  directory: string,
  more: readonly string[] = [],
): void {
  copySources(['packages', 'src', 'package.json', 'tsconfig.json', ...more], directory);
  linkModules(directory);
  for (const folder of features) rmSync(join(directory, 'src/features', folder), { recursive: true });
  for (const path of [...LISTS, CONSOLE].map((list) => join(directory, list))) {
    const text = readFileSync(path, 'utf8');
    for (const folder of path.endsWith(CONSOLE) ? features : []) {
      if (lineOf(text, folder) === null) continue;
      rmSync(join(directory, 'packages/console', folder), { recursive: true });
    }
    writeFileSync(path, features.reduce(withoutLines, text));
  }
}

/** The files that name features. */
const LISTS = ['src/app/features.ts', 'src/app/config.ts', 'src/app/admin/commands.ts'];

/** Names the features whose pages of the console are folders of their own. */
const CONSOLE = 'packages/console/sections.tsx';

function lineOf(text: string, folder: string): RegExpExecArray | null {
  return new RegExp(`^import \\{ (\\w+) \\} from '(?:[./]+/features|\\.)/${folder}/.*\\n`, 'm').exec(text);
}

/** Removes the import of a feature, and the line that begins with the imported name. */
function withoutLines(text: string, folder: string): string {
  const [line, name] = lineOf(text, folder) ?? [];
  if (line === undefined) return text;
  return text.replace(line, '').replace(new RegExp(`^ +(\\.\\.\\.)?${name}\\b.*\\n`, 'm'), '');
}

/** Returns the compiler's findings in src/ of a copy; empty if there are none. */
export async function compile(directory: string): Promise<string> {
  const path = join(directory, 'tsconfig.json');
  const { compilerOptions, exclude } = JSON.parse(readFileSync(path, 'utf8'));
  // Pages have a configuration of their own.
  writeFileSync(path, JSON.stringify({ compilerOptions, include: ['src'], exclude }));
  return compileBy(directory, 'tsconfig.json');
}

/** Returns the compiler's findings by this configuration; empty if there are none. */
export async function compileBy(directory: string, config: string): Promise<string> {
  // Without the test runner's NODE_OPTIONS, which load its hooks; else as `npm run types`.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, GOGC: '400' };
  const options = { cwd: directory, env };
  return promisify(execFile)(
    process.execPath,
    [TSC, '--noEmit', '--singleThreaded', '-p', config],
    options,
  ).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
}

const TSC = join(ROOT, 'node_modules/typescript/lib/tsc.js');
