/** Links and citations lead somewhere: in the documents, and in the comments that cite them. */

import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path/posix';
import t from 'tap';
import { anchorOf, INDEX, nextDecisions, readDecisions, withList } from './support/decisions.ts';
import { filesWithProse, wrapProse } from './support/wrap-prose.ts';

const ROOT = resolve(import.meta.dirname, '..');

t.test('test/support/README.md names every file beside it, and no other', (t) => {
  const text = readFileSync(join(ROOT, 'test/support/README.md'), 'utf8');
  const named = [...text.matchAll(/`([a-z-]+\.[jt]s)`/g)].map(([, name]) => name);
  t.strictSame([...new Set(named)].sort(), globSync('*.[jt]s', { cwd: join(ROOT, 'test/support') }).sort());
  t.end();
});

t.test('every relative link of a document resolves', async (t) => {
  const documents = globSync('{*.md,docs/**/*.md,{bin,src,packages}/**/*.md,bench/**/*.md}', { cwd: ROOT });
  t.ok(documents.includes('README.md'));
  t.strictSame(
    documents.flatMap((path) => {
      const links = linksOf(readFileSync(join(ROOT, path), 'utf8'));
      // Pages of the server link to each other; test/http/pages.test.ts follows these links.
      const isServed = /\/(?:documents\/pages|core\/documents)\/|\/guide\.md$/.test(path);
      return broken(path, isServed ? links.filter((link) => !/^\/(docs|v1)\b/.test(link)) : links);
    }),
    [],
  );
});

t.test('docs/decisions.md lists each decision, with its place', (t) => {
  const decisions = readDecisions();
  t.ok(decisions.length > 300);
  const index = readFileSync(join(ROOT, INDEX), 'utf8');
  t.equal(index, withList(index, decisions), 'npm run format writes it');
  t.end();
});

t.test('decisions lie where the first guess is, once, and the README beside them says so', (t) => {
  const decisions = readDecisions();
  const files = new Set(decisions.map(({ file }) => file));
  t.strictSame(
    globSync('**/DECISIONS.md', { cwd: ROOT, exclude: ['**/node_modules'] }).sort(),
    [...files].sort(),
    'no other folder has any (PLACES)',
  );
  const titles = decisions.map(({ title }) => anchorOf(title));
  t.strictSame(
    titles.filter((title, at) => titles.indexOf(title) !== at),
    [],
  );
  const silent = [...files].filter((file) => {
    const readme = join(ROOT, dirname(file), 'README.md');
    return existsSync(readme) && !readFileSync(readme, 'utf8').includes('](DECISIONS.md)');
  });
  t.strictSame(silent, []);
  t.end();
});

t.test('every citation of a document in the code resolves', async (t) => {
  const files = globSync('{bin,src,packages,test,bench,migrations}/**/*.{ts,tsx,js,cjs,css,sql}', {
    cwd: ROOT,
    // It spells out links that lead nowhere.
    exclude: ['test/docs.test.ts', '**/node_modules', '**/dist'],
  });
  t.ok(files.length > 100);
  t.strictSame(
    files.flatMap((path) => broken(path, citationsOf(path, readFileSync(join(ROOT, path), 'utf8')))),
    [],
  );
});

t.test('every name of the glossary is declared in the file that it names', (t) => {
  const rows = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8').matchAll(/`(\w+)`, `([\w/-]+\.ts)`/g);
  const wrong = [...rows].filter(([, name, path]) => {
    const file = join(ROOT, path?.startsWith('packages/') ? path : `src/${path}`);
    const declared = new RegExp(`\\b(class|interface|type|function|const) ${name}\\b`);
    return !existsSync(file) || !declared.test(readFileSync(file, 'utf8'));
  });
  t.strictSame(
    wrong.map(([row]) => row),
    [],
  );
  t.end();
});

t.test('each word of the glossary has one row and one declaration, in the order of the words', (t) => {
  const lines = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8').split('\n');
  const rows = lines.filter((line) => line.startsWith('| ') && !line.startsWith('| word |'));
  t.ok(rows.length > 50);
  const words = rows.map((row) => row.slice(2, row.indexOf(' |')).toLowerCase());
  t.strictSame(words, [...new Set(words)].sort());
  t.strictSame(
    rows.filter((row) => !/\| `\w+`, `[\w/-]+\.ts` \|$/.test(row)),
    [],
  );
  t.end();
});

t.test('every variable that is read is in docs/configuration.md', async (t) => {
  const sources = ['src/app/config.ts', ...globSync('src/features/*/settings.ts', { cwd: ROOT })];
  const read = sources.flatMap((path) => [
    ...readFileSync(join(ROOT, path), 'utf8').matchAll(/reader\.read\('(\w+)'/g),
  ]);
  const documented = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
  const names = read.map(([, name = '']) => name);
  t.ok(names.includes('DATABASE_URL') && names.includes('PARLEY_SMTP_URL'));
  // The table shortens the later ones of a family: `…_REGION`.
  const isDocumented = (name: string) =>
    documented.includes(`\`${name}\``) || documented.includes(`\`…${name.replace('PARLEY_S3', '')}\``);
  t.strictSame(
    names.filter((name) => !isDocumented(name)),
    [],
  );
});

t.test('every source that a comment or a document names is there', async (t) => {
  const files = filesWithProse().filter((path) => !/^(CHANGELOG|migrations|test\/docs\.test)/.test(path));
  const sources = new Set(
    globSync('{src,packages,test,bench,bin,examples,migrations}/**/*.{ts,tsx}', { cwd: ROOT }),
  );
  const ends = new Set(
    [...sources].flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(at).join('/'))),
  );
  const gone = files.flatMap((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    const prose = path.endsWith('.md')
      ? text
      : (text.match(/\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm) ?? []).join('\n');
    const named = prose.matchAll(/(?<![\w./@*-])(?:[\w-]+\/)+[a-z][\w-]*\.tsx?\b/g);
    return [...named].filter(([name]) => !ends.has(name)).map(([name]) => `${path}: ${name}`);
  });
  t.strictSame(gone, []);
});

