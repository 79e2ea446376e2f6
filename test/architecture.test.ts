/**
 * The rules of docs/architecture.md#layers: which folder imports which, what may be used where, and
 * what is forbidden.
 */

import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path/posix';
import t from 'tap';
import { importsOf } from './support/imports.ts';
import { longFiles, suiteFiles } from './verdict/sets.ts';

/** Path from the root of the checkout → content. */
type Files = ReadonlyMap<string, string>;

/** The wings of src/ from top to bottom, each with its reason: a wing may import those below it. */
const WINGS: Readonly<Record<string, string>> = {
  app: 'composes all others, and alone reads the configuration',
  edge: 'sockets and pages: nothing depends on how users connect',
  features: 'each can be left out: app/features.ts alone names them',
  core: 'a chat with accounts, complete without the features',
  platform: 'what any server needs: it knows no conversation',
  contract: 'what travels: it imports nothing of ours',
};
/**
 * Rows within a wing, from top to bottom: an area may import those below its row, never its own
 * row's others. An area is a directory of a wing, or a file right in it. `config` and `client` are
 * restricted further below.
 */
const ROWS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  app: [['main'], ['app', 'admin', 'tail'], ['supervisor', 'jobs', 'demo'], ['features']],
  edge: [['gateway', 'console']],
  // One row: what they need of one another goes through core/features/.
  features: [
    [
      'webhooks',
      'cells',
      'compliance',
      'agents',
      'mail',
      'push',
      'search',
      'platform-events',
      'identity',
      'import',
      'widgets',
    ],
  ],
  core: [
    ['features'],
    ['installation'],
    ['notifications', 'inbox'],
    ['messages'],
    ['conversations', 'registration'],
    ['accounts'],
    ['attachments', 'audit', 'events'],
    ['resources'],
    ['tables'],
  ],
  platform: [
    ['health', 'config'],
    ['http'],
    ['access'],
    ['engine', 'db', 'outbound', 'ui'],
    // They import nothing but each other.
    ['log', 'metrics', 'lifecycle', 'background', 'backoff', 'bounded', 'build', 'json-bytes', 'plain-text'],
  ],
  contract: [['client'], ['protocol']],
};
/**
 * The same inside an area, or inside a folder of one, by the next part of the path: files right in
 * it that have no row of their own come first.
 */
const ROWS_WITHIN: Readonly<Record<string, readonly (readonly string[])[]>> = {
  agents: [['triggers'], ['runs'], ['replies', 'tools'], ['models', 'metrics']],
  'agents/runs': [['control', 'execution', 'removal'], ['effects'], ['state']],
  http: [['documents'], ['pipeline'], ['connection']],
  db: [['migration'], ['queue'], ['connection'], ['tables']],
  notifications: [['causes'], ['feed'], ['settings']],
};

const SLICES = ['core', 'features'];
/** The list of the faces. */
const LIST = 'src/app/features.ts';
/** Reads the environment, and has features read theirs. */
const CONFIG = 'src/platform/config/config.ts';
const BOTTOM = (ROWS.platform ?? []).length - 1;

/** What runs in browsers: `npm run build` makes pages of it. */
const BROWSER = /^src\/(platform\/ui|edge\/console\/page|features\/widgets\/page)\//;

