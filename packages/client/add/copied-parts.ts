import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A copy of parts into a project. */
export interface PartsCopy {
  /** The folder with the sources of the parts. */
  readonly from: string;
  /** The folder of the project that gets them. */
  readonly to: string;
  /** The names of files without their endings, such as `timeline`. */
  readonly parts: readonly string[];
  /** Whether files that are other than the sources are overwritten. */
  readonly isForced: boolean;
}

/**
 * Copies parts, the files that they import, and the style sheet. Returns the names of the copied
 * files. Throws before it writes anything if a file of the project would be lost.
 */
export function copyParts({ from, to, parts, isForced }: PartsCopy): string[] {
  const names = [...new Set(parts.flatMap((part) => withImports(from, sourceOf(from, part)))), STYLE].sort();
  const texts = new Map(names.map((name) => [name, readFileSync(join(from, name), 'utf8')]));
  const changed = names.filter((name) => {
    const path = join(to, name);
    return existsSync(path) && readFileSync(path, 'utf8') !== texts.get(name);
  });
  if (changed.length > 0 && !isForced) {
    throw new Error(`${changed.join(', ')} of ${to} would be lost. Repeat it with --force to overwrite.`);
  }
  for (const [name, text] of texts) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    writeFileSync(join(to, name), text);
  }
  return names;
}

const STYLE = 'parts.css';

/** Returns the file of a part, which the sources import without its ending. */
function sourceOf(from: string, part: string): string {
  const name = [`${part}.tsx`, `${part}.ts`].find((file) => existsSync(join(from, file)));
  if (name === undefined) throw new Error(`There is no part ${part}.`);
  return name;
}

function withImports(from: string, name: string, seen: Set<string> = new Set()): string[] {
  if (seen.has(name)) return [];
  seen.add(name);
  const text = readFileSync(join(from, name), 'utf8');
  for (const [, part = ''] of text.matchAll(/from '\.\/([\w-]+)'/g)) {
    withImports(from, sourceOf(from, part), seen);
  }
  return [...seen];
}
