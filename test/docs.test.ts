/** Links and citations lead somewhere: in the documents, and in the comments that cite them. */

import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path/posix';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '..');

t.test('every relative link of a document resolves', async (t) => {
  const documents = globSync('{*.md,docs/**/*.md,src/**/*.md,bench/**/*.md}', { cwd: ROOT });
  t.ok(documents.includes('README.md'));
  t.strictSame(
    documents.flatMap((path) => broken(path, linksOf(readFileSync(join(ROOT, path), 'utf8')))),
    [],
  );
});

t.test('every citation of a document in the code resolves', async (t) => {
  const files = globSync('{src,test,bench,migrations}/**/*.{ts,js,css}', {
    cwd: ROOT,
    // It spells out links that lead nowhere.
    exclude: ['test/docs.test.ts'],
  });
  t.ok(files.length > 100);
  t.strictSame(
    files.flatMap((path) => {
      const cited = readFileSync(join(ROOT, path), 'utf8').matchAll(/\bdocs\/[\w-]+\.md(#[\w-]+)?/g);
      return broken(
        path,
        [...cited].map(([link]) => `/${link}`),
      );
    }),
    [],
  );
});

t.test('a link that leads nowhere is found', async (t) => {
  t.strictSame(
    broken('README.md', ['docs/none.md', 'docs/realtime.md#no-such-heading', 'docs/realtime.md#events']),
    ['README.md: docs/none.md', 'README.md: docs/realtime.md#no-such-heading'],
  );
});

/** Targets of Markdown links and images that are not URLs, outside of code. */
function linksOf(text: string): string[] {
  const prose = text.replace(/```[\s\S]*?```|`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target ?? '')
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** `links` are relative to the file, or with a leading slash to the root of the checkout. */
function broken(path: string, links: readonly string[]): string[] {
  return links
    .filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : file.startsWith('/') ? file.slice(1) : join(dirname(path), file);
      const absolute = join(ROOT, target);
      if (!existsSync(absolute) || relative(ROOT, absolute).startsWith('..')) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(absolute, 'utf8')).has(anchor);
    })
    .map((link) => `${path}: ${link}`);
}

/** The anchors that a host makes of headings: lower case, blanks as dashes, no punctuation. */
function anchorsOf(markdown: string): Set<string> {
  const headings = markdown.replace(/```[\s\S]*?```/g, '').matchAll(/^#+ +(.+)$/gm);
  return new Set(
    [...headings].map(([, title = '']) =>
      title
        .trim()
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
