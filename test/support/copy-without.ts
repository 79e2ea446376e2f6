import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** Copies src/ without a feature: without its folder, and its two lines in the list. */
export function copyWithout(folder: string, directory: string): void {
  cpSync(join(ROOT, 'src'), join(directory, 'src'), { recursive: true });
  rmSync(join(directory, 'src/features', folder), { recursive: true });
  const path = join(directory, 'src/app/features.ts');
  const list = readFileSync(path, 'utf8');
  const [line, name] = new RegExp(`^import \\{ (\\w+) \\} from '../features/${folder}/.*\\n`, 'm').exec(
    list,
  )!;
  writeFileSync(path, list.replace(line, '').replace(new RegExp(`^ {2}${name},.*\\n`, 'm'), ''));
}
