/**
 * The list in docs/decisions.md of the decisions that lie beside the code, which
 * `npm run format` writes, and where a citation of one leads.
 */

import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path/posix';

export interface Decision {
  readonly title: string;
  /** From the root of the checkout: `src/core/audit/DECISIONS.md`. */
  readonly file: string;
}

export const INDEX = 'docs/decisions.md';
const ROOT = resolve(import.meta.dirname, '../..');
/**
 * One guess finds a decision, so no other folder has any. `src/` has the layout of the whole, and
 * `src/platform/` what is in none of its folders.
 */
const PLACES = [
  '{bin,src}/DECISIONS.md',
  'packages/*/DECISIONS.md',
  'src/{api,app,platform}/DECISIONS.md',
  'src/{core,edge,features,platform}/*/DECISIONS.md',
];

/** Returns the decisions in the order of their folders, and there of their files. */
export function readDecisions(): Decision[] {
  return globSync(PLACES, { cwd: ROOT })
    .sort()
    .flatMap((file) =>
      [
        ...readFileSync(join(ROOT, file), 'utf8')
          .replace(CODE, '')
          .matchAll(/^## (.+)$/gm),
      ].map(([, title = '']) => ({ title, file })),
    );
}

/** Returns the index with the list of these decisions in the place of the one that it has. */
export function withList(index: string, decisions: readonly Decision[]): string {
  const cited = citedByMigrations();
  const lines = [...Map.groupBy(decisions, ({ file }) => file)].flatMap(([file, ones]) => [
    `- [${dirname(file)}](../${file}): ${ones.length}`,
    ...ones.map(({ title }) => {
      const anchor = anchorOf(title);
      const mark = cited.has(anchor) ? `<a id="${anchor}"></a>` : '';
      return `  - ${mark}[${title}](../${file}#${anchor})`;
    }),
  ]);
  const [head = ''] = index.split(/^- /m, 1);
  return `${head}${lines.join('\n')}\n`;
}

/** Returns the anchor that a host makes of a heading: lower case, dashes, no punctuation. */
export function anchorOf(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/**
 * Returns the file that a citation without a folder means: the next one above it. `path` is that of
 * the file that cites, from the root of the checkout.
 */
export function nextDecisions(path: string): string | undefined {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    const file = join(folder, 'DECISIONS.md');
    if (existsSync(join(ROOT, file))) return file;
  }
  return undefined;
}

/** Released migrations cite anchors of the index, and cannot be changed any more. */
function citedByMigrations(): Set<string> {
  const released = readFileSync(join(ROOT, 'test/db/released-migrations.json'), 'utf8');
  const texts = Object.keys(JSON.parse(released)).map((name) =>
    readFileSync(join(ROOT, 'migrations', name), 'utf8'),
  );
  return new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/docs\/decisions\.md#([\w-]+)/g)].map(([, anchor = '']) => anchor),
    ),
  );
}

const CODE = /```[\s\S]*?```/g;

if (process.argv[1] === import.meta.filename) {
  const file = join(ROOT, INDEX);
  writeFileSync(file, withList(readFileSync(file, 'utf8'), readDecisions()));
}
