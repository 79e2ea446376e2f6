/** The rules of docs/architecture.md#layers: which folder imports which, what may be used where, and what is forbidden. */

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative, resolve } from 'node:path/posix';
import t from 'tap';

/** Path from the root of the checkout → content. */
type Files = ReadonlyMap<string, string>;

/**
 * Rows from top to bottom: an area may import those below its row, never its own row's others. An area is a
 * directory of src/, or a file right in it. `client` stands aside: only the console and `npm run tail` use it.
 */
const ROWS: readonly (readonly string[])[] = [
  ['main'],
  ['app', 'admin', 'tail'],
  ['gateway', 'jobs', 'console', 'demo', 'health'],
  ['webhooks'],
  ['event-sources'],
  ['compliance'],
  ['agents'],
  ['mail'],
  ['push'],
  ['notifications', 'inbox', 'search'],
  ['messages', 'platform-events'],
  ['conversations', 'registration'],
  ['accounts'],
  ['attachments', 'audit'],
  ['resources'],
  ['http'],
  ['access'],
  ['engine', 'db', 'outbound'],
  ['protocol'],
];
/** The same inside an area, by the next part of the path: files right in the area that have no row of their own come first. */
const ROWS_WITHIN: Readonly<Record<string, readonly (readonly string[])[]>> = {
  agents: [['triggers'], ['runs'], ['replies', 'tools'], ['models']],
};
/** Modules that may be imported everywhere. They import nothing but each other. */
const EVERYWHERE = ['log', 'metrics', 'metric-series', 'lifecycle', 'build'];
/** Those that read the environment's result; the rest is handed its own part of it. */
const CONFIGURED = ['main', 'app', 'admin', 'tail'];
const SLICES = ROWS.slice(rowOf('webhooks'), rowOf('http')).flat();

