import { dirname, join } from 'node:path/posix';

export interface Import {
  readonly specifier: string;
  readonly isType: boolean;
}

/** Returns all imports of a module: static, re-exporting, bare and dynamic. */
export function importsOf(text: string): Import[] {
  const found: Import[] = [];
  for (const [, words = '', specifier = ''] of text.matchAll(
    /^\s*((?:import|export)\b[^'"`;]*?\bfrom|import)\s*['"]([^'"]+)['"]/gm,
  )) {
    found.push({ specifier, isType: /^(import|export)\s+type\b/.test(words) });
  }
  for (const [, specifier = ''] of text.matchAll(/\bimport\s*\(\s*['"`]([^'"`]+)['"`]/g)) {
    found.push({ specifier, isType: false });
  }
  return found;
}

/**
 * Returns the path, from the root, of the module that a file of the checkout imports by a relative
 * specifier or by the name of one of our packages; undefined for packages of npm.
 */
export function importedPath(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return join(dirname(file), specifier);
  const [, name, inside = ''] = /^@parley\/([\w-]+)(?:\/(.+))?$/.exec(specifier) ?? [];
  if (name === undefined) return undefined;
  return `packages/${name}/${inside.includes('.') ? inside : join(inside, 'index.ts')}`;
}