/** Package → where alone it may be imported. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  'uWebSockets.js':
    /^src\/(platform\/http\/connection\/(server|uws)|edge\/gateway\/socket\/(server|upgrade-cork))\.ts$/,
  ioredis: /^src\/platform\/engine\/redis-[a-z]+\.ts$/,
  pg: /^src\/platform\/db\//,
  undici: /^src\/platform\/outbound\//,
  preact: BROWSER,
};

/**
 * Patterns that must not occur; `pattern` applies to the code, or with `comments` to the whole
 * text.
 */
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
    what: 'the environment, which src/platform/config/config.ts alone reads',
    where: /^src\/(?!platform\/config\/config\.ts$)/,
    pattern: /\bprocess\s*(\?\.|\.|\[\s*['"])\s*env\b|from 'node:process'/,
  },
  {
    what: 'a change of `changed_in`, which touched() of db/touched.ts makes together with `updated_at`',
    where: /^src\/(?!platform\/db\/(tables\/(touched|columns)|migration\/renewed-rows)\.ts$)/,
    pattern: /\bchanged_in\s*(:|=)\s*(sql|pg_)/,
  },
  {
    what: 'a row type asserted at a query: statement() types it beside the SQL',
    where: /^src\/(?!platform\/db\/)/,
    pattern: /\.query</,
  },
  {
    what: 'a statement for others: export a function',
    where: /^src\/(?!platform\/db\/)/,
    pattern: /^export const \w+ = statement\b/m,
  },
  {
    what: 'a declaration that others see without an import, other than in tables.ts and settings.ts',
    where: /^src\/features\/(?![\w-]+\/(tables|settings)\.ts$)/,
    pattern: /\bdeclare\s+(global|module)\b/,
  },
  {
    what: 'a declaration beside that of its tables',
    where: /^src\/(features\/[\w-]+\/tables|core\/tables\/[\w-]+)\.ts$/,
    pattern:
      /\bdeclare\s+(?!module '\.\.\/\.\.\/platform\/db\/tables\/schema\.ts' \{\s+interface Schema extends (\w+Tables) \{\}\s+\}\s+interface \1 \{)/,
  },
  {
    what: 'a declaration beside that of its settings',
    where: /^src\/features\/[\w-]+\/settings\.ts$/,
    pattern:
      /\bdeclare\s+(?!module '\.\.\/\.\.\/core\/features\/node-settings\.ts' \{\s+interface NodeSettings extends \w+Settings \{\}\s+\}\s)/,
  },
  {
    what: 'the inside of pino or prom-client',
    where: /^src\//,
    pattern: /\bsymbols\.\w+Sym\b|\bhashMap\b|\bbucketValues\b/,
  },
  {
    what: 'a text taken for markup',
    where: BROWSER,
    pattern:
      /\b((inner|outer)HTML|srcdoc|insertAdjacentHTML|dangerouslySetInnerHTML|createContextualFragment|DOMParser|(set|parse)HTML\w*)\b|\bdocument\s*\.\s*write/i,
  },
  {
    what: 'a key as the browser names it, also one of an input method: pressedKey() says which it is',
    where: new RegExp(`(?!^src/platform/ui/pressed-key\\.ts$)${BROWSER.source}`),
    pattern:
      /\bevent\.(key|code|which)\b|\b(isComposing|keyCode)\b|\{[^{}]*\b(key|code)\b[^{}]*\}: KeyboardEvent/,
  },
];
/**
 * The addresses that pages give to links, pictures, frames and windows, by file: the server has
 * made each or `isSafeAddress` has looked at it. All else that people write reaches a page as text,
 * so that test/long/ shows every hostile text once, and not in every view.
 */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  'src/edge/console/page/administration/parts/audit-head.tsx': [
    `\`data:application/json,\${encodeURIComponent(JSON.stringify(proof.head))}\``,
  ],
  'src/edge/console/page/administration/parts/export-file.tsx': ['item.url'],
  'src/edge/console/page/installation/checks.tsx': ['docs_url'],
  'src/edge/console/page/mail/mail-parts.tsx': ['mail.source_url'],
  'src/edge/console/page/panes/customers.tsx': [`\`mailto:\${customer?.email ?? actor?.handle}\``],
  'src/edge/console/page/panes/files.tsx': ['url'],
  'src/edge/console/page/runs/artifact-link.tsx': ['artifact.url'],
  'src/edge/console/page/session/sign-in.tsx': ['beginAt(id)'],
  'src/edge/console/page/shell/link.tsx': ['pathOf(to)'],
  'src/edge/console/page/shell/page-title.ts': [
    'plain',
    `\`data:image/svg+xml,\${encodeURIComponent(svg)}\``,
  ],
  'src/edge/console/page/timeline/message-attachments.tsx': ['attachment.url!', 'url'],
  'src/edge/console/page/timeline/picture-view.tsx': ["url ?? ''"],
  'src/features/widgets/page/chat/bubble-files.tsx': ['preview', 'address'],
  'src/features/widgets/page/host/launcher.ts': [
    "createElement('iframe')",
    `\`\${origin}/widget/frame?\${new URLSearchParams({ account, widget })}\``,
  ],
  'src/platform/ui/avatar.tsx': ['url'],
  'src/platform/ui/markdown.tsx': ['href'],
  'src/platform/ui/upload-list.tsx': ['previewUrl'],
};
/** How code gives an address, but for one that an attribute spells out. */
const ADDRESS_GIVEN: readonly RegExp[] = [
  /(?<![\w-])(?:href|src|srcset|poster|ping|formaction|xlink:?href)=\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}/gi,
  /\.(?:href|src|srcset|action|location)\s*\??\??=(?!=)\s*([^;]+)/g,
  /(?:\blocation\.(?:assign|replace)|\b(?:window|globalThis)\.open|\bopenWindow)\(([^;]*)\)/g,
  /\b((?:setAttribute|createElement|h)\('(?:href|src|on\w+|a|base|embed|iframe|object|script|style)'[^;\n]*?\))/g,
  /(?<![\w`])(<(?:base|embed|iframe|meta|object|script|style|form\b[^>]*\saction=)\b[^;]*)/g,
];
/** How Kysely and row types name a table. */
const TABLE_NAMED = /(?:\b(?:selectFrom|insertInto|updateTable|deleteFrom|\w+Join)\(\s*|\bSchema\[)'(\w+)/g;
const JUNK_DRAWER = /(^|-)(utils?|helpers?|common|misc|types|managers?)$/;
/**
 * Past this a file is probably two nouns. At 400 the rule split files that were one: `session.ts`,
 * `app.ts`, `config.ts`.
 */
const MAX_LINES = 500;

t.test('the checkout keeps to its layers and rules', async (t) => {
  const files = readTree(resolve(import.meta.dirname, '..'), [
    'bin',
    'src',
    'bench',
    'examples',
    'migrations',
    'test',
  ]);
  t.ok(files.has('src/app/main.ts'), 'there is something to look at');
  t.strictSame(violations(files), []);
});

t.test('tests that are not run file by file are run together', async (t) => {
  const { tap } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'));
  const excluded = ['', 'long/'].map((above) => {
    const folder = join(import.meta.dirname, above, 'by-folder');
    // Folder → the parts of it that are run.
    const parts = new Map<string, string[]>();
    for (const name of readdirSync(folder).sort()) {
      const [, directory = '', part = '', of = ''] =
        /^await runTogether\('([\w/]+)'(?:, (\d), (\d))?\);$/m.exec(
          readFileSync(join(folder, name), 'utf8'),
        ) ?? [];
      t.equal(`${above}${name}`, `${directory}${part && `-${part}`}.test.ts`);
      parts.set(directory, [...(parts.get(directory) ?? []), part && `${part} of ${of}`]);
    }
    for (const [directory, found] of parts) {
      const all = found.map((_, index) => `${index + 1} of ${found.length}`);
      t.strictSame(found, found.length === 1 ? [''] : all, `all parts of ${directory}`);
    }
    return `test/${above}{${[...parts.keys()].map((directory) => basename(directory)).join(',')}}/**`;
  });
  t.strictSame(tap.exclude, excluded, 'package.json, tap');
});

t.test('the image and the servers of the bench have the flags of npm start', async (t) => {
  const root = resolve(import.meta.dirname, '..');
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const flags = JSON.parse(read('package.json')).scripts.start.match(/--[\w-]+=\d+/g);
  t.equal(flags.length, 3);
  const [compiled = '', command = ''] = read('Dockerfile').match(/^(?:RUN node --|CMD ).*$/gm) ?? [];
  const [ofBench = ''] = /^const NODE_FLAGS = .*$/m.exec(read('bench/lib/server-process.ts')) ?? [];
  for (const text of [compiled, command, ofBench]) t.strictSame(text.match(/--[\w-]+=\d+/g), flags, text);
});

t.test('each test file is in npm test or in test/long/, and none in both', (t) => {
  const root = resolve(import.meta.dirname, '..');
  const [suite, long] = [suiteFiles(root), longFiles(root)];
  const together = [...suite, ...long].flatMap((file) => {
    const [, folder] = /^await runTogether\('([\w/-]+)'/m.exec(readFileSync(join(root, file), 'utf8')) ?? [];
    return folder === undefined ? [] : globSync(`test/${folder}/*.test.ts`, { cwd: root });
  });
  const everything = globSync('test/**/*.test.ts', { cwd: root });
  t.strictSame([...suite, ...long, ...new Set(together)].sort(), everything.sort());
  t.ok(suite.length > 10 && long.length > 10);
  t.end();
});

/** Returns a line for each problem, with its file. */
function violations(files: Files): string[] {
  const found: string[] = [];
  for (const [path, text] of files) {
    // This file spells out what it forbids.
    if (path === 'test/architecture.test.ts') continue;
    found.push(...misplacedWords(path, text), ...unknownAddresses(path, text));
    if (!path.startsWith('src/')) continue;
    found.push(...misplacedName(path), ...misplacedLength(path, text));
    for (const { specifier } of importsOf(text)) found.push(...misplacedImport(path, specifier));
  }
  return [...found, ...foreignTables(files), ...cycles(files), ...heavyClient(files)];
}

function misplacedWords(path: string, text: string): string[] {
  const code = withoutComments(text);
  return FORBIDDEN.filter(
    ({ where, comments, pattern }) => where.test(path) && pattern.test(comments ? text : code),
  ).map(({ what }) => `${path} has ${what}`);
}

function unknownAddresses(path: string, text: string): string[] {
  if (!BROWSER.test(path)) return [];
  const code = withoutComments(text);
  const given = ADDRESS_GIVEN.flatMap((pattern) => [...code.matchAll(pattern)]).map(([, one = '']) => one);
  return given
    .filter((address) => !ADDRESSES[path]?.includes(address))
    .map((address) => `${path} gives an address that is in no list: ${address}`);
}

function misplacedName(path: string): string[] {
  const words = relative('src', path)
    .replace(/\.tsx?$/, '')
    .split('/');
  const junk = words.filter((word) => JUNK_DRAWER.test(word));
  const found = junk.map((word) => `${path} is called ${word}: name it by its noun`);
  const { wing, area } = placeOf(path);
  if (rowOf(wing, area) === -1) found.push(`${path} is in no area of the layout`);
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
  if (BROWSER.test(path) !== BROWSER.test(target) && !target.startsWith('src/contract/'))
    return wrong('modules of pages import each other and contract/, and servers import none of them');
  const [from, to] = [placeOf(path), placeOf(target)];
  if (from.wing !== to.wing) {
    if (path === CONFIG && to.wing === 'features' && basename(target) === 'settings.ts') return [];
    if (
      to.area === 'config' &&
      from.wing !== 'app' &&
      (target === CONFIG || basename(path) !== 'settings.ts')
    )
      return wrong('take its values as options');
    if (to.area === 'client' && !BROWSER.test(path) && from.area !== 'tail')
      return wrong('client/ is for pages and the tail');
    if (
      to.area === 'http' &&
      SLICES.includes(from.wing) &&
      !/(^|-)(routes|feature)\.ts$/.test(basename(path))
    ) {
      return wrong('of a slice only its routes and its face import http/');
    }
    const isBelow = Object.keys(WINGS).indexOf(from.wing) < Object.keys(WINGS).indexOf(to.wing);
    if (isBelow && to.wing === 'features' && !(path === LIST && basename(target) === 'feature.ts'))
      return wrong(`only ${LIST} imports a feature, and of it only its face`);
    return isBelow ? [] : wrong(`${from.wing}/ is not above ${to.wing}/: ${to.wing}/ ${WINGS[to.wing]}`);
  }
  if (from.area === to.area) {
    return misplacedWithin(from.area, path, target) ? wrong(`it is not below in ${from.area}/`) : [];
  }
  if (
    from.wing === 'platform' &&
    rowOf(from.wing, from.area) === BOTTOM &&
    rowOf(from.wing, to.area) === BOTTOM
  )
    return [];
  if (to.area === 'config') return wrong('take its values as options');
  return rowOf(from.wing, from.area) < rowOf(to.wing, to.area)
    ? []
    : wrong(`${from.area} is not above ${to.area}`);
}

function misplacedWithin(area: string, path: string, target: string): boolean {
  return Object.entries(ROWS_WITHIN).some(([folder, rows]) => {
    const inside = [path, target].flatMap((file) => file.split(`/${folder}/`)[1] ?? []);
    if (folder.split('/')[0] !== area || inside.length < 2) return false;
    const [from, to] = inside.map((file) => (file.split('/')[0] ?? '').replace(/\.ts$/, ''));
    const rowOf = (part: string | undefined) => rows.findIndex((row) => row.includes(part ?? ''));
    return rowOf(from) === -1 || from === to ? false : rowOf(from) >= rowOf(to);
  });
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

/** Builders and row types that name a table which a feature declares, outside of its folder. */
function foreignTables(files: Files): string[] {
  const owners = new Map<string, string>();
  for (const [path, text] of files) {
    const [, folder] = /^(src\/features\/[\w-]+\/)tables\.ts$/.exec(path) ?? [];
    if (folder === undefined) continue;
    for (const [, table = ''] of text.matchAll(/^ {2}(\w+): (?:\w+ & )?\{$/gm)) owners.set(table, folder);
  }
  return [...files].flatMap(([path, text]) => {
    if (!path.startsWith('src/')) return [];
    const named = [...withoutComments(text).matchAll(TABLE_NAMED)].map(([, table = '']) => table);
    return named
      .filter((table) => !path.startsWith(owners.get(table) ?? ''))
      .map((table) => `${path} names ${table}, a table of ${owners.get(table)}`);
  });
}

/** The SDK has no dependency, but for its hooks; nor has what it takes values from. */
function heavyClient(files: Files): string[] {
  const found = new Set<string>();
  const visit = (path: string, seen: Set<string>): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { specifier, isType } of importsOf(files.get(path) ?? '')) {
      if (isType) continue;
      if (specifier.startsWith('.')) visit(join(dirname(path), specifier), seen);
      else if (specifier !== 'react' || !path.startsWith('src/contract/client/react/'))
        found.add(`${path} imports ${specifier}: client/ needs it and has no dependency`);
    }
  };
  const seen = new Set<string>();
  for (const path of files.keys()) if (path.startsWith('src/contract/client/')) visit(path, seen);
  return [...found];
}

/** Files right in app/ compose the others, and are one area. */
function placeOf(path: string): { readonly wing: string; readonly area: string } {
  const [wing = '', part = ''] = relative('src', path).split('/');
  const area = part.replace(/\.ts$/, '');
  return { wing, area: wing === 'app' && part.endsWith('.ts') && rowOf(wing, area) === -1 ? 'app' : area };
}

function rowOf(wing: string, area: string): number {
  return (ROWS[wing] ?? []).findIndex((row) => row.includes(area));
}

/**
 * Near enough for words that stand in prose too: a comment that begins inside a string is taken for
 * one.
 */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
}

