/**
 * The layout of src/ and packages/, and the picture of it in docs/architecture.md, which
 * `node test/support/house.ts` draws from the imports.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path/posix';
import { importedPath, importsOf } from './imports.ts';

/** Path from the root of the checkout → content. */
export type Files = ReadonlyMap<string, string>;

const DOCUMENT = resolve(import.meta.dirname, '../../docs/architecture.md');
const BEFORE = '<!-- drawn from the imports by test/support/house.ts -->\n\n```text\n';
const AFTER = '```\n';
/** The wings of src/ from top to bottom, each with its reason: a wing may import those below it. */
export const WINGS: Readonly<Record<string, string>> = {
  app: 'composes all others, and alone reads the configuration',
  edge: 'sockets and pages: nothing depends on how users connect',
  features: 'each can be left out: app/features.ts alone names them',
  core: 'a chat with accounts, complete without the features',
  api: 'callers, limits, versions and documents, which every API could have',
  platform: 'what any server needs: it knows no conversation',
};
/** Files directly in app/ that are areas; the rest compose the others, and are one area. */
const AREAS_OF_APP: ReadonlySet<string> = new Set(['main', 'tail', 'demo', 'features', 'config']);

/** Reads the TypeScript files of folders, without built ones. */
export function readTree(root: string, directories: readonly string[]): Files {
  const entries = directories.flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, withFileTypes: true }),
  );
  const paths = entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/\/packages\/(client\/npm|console|widget)\/dist/.test(path));
  return new Map(paths.sort().map((path) => [relative(root, path), readFileSync(path, 'utf8')]));
}

/** Returns whether a file is code of src/ or of a package, and not a test. */
export function isSource(path: string): boolean {
  return /^(src|packages\/[\w-]+\/(?!test\/))/.test(path);
}

/** Returns a source's wing and area: a directory of the wing, or a file directly in it. */
export function placeOf(path: string): { readonly wing: string; readonly area: string } {
  const [wing = '', part = '', ...inside] = path.replace(/^src\//, '').split('/');
  const area = part.replace(/\.tsx?$/, '');
  return { wing, area: wing === 'app' && inside.length === 0 && !AREAS_OF_APP.has(area) ? 'app' : area };
}

/**
 * Returns a line for each row of each wing, from top to bottom: an area stands above the areas of
 * its wing that it imports.
 */
export function pictureOf(files: Files): string {
  const imports = new Map<string, Map<string, Set<string>>>(
    [...Object.keys(WINGS), 'packages'].map((wing) => [wing, new Map()]),
  );
  for (const [path, text] of files) {
    if (!isSource(path)) continue;
    const from = placeOf(path);
    const areas = imports.get(from.wing);
    const below = areas?.get(from.area) ?? new Set();
    areas?.set(from.area, below);
    for (const { specifier } of importsOf(text)) {
      const target = importedPath(path, specifier);
      const to = target === undefined ? undefined : placeOf(target);
      if (to?.wing === from.wing && to.area !== from.area) below.add(to.area);
    }
  }
  const lines = [...imports].flatMap(([wing, areas]) =>
    rowsOf(areas).map((row, index) => `${(index === 0 ? wing : '').padEnd(10)}${row.join('  ')}`),
  );
  return `${lines.join('\n')}\n`;
}

function rowsOf(areas: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const heights = new Map<string, number>();
  const heightOf = (area: string): number => {
    const known = heights.get(area);
    if (known !== undefined) return known;
    // Areas in the lowest row of platform/ may import each other.
    heights.set(area, 0);
    const height = Math.max(0, ...[...(areas.get(area) ?? [])].map((below) => heightOf(below) + 1));
    heights.set(area, height);
    return height;
  };
  const byHeight = Map.groupBy([...areas.keys()].sort(), heightOf);
  return [...byHeight].sort(([a], [b]) => b - a).map(([, row]) => row);
}

/** Returns a document with its picture replaced by this one. */
export function withPicture(document: string, picture: string): string {
  const [head = '', rest] = document.split(BEFORE);
  if (rest === undefined) throw new Error(`there is no ${BEFORE}`);
  return head + BEFORE + picture + rest.slice(rest.indexOf(AFTER));
}

if (process.argv[1] === import.meta.filename) {
  const files = readTree(resolve(import.meta.dirname, '../..'), ['src', 'packages']);
  writeFileSync(DOCUMENT, withPicture(readFileSync(DOCUMENT, 'utf8'), pictureOf(files)));
}