/** Package → where alone it may be imported. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  'uWebSockets.js': /^src\/(http\/(server|uws)|gateway\/socket\/server)\.ts$/,
  ioredis: /^src\/engine\/redis-[a-z]+\.ts$/,
  pg: /^src\/db\//,
};

/** Patterns that must not occur; `pattern` applies to the code, or with `comments` to the whole text. */
const FORBIDDEN: readonly { what: string; where: RegExp; comments?: true; pattern: RegExp }[] = [
  { what: 'a type switched off', where: /./, pattern: /(:|\bas|<|[|&])\s*any\b|\bany\s*(\[\]|>)/ },
  {
    what: 'a check switched off',
    where: /./,
    comments: true,
    pattern: /@ts-(ignore|expect-error|nocheck)\b|biome-ignore\b|eslint-disable\b/,
  },
  {
    what: 'a branch for tests',
    where: /^src\//,
    pattern: /\bNODE_ENV\b|\bisTest\w*\b|\benv\.TEST\b|\b__TEST__\b|\bTAP_\w+\b/,
  },
  {
    what: 'the environment, which src/config.ts alone reads',
    where: /^src\/(?!config\.ts$)/,
    pattern: /\bprocess\s*(\?\.|\.|\[\s*['"])\s*env\b|from 'node:process'/,
  },
  {
    what: 'a change of `changed_in`, which touched() of db/touched.ts makes together with `updated_at`',
    where: /^src\/(?!db\/(touched|columns|renewed-rows)\.ts$)/,
    pattern: /\bchanged_in\s*(:|=)\s*(sql|pg_)/,
  },
  {
    what: 'a row type asserted at a query: statement() types it beside the SQL',
    where: /^src\/(?!db\/)/,
    pattern: /\.query</,
  },
  {
    what: 'a statement for others: export a function',
    where: /^src\/(?!db\/)/,
    pattern: /^export const \w+ = statement\b/m,
  },
];
const JUNK_DRAWER = /(^|-)(utils?|helpers?|common|misc|types|managers?)$/;
/** Past this a file is probably two nouns. At 400 the rule split files that were one: `session.ts`, `app.ts`, `config.ts`. */
const MAX_LINES = 500;

t.test('the checkout keeps to its layers and rules', async (t) => {
  const files = readTree(resolve(import.meta.dirname, '..'), [
    'src',
    'bench',
    'examples',
    'migrations',
    'test',
  ]);
  t.ok(files.has('src/main.ts'), 'there is something to look at');
  t.strictSame(violations(files), []);
});

t.test('tests that are not run file by file are run together', async (t) => {
  const { tap } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'));
  const runners = readdirSync(import.meta.dirname).flatMap((name) => {
    const text = name.endsWith('.test.ts') ? readFileSync(join(import.meta.dirname, name), 'utf8') : '';
    const [, directory] = /^await runTogether\('(\w+)'\);$/m.exec(text) ?? [];
    return directory === undefined ? [] : [directory];
  });
  t.strictSame(tap.exclude, [`test/{${runners.sort().join(',')}}/**`], 'package.json, tap');
});

/** Returns a line for each problem, with its file. */
function violations(files: Files): string[] {
  const found: string[] = [];
  for (const [path, text] of files) {
    // This file spells out what it forbids.
    if (path === 'test/architecture.test.ts') continue;
    found.push(...misplacedWords(path, text));
    if (!path.startsWith('src/')) continue;
    found.push(...misplacedName(path), ...misplacedLength(path, text));
    for (const { specifier } of importsOf(text)) found.push(...misplacedImport(path, specifier));
  }
  return [...found, ...cycles(files), ...heavyClient(files)];
}

function misplacedWords(path: string, text: string): string[] {
  const code = withoutComments(text);
  return FORBIDDEN.filter(
    ({ where, comments, pattern }) => where.test(path) && pattern.test(comments ? text : code),
  ).map(({ what }) => `${path} has ${what}`);
}

function misplacedName(path: string): string[] {
  const words = relative('src', path).replace(/\.ts$/, '').split('/');
  const junk = words.filter((word) => JUNK_DRAWER.test(word));
  const found = junk.map((word) => `${path} is called ${word}: name it by its noun`);
  const area = areaOf(path);
  if (rowOf(area) === -1 && ![...EVERYWHERE, 'config', 'client'].includes(area)) {
    found.push(`${path} is in no area of the layout`);
  }
  return found;
}

function misplacedLength(path: string, text: string): string[] {
  const lines = text.trimEnd().split('\n').length;
  if (lines <= MAX_LINES) return [];
  const firstComment = /\/\*[\s\S]*?\*\/|(^\/\/.*\n)+/m.exec(text)?.[0] ?? '';
  if (/\b(long|lines|one file|in one place)\b/i.test(firstComment)) return [];
  return [`${path} has ${lines} lines and its first comment does not say why`];
}

function misplacedImport(path: string, specifier: string): string[] {
  const wrong = (why: string) => [`${path} imports ${specifier}: ${why}`];
  if (!specifier.startsWith('.')) {
    const name = specifier.split('/')[0] ?? '';
    const place = Object.hasOwn(PACKAGES, name) ? PACKAGES[name] : undefined;
    return place === undefined || place.test(path) ? [] : wrong(`only ${place.source} may`);
  }
  const target = join(dirname(path), specifier);
  if (!target.startsWith('src/')) return wrong('it is outside src/');
  const [from, to] = [areaOf(path), areaOf(target)];
  if (from === to) return misplacedWithin(from, path, target) ? wrong(`it is not below in ${from}/`) : [];
  if (EVERYWHERE.includes(to)) return from === 'protocol' || from === 'client' ? wrong('it travels') : [];
  if (EVERYWHERE.includes(from)) return wrong(`${from} imports nothing of ours`);
  if (to === 'config') return CONFIGURED.includes(from) ? [] : wrong('take its values as options');
  if (from === 'config') return to === 'protocol' ? [] : wrong('config imports protocol/ alone');
  if (to === 'client') return ['console', 'tail'].includes(from) ? [] : wrong('client/ is for the console');
  if (from === 'client') return to === 'protocol' ? [] : wrong('client/ imports protocol/ alone');
  if (to === 'http' && SLICES.includes(from) && !/(^|-)routes\.ts$/.test(basename(path))) {
    return wrong('of a slice only its routes import http/');
  }
  return rowOf(from) < rowOf(to) ? [] : wrong(`${from} is not above ${to}`);
}

function misplacedWithin(area: string, path: string, target: string): boolean {
  const rows = ROWS_WITHIN[area];
  if (rows === undefined) return false;
  const [from, to] = [path, target].map((file) => (file.split('/')[2] ?? '').replace(/\.ts$/, ''));
  const rowOf = (part: string | undefined) => rows.findIndex((row) => row.includes(part ?? ''));
  return rowOf(from) === -1 || from === to ? false : rowOf(from) >= rowOf(to);
}

/** Files that import each other, type imports included: one line a cycle. */
function cycles(files: Files): string[] {
  const found: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const from = trail.indexOf(path);
    if (from !== -1) found.push(`a cycle: ${[...trail.slice(from), path].join(' → ')}`);
    if (from !== -1 || finished.has(path)) return;
    for (const { specifier } of importsOf(files.get(path) ?? '')) {
      if (specifier.startsWith('.')) visit(join(dirname(path), specifier), [...trail, path]);
    }
    finished.add(path);
  };
  for (const path of files.keys()) if (path.startsWith('src/')) visit(path, []);
  return found;
}

/** The SDK has no dependency: nor has what it takes values from. */
function heavyClient(files: Files): string[] {
  const found = new Set<string>();
  const visit = (path: string, seen: Set<string>): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { specifier, isType } of importsOf(files.get(path) ?? '')) {
      if (isType) continue;
      if (specifier.startsWith('.')) visit(join(dirname(path), specifier), seen);
      else found.add(`${path} imports ${specifier}: client/ needs it and has no dependency`);
    }
  };
  const seen = new Set<string>();
  for (const path of files.keys()) if (path.startsWith('src/client/')) visit(path, seen);
  return [...found];
}