t.test('no comment cites a document that is not in the repository', async (t) => {
  const files = globSync('{src,packages,test,bench,examples,migrations}/**/*.{ts,js,css,md,sql}', {
    cwd: ROOT,
    exclude: ['test/docs.test.ts'],
  });
  t.ok(files.length > 100);
  t.strictSame(
    files.flatMap((path) =>
      strayCitations(readFileSync(join(ROOT, path), 'utf8')).map((cited) => `${path}: ${cited}`),
    ),
    [],
  );
});

t.test('comments and documents are wrapped at 100 columns', async (t) => {
  const wide = filesWithProse().filter((path) => {
    const text = readFileSync(path, 'utf8');
    return wrapProse(path, text) !== text;
  });
  t.strictSame(wide, [], 'npm run format wraps them');
});

t.test('a line that is too wide is wrapped, and one that has its width is kept', async (t) => {
  const word = 'quay '.repeat(24).trim();
  const [first, second] = [word.slice(0, 19 * 5 + 4), word.slice(20 * 5)];
  t.equal(wrapProse('a.md', `- ${word}\n`).split('\n').length, 3);
  t.equal(wrapProse('a.md', word), `${word.slice(0, 99)}\n${second}`);
  t.equal(
    wrapProse('a.ts', `/** ${word} */\n`),
    `/**\n * ${first.slice(0, 94)}\n * ${word.slice(95)}\n */\n`,
  );
  t.equal(wrapProse('a.ts', `// ${first.slice(0, 90)}`), `// ${first.slice(0, 90)}`);
  t.equal(wrapProse('a.ts', `const text = '// ${word}';`), `const text = '// ${word}';`);
});

t.test('a citation of a document that is not in the repository is found', async (t) => {
  t.strictSame(
    strayCitations('so (design.md section 7, pages), as docs/realtime.md#events says; see realtime.md.'),
    ['design.md section 7', 'realtime.md'],
  );
  t.strictSame(strayCitations('(Specification, Errors: Envelope)'), ['Specification, Errors']);
  t.strictSame(strayCitations('in the order of the specification'), ['the specification']);
});

t.test('a decision is cited by its folder, or without one from below its folder', async (t) => {
  t.strictSame(citationsOf('src/core/audit/chain.ts', '(DECISIONS.md#chain, src/api/DECISIONS.md#keys).'), [
    '/src/core/audit/DECISIONS.md#chain',
    '/src/api/DECISIONS.md#keys',
  ]);
  t.strictSame(citationsOf('test/audit/chain.test.ts', 'DECISIONS.md#chain'), ['/DECISIONS.md#chain']);
  t.strictSame(broken('test/audit/chain.test.ts', ['/DECISIONS.md#chain']), [
    'test/audit/chain.test.ts: /DECISIONS.md#chain',
  ]);
});

t.test('a link that leads nowhere is found', async (t) => {
  t.strictSame(
    broken('README.md', ['docs/none.md', 'docs/realtime.md#no-such-heading', 'docs/realtime.md#events']),
    ['README.md: docs/none.md', 'README.md: docs/realtime.md#no-such-heading'],
  );
});

/**
 * Citations by the name of a file that is not in docs/, or of "the specification", which nothing
 * here is.
 */
function strayCitations(text: string): string[] {
  const byName =
    /(?<![\w/-])(?:design|realtime|performance|libraries|specification)\.md(?: sections? [\d.]+)?/gi;
  const inWords = /\bspecification, \w+|\bthe specification\b/gi;
  return [...text.matchAll(byName), ...text.matchAll(inWords)].map(([cited]) => cited);
}

/** Documents and decisions that code cites, from the root of the checkout. */
function citationsOf(path: string, text: string): string[] {
  const cited = text.matchAll(/\b(?:docs\/[\w-]+\.md(?:#[\w-]+)?|(?:[\w-]+\/)*DECISIONS\.md#[\w-]+)/g);
  return [...cited].map(([link]) =>
    link.startsWith('DECISIONS.md')
      ? `/${link.replace('DECISIONS.md', nextDecisions(path) ?? 'DECISIONS.md')}`
      : `/${link}`,
  );
}

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

/** The anchors of headings, and those that a document sets. */
function anchorsOf(markdown: string): Set<string> {
  const text = markdown.replace(/```[\s\S]*?```/g, '');
  return new Set([
    ...[...text.matchAll(/^#+ +(.+)$/gm)].map(([, title = '']) => anchorOf(title)),
    ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, anchor = '']) => anchor),
  ]);
}