function readTree(root: string, directories: readonly string[]): Files {
  const entries = directories.flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, withFileTypes: true }),
  );
  const paths = entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    // What `npm run build` makes.
    .filter((path) => !/\/(contract\/client|edge\/console|features\/widgets)\/dist/.test(path));
  return new Map(paths.map((path) => [relative(root, path), readFileSync(path, 'utf8')]));
}

// The checker itself: each rule against a file that breaks it, and one that does not.

const WRONG: Readonly<Record<string, readonly [path: string, text: string, message: RegExp]>> = {
  'an import upwards': [
    'src/platform/access/a.ts',
    "import { b } from '../../core/accounts/b.ts';",
    /platform\/ is not above core\//,
  ],
  'a type import upwards': [
    'src/platform/db/a.ts',
    "import type { B } from '../access/b.ts';",
    /db is not above access/,
  ],
  'an import sideways': [
    'src/platform/engine/a.ts',
    "import { b } from '../db/b.ts';",
    /engine is not above db/,
  ],
  'a re-export upwards': [
    'src/platform/http/a.ts',
    "export * from '../../core/messages/b.ts';",
    /platform\/ is not above core\//,
  ],
  'an import over several lines': [
    'src/core/messages/a.ts',
    "import {\n  b,\n  type C,\n} from '../../features/agents/b.ts';",
    /core\/ is not above features\//,
  ],
  'a dynamic import': [
    'src/platform/db/a.ts',
    "const b = await import('../../edge/gateway/b.ts');",
    /platform\/ is not above edge\//,
  ],
  'an import type expression': [
    'src/platform/db/a.ts',
    "let b: import('../http/b.ts').B;",
    /db is not above http/,
  ],
  'a bare import': ['src/core/audit/a.ts', "import '../../edge/gateway/b.ts';", /core\/ is not above edge\//],
  'the composition root': [
    'src/app/jobs/a.ts',
    "import { startApp } from '../app.ts';",
    /jobs is not above app/,
  ],
  'protocol imports something': [
    'src/contract/protocol/a.ts',
    "import type { B } from '../../platform/db/b.ts';",
    /contract\/ is not above platform\//,
  ],
  'protocol logs': [
    'src/contract/protocol/a.ts',
    "import type { Logger } from '../../platform/log.ts';",
    /contract\/ is not above platform\//,
  ],
  'client measures': [
    'src/contract/client/a.ts',
    "import { m } from '../../platform/metrics.ts';",
    /contract\/ is not above platform\//,
  ],
  'client imports the server': [
    'src/contract/client/a.ts',
    "import type { B } from '../../platform/http/b.ts';",
    /contract\/ is not above platform\//,
  ],
  'the server imports client': [
    'src/edge/gateway/a.ts',
    "import { b } from '../../contract/client/b.ts';",
    /for pages and the tail/,
  ],
  'client has a dependency': [
    'src/contract/client/a.ts',
    "import { nanoid } from 'nanoid';",
    /no dependency/,
  ],
  'log imports something': ['src/platform/log.ts', "import { b } from './db/b.ts';", /log is not above db/],
  'configuration below the root': [
    'src/platform/http/a.ts',
    "import type { Config } from '../config.ts';",
    /as options/,
  ],
  'a slice that knows http': [
    'src/core/messages/send-rules.ts',
    "import { Answer } from '../../platform/http/route.ts';",
    /only its routes/,
  ],
  'an import upwards in an area': [
    'src/features/agents/models/a.ts',
    "import type { B } from '../runs/b.ts';",
    /not below in agents/,
  ],
  'an import sideways in an area': [
    'src/features/agents/replies/a.ts',
    "import { b } from '../tools/b.ts';",
    /not below in agents/,
  ],
  'an import of an area from its part': [
    'src/features/agents/runs/a.ts',
    "import { b } from '../definitions.ts';",
    /not below in agents/,
  ],
  'an import of another feature': [
    'src/features/webhooks/a.ts',
    "import type { B } from '../mail/mail-store.ts';",
    /webhooks is not above mail/,
  ],
  'a feature beside the list': [
    'src/app/app.ts',
    "import { mail } from '../features/mail/feature.ts';",
    /only .* imports a feature/,
  ],
  'a part of a feature in the list': [
    'src/app/features.ts',
    "import { mail } from '../features/mail/mail-store.ts';",
    /of it only its face/,
  ],
  'an import of tests': [
    'src/platform/db/a.ts',
    "import { until } from '../../../test/support/until.ts';",
    /outside src/,
  ],
  'uWebSockets.js': [
    'src/edge/gateway/socket/session.ts',
    "import type { WebSocket } from 'uWebSockets.js';",
    /only .* may/,
  ],
  ioredis: ['src/platform/engine/memory-engine.ts', "import { Redis } from 'ioredis';", /only .* may/],
  pg: ['src/platform/access/tokens.ts', "import pg from 'pg';", /only .* may/],
  'a part of pg': ['src/platform/access/tokens.ts', "import pg from 'pg/lib/client';", /only .* may/],
  'the environment': ['src/platform/http/a.ts', 'const port = process.env.PORT;', /the environment/],
  'the environment by another name': [
    'src/platform/http/a.ts',
    "import { env } from 'node:process';",
    /the environment/,
  ],
  'a parameter of type any': ['src/platform/http/a.ts', 'function a(b: any) {}', /a type switched off/],
  'a cast': ['test/a.ts', 'const a = b as any;', /a type switched off/],
  'a type argument': ['bench/a.ts', 'const a = new Map<string, any>();', /a type switched off/],
  'an array': ['src/platform/http/a.ts', 'const a: Readonly<any[]> = [];', /a type switched off/],
  'a check switched off': ['src/platform/http/a.ts', '// @ts-ignore\nb();', /a check switched off/],
  'an expected error': ['test/a.ts', '// @ts-expect-error: b takes a number\nb("");', /a check switched off/],
  'a lint rule switched off': [
    'src/platform/http/a.ts',
    '// biome-ignore lint/a/b: because',
    /a check switched off/,
  ],
  'a branch for tests': ['src/platform/http/a.ts', "if (mode === 'x' || isTest) {}", /a branch for tests/],
  NODE_ENV: [
    'src/platform/config/config.ts',
    "if (process.env.NODE_ENV === 'test') {}",
    /a branch for tests/,
  ],
  'a change that resume would miss': [
    'src/features/agents/a.ts',
    'set({ changed_in: sql`pg_current_xact_id()` })',
    /a change of `changed_in`/,
  ],
  'a change that resume would miss, in a statement': [
    'src/features/agents/a.ts',
    'const A = `UPDATE b SET changed_in = pg_current_xact_id()`;',
    /a change of `changed_in`/,
  ],
  'a row type asserted': ['src/features/agents/a.ts', 'await db.query<Row>(READ);', /a row type asserted/],
  'a statement for others': [
    'src/features/agents/a.ts',
    "export const READ = statement('read')`SELECT`;",
    /a statement for others/,
  ],
  'a global of a feature': ['src/features/mail/a.ts', 'declare global {}', /others see without an import/],
  'tables beside those of a feature': [
    'src/features/mail/a.ts',
    "declare module '../../platform/db/tables/schema.ts' {\n  interface Schema extends ATables {}\n}",
    /others see without an import/,
  ],
  'a global beside the settings of a feature': [
    'src/features/mail/settings.ts',
    'declare global {}',
    /beside that of its settings/,
  ],
  'a global beside the tables of a feature': [
    'src/features/mail/tables.ts',
    'declare global {}',
    /beside that of its tables/,
  ],
  'another declaration beside the tables of a feature': [
    'src/features/mail/tables.ts',
    "declare module '../../core/accounts/accounts.ts' {\n  interface Account extends ATables {}\n}",
    /beside that of its tables/,
  ],
  'the inside of a library': [
    'src/platform/log.ts',
    'const bound = log[symbols.chindingsSym];',
    /the inside of pino/,
  ],
  'a text taken for markup': [
    'src/edge/console/page/a.tsx',
    'element.innerHTML = message.body;',
    /a text taken for markup/,
  ],
  'markup in place of an element': [
    'src/platform/ui/a.tsx',
    'element.outerHTML = message.body;',
    /a text taken for markup/,
  ],
  'markup of a frame': [
    'src/features/widgets/page/a.tsx',
    'const a = { srcdoc: message.body };',
    /a text taken for markup/,
  ],
  'markup beside an element': [
    'src/platform/ui/a.ts',
    "element.insertAdjacentHTML('beforeend', text);",
    /a text taken for markup/,
  ],
  'markup in a view': [
    'src/platform/ui/a.tsx',
    'const a = <p dangerouslySetInnerHTML={{ __html: text }} />;',
    /a text taken for markup/,
  ],
  'markup written into the page': [
    'src/edge/console/page/a.ts',
    'document.write(text);',
    /a text taken for markup/,
  ],
  'markup that is parsed': [
    'src/edge/console/page/a.ts',
    "const a = new DOMParser().parseFromString(text, 'text/html');",
    /a text taken for markup/,
  ],
  'a link that is in no list': [
    'src/edge/console/page/a.tsx',
    'const a = <a href={customer.site}>{customer.name}</a>;',
    /in no list: customer\.site/,
  ],
  'a second link of a file that has one': [
    'src/platform/ui/markdown.tsx',
    `const a = <><a href={href}>x</a><a href={\`\${token.raw}\`}>y</a></>;`,
    /in no list: `\$\{token\.raw\}`/,
  ],
  'a picture that is in no list': [
    'src/features/widgets/page/a.tsx',
    'const a = <img src={persona.picture} alt="" />;',
    /in no list: persona\.picture/,
  ],
  'an address that is assigned': [
    'src/edge/console/page/a.ts',
    'link.href = item.url;',
    /in no list: item\.url/,
  ],
  'a page that is left': [
    'src/edge/console/page/a.ts',
    'location.assign(item.url);',
    /in no list: item\.url/,
  ],
  'a window that is opened': [
    'src/edge/console/page/a.ts',
    'window.open(item.url);',
    /in no list: item\.url/,
  ],
  'an attribute that is set': [
    'src/edge/console/page/a.ts',
    "link.setAttribute('href', item.url);",
    /in no list: setAttribute/,
  ],
  'a frame of another page': [
    'src/edge/console/page/a.tsx',
    'const a = <iframe title="Shop" />;',
    /in no list: <iframe/,
  ],
  'an Enter that may be of an input method': [
    'src/features/widgets/page/a.tsx',
    "const press = (event: KeyboardEvent) => event.key === 'Enter' && pick();",
    /as the browser names it/,
  ],
  'a look at a composition': [
    'src/platform/ui/a.ts',
    'if (event.isComposing) return;',
    /as the browser names it/,
  ],
  'a key that is taken out of its event': [
    'src/edge/console/page/a.ts',
    'const press = ({ key, target }: KeyboardEvent) => go(key, target);',
    /as the browser names it/,
  ],
  'a junk drawer': ['src/platform/http/utils.ts', '', /is called utils/],
  'another one': ['src/platform/http/string-helper.ts', '', /is called string-helper/],
  'a junk directory': ['src/platform/http/common/a.ts', '', /is called common/],
  'an unknown area': ['src/realtime/a.ts', '', /no area/],
  'an unknown file': ['src/server.ts', '', /no area/],
  'a long file': ['src/platform/http/a.ts', `/** Something. */\n${'a();\n'.repeat(500)}`, /501 lines/],
};

for (const [name, [path, text, message]] of Object.entries(WRONG)) {
  t.test(`finds ${name}`, async (t) => {
    const found = violations(new Map([[path, text]]));
    t.equal(found.length, 1, found.join('\n'));
    t.match(found[0], message);
    t.ok(found[0]?.startsWith(path));
  });
}

t.test('the check of imports finds cycles, also over types', async (t) => {
  const files = new Map([
    ['src/platform/http/a.ts', "import type { B } from './b.ts';"],
    ['src/platform/http/b.ts', "export { c } from './c.ts';"],
    ['src/platform/http/c.ts', "import { a } from './a.ts';"],
    ['src/platform/http/d.ts', "import { a } from './a.ts';"],
  ]);
  t.strictSame(violations(files), [
    'a cycle: src/platform/http/a.ts → src/platform/http/b.ts → src/platform/http/c.ts → src/platform/http/a.ts',
  ]);
});

t.test('the check of tables finds those of another feature', async (t) => {
  const files = new Map([
    [
      'src/features/mail/tables.ts',
      "declare module '../../platform/db/tables/schema.ts' {\n  interface Schema extends MailTables {}\n}\n\ninterface MailTables {\n  mails: Times & {\n    id: string;\n  };\n}\n",
    ],
    ['src/features/mail/a.ts', "db.kysely.selectFrom('mails');"],
    ['src/features/push/a.ts', "db.kysely\n  .insertInto('mails');\ndb.kysely.selectFrom('digests');"],
    ['src/app/demo/a.ts', "type Mail = Selectable<Schema['mails']>;"],
  ]);
  t.strictSame(violations(files), [
    'src/features/push/a.ts names mails, a table of src/features/mail/',
    'src/app/demo/a.ts names mails, a table of src/features/mail/',
  ]);
});

t.test('finds what client/ would pull in through protocol/', async (t) => {
  const files = new Map([
    [
      'src/contract/client/a.ts',
      "import { B } from '../protocol/b.ts';\nimport type { C } from '../protocol/c.ts';",
    ],
    ['src/contract/client/react/d.ts', "import { useState } from 'react';"],
    ['src/contract/protocol/b.ts', "import { Type } from 'typebox';"],
    ['src/contract/protocol/c.ts', "import { customAlphabet } from 'nanoid';"],
  ]);
  t.strictSame(violations(files), [
    'src/contract/protocol/b.ts imports typebox: client/ needs it and has no dependency',
  ]);
});

t.test('finds nothing in what is right', async (t) => {
  const long = `/** 501 lines: a table that is looked up as a whole. */\n${'a();\n'.repeat(500)}`;
  const files = new Map([
    [
      'src/app/main.ts',
      "import { c } from '../platform/config/config.ts';\nconst { app } = await import('./app.ts');",
    ],
    [
      'src/app/app.ts',
      "import { g } from '../edge/gateway/server.ts';\nimport { c } from '../platform/config/config.ts';",
    ],
    [
      'src/platform/config/config.ts',
      "import { L } from '../../contract/protocol/limits.ts';\nexport const p = process.env.PORT;",
    ],
    [
      'src/edge/gateway/socket/server.ts',
      "import { App } from 'uWebSockets.js';\nimport { log } from '../log.ts';",
    ],
    [
      'src/platform/engine/redis-engine.ts',
      "import { Redis } from 'ioredis';\nimport { m } from '../metrics.ts';",
    ],
    [
      'src/platform/db/connection/database.ts',
      "import pg from 'pg';\nimport { newId } from '../../../contract/protocol/ids.ts';",
    ],
    [
      'src/core/messages/routes.ts',
      "import { r } from '../../platform/http/route.ts';\nimport { s } from './send-rules.ts';",
    ],
    [
      'src/core/messages/send-rules.ts',
      '/** Takes: any of them. */\nconst any = 1; // as any of them\nf(any);',
    ],
    ['src/edge/console/page/session.ts', "import { connect } from '../../../contract/client/connect.ts';"],
    ['src/features/agents/routes.ts', "import { s } from './store.ts';\nimport { r } from './runs/b.ts';"],
    [
      'src/features/agents/runs/b.ts',
      "import type { M } from '../models/m.ts';\nimport { c } from './c.ts';",
    ],
    ['src/contract/client/connect.ts', "import { CODES } from '../protocol/codes.ts';"],
    ['src/contract/protocol/codes.ts', 'export const CODES = {} as const;'],
    ['src/contract/protocol/error-types-of-postgres.ts', ''],
    ['src/platform/http/long.ts', long],
    [
      'src/platform/ui/markdown.tsx',
      'const a = <><a href={href}>{text}</a><a href="#main">x</a></>;\nconst same = shown.href === location.href;',
    ],
  ]);
  t.strictSame(violations(files), []);
});