interface Import {
  readonly specifier: string;
  readonly isType: boolean;
}

/** Static, re-exporting, bare and dynamic imports alike. */
function importsOf(text: string): Import[] {
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

function areaOf(path: string): string {
  return (relative('src', path).split('/')[0] ?? '').replace(/\.ts$/, '');
}

function rowOf(area: string): number {
  return ROWS.findIndex((row) => row.includes(area));
}

/** Near enough for words that stand in prose too: a comment that begins inside a string is taken for one. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
}

function readTree(root: string, directories: readonly string[]): Files {
  const entries = directories.flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, withFileTypes: true }),
  );
  const paths = entries
    .filter((entry) => entry.isFile() && extname(entry.name) === '.ts')
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [relative(root, path), readFileSync(path, 'utf8')]));
}

// The checker itself: each rule against a file that breaks it, and one that does not.

const WRONG: Readonly<Record<string, readonly [path: string, text: string, message: RegExp]>> = {
  'an import upwards': [
    'src/access/a.ts',
    "import { b } from '../accounts/b.ts';",
    /access is not above accounts/,
  ],
  'a type import upwards': [
    'src/db/a.ts',
    "import type { B } from '../access/b.ts';",
    /db is not above access/,
  ],
  'an import sideways': ['src/engine/a.ts', "import { b } from '../db/b.ts';", /engine is not above db/],
  'a re-export upwards': ['src/http/a.ts', "export * from '../messages/b.ts';", /http is not above messages/],
  'an import over several lines': [
    'src/messages/a.ts',
    "import {\n  b,\n  type C,\n} from '../agents/b.ts';",
    /messages is not/,
  ],
  'a dynamic import': [
    'src/db/a.ts',
    "const b = await import('../gateway/b.ts');",
    /db is not above gateway/,
  ],
  'an import type expression': ['src/db/a.ts', "let b: import('../http/b.ts').B;", /db is not above http/],
  'a bare import': ['src/jobs/a.ts', "import '../gateway/b.ts';", /jobs is not above gateway/],
  'the composition root': [
    'src/jobs/a.ts',
    "import { startApp } from '../app/app.ts';",
    /jobs is not above app/,
  ],
  'protocol imports something': [
    'src/protocol/a.ts',
    "import type { B } from '../db/b.ts';",
    /protocol is not above db/,
  ],
  'protocol logs': ['src/protocol/a.ts', "import type { Logger } from '../log.ts';", /it travels/],
  'client measures': ['src/client/a.ts', "import { m } from '../metrics.ts';", /it travels/],
  'client imports the server': [
    'src/client/a.ts',
    "import type { B } from '../http/b.ts';",
    /protocol\/ alone/,
  ],
  'the server imports client': ['src/gateway/a.ts', "import { b } from '../client/b.ts';", /for the console/],
  'client has a dependency': ['src/client/a.ts', "import { nanoid } from 'nanoid';", /no dependency/],
  'log imports something': ['src/log.ts', "import { b } from './db/b.ts';", /nothing of ours/],
  'configuration below the root': [
    'src/http/a.ts',
    "import type { Config } from '../config.ts';",
    /as options/,
  ],
  'a slice that knows http': [
    'src/messages/send-rules.ts',
    "import { Answer } from '../http/route.ts';",
    /only its routes/,
  ],
  'an import upwards in an area': [
    'src/agents/models/a.ts',
    "import type { B } from '../runs/b.ts';",
    /not below in agents/,
  ],
  'an import sideways in an area': [
    'src/agents/replies/a.ts',
    "import { b } from '../tools/b.ts';",
    /not below in agents/,
  ],
  'an import of an area from its part': [
    'src/agents/runs/a.ts',
    "import { b } from '../definitions.ts';",
    /not below in agents/,
  ],
  'an import of tests': [
    'src/db/a.ts',
    "import { until } from '../../test/support/until.ts';",
    /outside src/,
  ],
  'uWebSockets.js': [
    'src/gateway/socket/session.ts',
    "import type { WebSocket } from 'uWebSockets.js';",
    /only .* may/,
  ],
  ioredis: ['src/engine/memory-engine.ts', "import { Redis } from 'ioredis';", /only .* may/],
  pg: ['src/access/tokens.ts', "import pg from 'pg';", /only .* may/],
  'a part of pg': ['src/access/tokens.ts', "import pg from 'pg/lib/client';", /only .* may/],
  'the environment': ['src/http/a.ts', 'const port = process.env.PORT;', /the environment/],
  'the environment by another name': [
    'src/http/a.ts',
    "import { env } from 'node:process';",
    /the environment/,
  ],
  'a parameter of type any': ['src/http/a.ts', 'function a(b: any) {}', /a type switched off/],
  'a cast': ['test/a.ts', 'const a = b as any;', /a type switched off/],
  'a type argument': ['bench/a.ts', 'const a = new Map<string, any>();', /a type switched off/],
  'an array': ['src/http/a.ts', 'const a: Readonly<any[]> = [];', /a type switched off/],
  'a check switched off': ['src/http/a.ts', '// @ts-ignore\nb();', /a check switched off/],
  'an expected error': ['test/a.ts', '// @ts-expect-error: b takes a number\nb("");', /a check switched off/],
  'a lint rule switched off': ['src/http/a.ts', '// biome-ignore lint/a/b: because', /a check switched off/],
  'a branch for tests': ['src/http/a.ts', "if (mode === 'x' || isTest) {}", /a branch for tests/],
  NODE_ENV: ['src/config.ts', "if (process.env.NODE_ENV === 'test') {}", /a branch for tests/],
  'a change that resume would miss': [
    'src/agents/a.ts',
    'set({ changed_in: sql`pg_current_xact_id()` })',
    /a change of `changed_in`/,
  ],
  'a change that resume would miss, in a statement': [
    'src/agents/a.ts',
    'const A = `UPDATE b SET changed_in = pg_current_xact_id()`;',
    /a change of `changed_in`/,
  ],
  'a row type asserted': ['src/agents/a.ts', 'await db.query<Row>(READ);', /a row type asserted/],
  'a statement for others': [
    'src/agents/a.ts',
    'export const READ = statement({});',
    /a statement for others/,
  ],
  'a junk drawer': ['src/http/utils.ts', '', /is called utils/],
  'another one': ['src/http/string-helper.ts', '', /is called string-helper/],
  'a junk directory': ['src/http/common/a.ts', '', /is called common/],
  'an unknown area': ['src/realtime/a.ts', '', /no area/],
  'an unknown file': ['src/server.ts', '', /no area/],
  'a long file': ['src/http/a.ts', `/** Something. */\n${'a();\n'.repeat(500)}`, /501 lines/],
};

for (const [name, [path, text, message]] of Object.entries(WRONG)) {
  t.test(`finds ${name}`, async (t) => {
    const found = violations(new Map([[path, text]]));
    t.equal(found.length, 1, found.join('\n'));
    t.match(found[0], message);
    t.ok(found[0]?.startsWith(path));
  });
}

t.test('finds cycles, also over types', async (t) => {
  const files = new Map([
    ['src/http/a.ts', "import type { B } from './b.ts';"],
    ['src/http/b.ts', "export { c } from './c.ts';"],
    ['src/http/c.ts', "import { a } from './a.ts';"],
    ['src/http/d.ts', "import { a } from './a.ts';"],
  ]);
  t.strictSame(violations(files), ['a cycle: src/http/a.ts → src/http/b.ts → src/http/c.ts → src/http/a.ts']);
});

t.test('finds what client/ would pull in through protocol/', async (t) => {
  const files = new Map([
    ['src/client/a.ts', "import { B } from '../protocol/b.ts';\nimport type { C } from '../protocol/c.ts';"],
    ['src/protocol/b.ts', "import { Type } from 'typebox';"],
    ['src/protocol/c.ts', "import { customAlphabet } from 'nanoid';"],
  ]);
  t.strictSame(violations(files), [
    'src/protocol/b.ts imports typebox: client/ needs it and has no dependency',
  ]);
});

t.test('finds nothing in what is right', async (t) => {
  const long = `/** 501 lines: a table that is looked up as a whole. */\n${'a();\n'.repeat(500)}`;
  const files = new Map([
    ['src/main.ts', "import { c } from './config.ts';\nconst { app } = await import('./app.ts');"],
    ['src/app/app.ts', "import { g } from '../gateway/server.ts';\nimport { c } from '../config.ts';"],
    ['src/config.ts', "import { L } from './protocol/limits.ts';\nexport const p = process.env.PORT;"],
    [
      'src/gateway/socket/server.ts',
      "import { App } from 'uWebSockets.js';\nimport { log } from '../log.ts';",
    ],
    ['src/engine/redis-engine.ts', "import { Redis } from 'ioredis';\nimport { m } from '../metrics.ts';"],
    ['src/db/database.ts', "import pg from 'pg';\nimport { newId } from '../protocol/ids.ts';"],
    ['src/messages/routes.ts', "import { r } from '../http/route.ts';\nimport { s } from './send-rules.ts';"],
    ['src/messages/send-rules.ts', '/** Takes: any of them. */\nconst any = 1; // as any of them\nf(any);'],
    ['src/console/page.ts', "import { connect } from '../client/connect.ts';"],
    ['src/agents/routes.ts', "import { s } from './store.ts';\nimport { r } from './runs/b.ts';"],
    ['src/agents/runs/b.ts', "import type { M } from '../models/m.ts';\nimport { c } from './c.ts';"],
    ['src/client/connect.ts', "import { CODES } from '../protocol/codes.ts';"],
    ['src/protocol/codes.ts', 'export const CODES = {} as const;'],
    ['src/protocol/error-types-of-postgres.ts', ''],
    ['src/http/long.ts', long],
  ]);
  t.strictSame(violations(files), []);
});
