/**
 * The rules of docs/architecture.md#layers: the permitted imports between folders, the places where
 * things may be used, and what is forbidden.
 */

import { spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path/posix';
import t from 'tap';
import { type Files, isSource, pictureOf, placeOf, readTree, WINGS, withPicture } from './support/house.ts';
import { importedPath, importsOf } from './support/imports.ts';
import { longFiles, suiteFiles } from './verdict/sets.ts';

/**
 * Our packages, each with our packages that it may import, and with the files of src/ that may
 * import it. They import nothing of src/.
 */
const OURS: Readonly<Record<string, { readonly imports: readonly string[]; readonly by?: RegExp }>> = {
  console: { imports: ['ui', 'client', 'markdown', 'protocol'] },
  widget: { imports: ['ui', 'client', 'markdown', 'protocol'] },
  ui: { imports: ['client', 'markdown', 'protocol'] },
  client: { imports: ['protocol'], by: /^src\/app\/tail\.ts$/ },
  archives: { imports: ['protocol'], by: /^src\/features\/import\// },
  'mail-reader': { imports: ['protocol'], by: /^src\/features\/(mail|agents)\// },
  markdown: { imports: [], by: /^src\/(features\/(mail|widgets)|core\/(messages|resources))\// },
  'embedded-postgres': { imports: [], by: /^src\/app\// },
  protocol: { imports: [], by: /^src\// },
};
/**
 * Rows within a wing, from top to bottom: an area may import those below its row, never its own
 * row's others. An area is a directory of a wing, or a file right in it. `config` is restricted
 * further below.
 */
const ROWS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  app: [['main'], ['app', 'admin', 'tail'], ['supervisor', 'demo'], ['features', 'config']],
  edge: [['gateway', 'console']],
  // One row: what they need of one another goes through core/features/.
  features: [
    [
      'webhooks',
      'cells',
      'compliance',
      'customer-cards',
      'questions',
      'agents',
      'mail',
      'push',
      'search',
      'platform-events',
      'identity',
      'import',
      'widgets',
      'mcp',
    ],
  ],
  core: [
    ['committed'],
    ['features'],
    ['installation'],
    ['notifications', 'inbox'],
    ['messages'],
    ['conversations', 'registration'],
    ['accounts'],
    ['attachments', 'audit', 'events'],
    ['resources'],
    ['documents', 'endpoint-tools', 'frames', 'tables', 'metrics'],
  ],
  api: [['health', 'documents'], ['pipeline'], ['access'], ['marked-json', 'metrics']],
  platform: [
    ['settings'],
    ['http', 'engine', 'db', 'outbound'],
    // They import nothing but each other.
    [
      'log',
      'metrics',
      'lifecycle',
      'background',
      'backoff',
      'bounded',
      'build',
      'hooks',
      'json-bytes',
      'plain-text',
      'sealed-bytes',
      'timezone-offset',
    ],
  ],
};
/**
 * The same inside an area, a package, or a folder of one, by the next part of the path: each of its
 * folders has a row, and files right in it that have none come first. An area and a package of more
 * than 3,000 lines must have rows.
 */
const ROWS_WITHIN: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'packages/archives': [
    ['convert'],
    ['process'],
    ['open-archive'],
    ['mattermost', 'parley', 'slack', 'zulip'],
    ['content'],
    ['container'],
    ['reader'],
    ['record'],
  ],
  'packages/client': [
    ['add', 'ai', 'react'],
    ['index'],
    ['connect', 'native'],
    ['client'],
    ['late'],
    ['live-api', 'store', 'timeline', 'writing'],
    ['api', 'conversation'],
    ['inbox', 'notifications', 'people', 'runs'],
    ['lists'],
    ['live', 'outbox', 'push'],
    ['rest'],
    ['link'],
    ['events', 'timing'],
    ['errors'],
  ],
  'packages/console': [
    ['main'],
    ['start'],
    ['console'],
    ['shell'],
    ['sections'],
    ['agents', 'compliance', 'customer-cards', 'identity', 'import', 'push', 'webhooks', 'widgets'],
    ['administration'],
    ['timeline'],
    ['composer', 'work'],
    ['drafts', 'message'],
    ['runs'],
    ['details'],
    ['inbox', 'installation', 'notifications', 'search'],
    ['writing', 'holds', 'names', 'mail', 'nav'],
    ['session'],
    ['texts'],
  ],
  'packages/mail-reader': [
    ['mail-reader'],
    ['thread'],
    ['read-mail'],
    ['reports'],
    ['mime'],
    ['text', 'parsed-mail', 'mail-limits'],
  ],
  'packages/protocol': [
    ['event-areas', 'validation'],
    ['socket', 'states', 'forms', 'json'],
    ['resources', 'errors', 'lists'],
    ['schema', 'permissions'],
    ['emoji', 'ids', 'traceparent', 'trigger-events', 'versions', 'webhook-events'],
  ],
  'packages/ui': [
    ['data'],
    ['form'],
    ['choices'],
    ['overlays'],
    ['feedback', 'files'],
    ['elements', 'text', 'typing', 'hooks', 'moves'],
    ['texts'],
  ],
  'packages/widget': [
    ['main', 'loader', 'bubble'],
    ['frame'],
    ['chat'],
    ['identity'],
    ['host'],
    ['texts', 'readable-on'],
  ],
  'src/api/documents': [
    ['built-page', 'registry'],
    ['pages'],
    ['client-package'],
    ['built-file', 'documents', 'openapi'],
  ],
  'src/core/accounts': [
    ['routes'],
    ['users', 'holdings', 'installation'],
    ['account'],
    ['customers', 'groups', 'keys', 'sessions'],
    ['actors', 'avatars'],
    ['rights', 'entity-routes'],
    ['collections', 'people'],
  ],
  'src/core/conversations': [
    ['routes'],
    ['lifecycle', 'events', 'holdings'],
    ['cases'],
    ['blocks', 'participants'],
    ['rows'],
    ['directory', 'outbox-topics'],
  ],
  'src/core/messages': [
    ['routes'],
    ['editing', 'events', 'holdings'],
    ['removal', 'forwards'],
    ['pins', 'reactions', 'sending', 'threads'],
    ['drafts', 'reading', 'schedules'],
    ['timeline'],
    ['rules', 'rows', 'outbox-topics'],
  ],
  'src/core/notifications': [['causes'], ['feed'], ['settings']],
  'src/core/resources': [
    ['expanded-message', 'shown-conversation', 'holdings'],
    ['conversation', 'thread', 'reaction'],
    ['large-bodies'],
    ['message', 'notification', 'participant', 'group', 'mailbox', 'run'],
    ['agent', 'attachment', 'actor-filter', 'question', 'user', 'api-key'],
    ['entity', 'role'],
    ['actor', 'encoded-rows', 'external-ids', 'metadata', 'metadata-filter', 'present-as', 'without-content'],
    ['known-users'],
    ['membership'],
  ],
  'src/edge/gateway': [
    ['gateway', 'routes'],
    ['answers'],
    ['socket'],
    ['catch-up', 'presence', 'inbox-updates'],
    ['session'],
    ['stream'],
    ['changes', 'options'],
    ['metrics'],
  ],
  'src/features/agents': [
    ['triggers'],
    ['runs'],
    ['replies', 'tools'],
    ['models', 'metrics', 'settings', 'tables'],
  ],
  'src/features/agents/runs': [['control', 'execution', 'removal'], ['effects'], ['state']],
  'src/features/import': [
    ['feature'],
    ['commands'],
    ['import-archive'],
    ['local-import'],
    ['job'],
    ['imports', 'messages', 'import-check'],
    ['settings', 'tables'],
  ],
  'src/features/mail': [
    ['feature'],
    ['incoming', 'conversation-email-routes', 'holdings'],
    ['transports'],
    ['outgoing', 'removal', 'demo', 'mail-check'],
    ['complaints', 'mailboxes', 'mails', 'metrics', 'settings', 'tables'],
  ],
  'src/features/push': [
    ['feature', 'commands'],
    ['web', 'phones', 'digests', 'push-check'],
    ['deliveries'],
    ['metrics', 'settings', 'tables'],
  ],
  'src/platform/db': [
    ['migration', 'notices'],
    ['queue', 'shared-secret'],
    ['connection'],
    ['tables', 'sync-directory'],
  ],
  'src/platform/engine': [
    ['open-engine'],
    ['shards'],
    ['redis', 'memory-engine'],
    ['losses', 'channels'],
    ['engine', 'partitions'],
  ],
};
const MOST_LINES_WITHOUT_ROWS = 3_000;

/**
 * The way of a message in docs/architecture.md, from its request to a socket of another node: files
 * of which each imports the next. A line begins with a function that is handed down: the handler of
 * a request, the cause of a commit, the link between nodes, the listener for frames.
 */
const WALK: readonly (readonly string[])[] = [
  ['src/api/pipeline/pipeline.ts', 'src/platform/http/exchange.ts'],
  ['src/api/pipeline/pipeline.ts', 'src/api/pipeline/run-host.ts', 'src/api/access/authenticate.ts'],
  ['src/core/messages/routes.ts', 'src/core/messages/sending/send.ts'],
  ['src/core/messages/sending/send.ts', 'src/core/conversations/directory/access.ts'],
  ['src/core/messages/sending/send.ts', 'src/core/messages/rules/send-rules.ts'],
  [
    'src/core/messages/sending/send.ts',
    'src/core/messages/sending/compose.ts',
    'src/core/messages/rows/new-message.ts',
  ],
  [
    'src/core/messages/sending/send.ts',
    'src/core/messages/timeline/write-path.ts',
    'src/core/messages/timeline/insert-store.ts',
    'src/platform/db/connection/statement.ts',
  ],
  [
    'src/core/committed/sent-effects.ts',
    'src/core/frames/publish.ts',
    'src/core/frames/engine.ts',
    'src/platform/engine/engine.ts',
  ],
  [
    'src/platform/engine/shards/partitioned-engine.ts',
    'src/platform/engine/redis/redis-engine.ts',
    'src/platform/engine/losses/arrivals.ts',
  ],
  ['src/edge/gateway/stream/open-stream.ts', 'src/edge/gateway/stream/conversation-stream.ts'],
  ['src/edge/gateway/stream/conversation-stream.ts', 'src/core/frames/frame.ts'],
];
const MOST_ROOMS_OF_WALK = 18;

const SLICES = ['core', 'features'];
/** The list of the faces. */
const LIST = 'src/app/features.ts';
/** Reads the environment, and has features read theirs. */
const CONFIG = 'src/app/config.ts';
/** The operator's commands, those of features included. */
const COMMANDS = 'src/app/admin/commands.ts';
const BOTTOM = (ROWS.platform ?? []).length - 1;

/** The packages that run in browsers: `npm run build` makes pages of them. */
const BROWSER = /^packages\/(ui|console|widget)\/(?!test\/)/;

/** Package → where alone it may be imported. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  'uWebSockets.js': /^src\/(platform\/http\/(server|uws)|edge\/gateway\/socket\/(server|upgrade-cork))\.ts$/,
  ioredis: /^src\/platform\/engine\/redis\/redis-[a-z]+\.ts$/,
  pg: /^src\/platform\/db\//,
  undici: /^src\/platform\/outbound\//,
  preact: BROWSER,
};

/** The rule of Kysely and statements (src/platform/db/README.md) holds above the folder of both. */
const NOT_DB = /^src\/(?!platform\/db\/)/;

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
    // Production is a word of the operator's, and asks for more care.
    pattern: /\bNODE_ENV\b(?!(=| === ')production\b)|\bisTest\w*\b|\benv\.TEST\b|\b__TEST__\b|\bTAP_\w+\b/,
  },
  {
    what: 'the environment, which src/app/config.ts alone reads',
    where: /^src\/(?!app\/config\.ts$)/,
    pattern: /\bprocess\s*(\?\.|\.|\[\s*['"])\s*env\b|from 'node:process'/,
  },
  {
    what: 'a change of `changed_in`, which touched() of db/touched.ts makes together with `updated_at`',
    where: /^src\/(?!platform\/db\/(tables\/(touched|columns)|migration\/renewed-rows)\.ts$)/,
    pattern: /\bchanged_in\s*(:|=)\s*(sql|pg_)/,
  },
  {
    what: 'a row type asserted at a query: statement() types it beside the SQL',
    where: NOT_DB,
    pattern: /\.query</,
  },
  {
    what: 'a builder of more than one table: a join, a subquery, a queue and a part of a list are statements',
    where: NOT_DB,
    pattern:
      /(?<!kysely\s*\.)\b(?:selectFrom|selectNoFrom|insertInto|updateTable|deleteFrom)\(|kysely\s*\.(?:with|selectNoFrom)\(|\.(?:(?:inner|left|right|full|cross)Join(?:Lateral)?|whereRef|having|distinctOn|skipLocked|noWait|unionAll)\(|\.(?:limit|offset)\(\d|\.groupBy\('/,
  },
  {
    what: 'a builder that chooses rows otherwise than by the values of columns: it is a statement',
    where: NOT_DB,
    pattern:
      /\.(?:where|orderBy)\(\s*(?:\(|\w+\s*=>|sql\b|'[\w.]+',\s*(?:'(?:[<>]=?|i?like)'|'[\w <>=!]+',\s*(?:\(|\w+\s*=>|sql\b)))/,
  },
  {
    what: 'SQL that is run as it is written: it is a statement',
    where: NOT_DB,
    pattern: /\bsql(?:<[^`]*?>)?`(?:[^`\\]|\\.)*`\s*\.execute\(/,
  },
  {
    what: 'a plain change as a statement within a transaction, where none is prepared: it is built',
    // The transactions of a move are of two installations, and have no builder.
    where: /^src\/(?!platform\/db\/|features\/cells\/)/,
    pattern: plainChange(),
  },
  {
    what: 'a statement for others: export a function',
    where: NOT_DB,
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
    what: 'a word of the chat: it knows no conversation',
    where: /^src\/platform\//,
    comments: true,
    pattern:
      /\b(audit|chat)|conversation|participant|assignee|customer|visitor|inbox|mention|draft|reaction|widget|webhook|mailbox/i,
  },
  {
    what: 'a word of the chat: any API could have it',
    where: /^src\/api\/(?!documents\/)/,
    comments: true,
    // Kinds of callers are named: customers, and visitors of widgets.
    pattern: /\bchat|conversation|participant|assignee|inbox|mention|draft|reaction|webhook|mailbox/i,
  },
  {
    what: 'the inside of pino or prom-client',
    where: /^src\//,
    pattern: /\bsymbols\.\w+Sym\b|\bhashMap\b|\bbucketValues\b/,
  },
  {
    what: 'a text taken for markup',
    where: new RegExp(`${BROWSER.source}|^packages/client/react/`),
    pattern:
      /\b((inner|outer)HTML|srcdoc|insertAdjacentHTML|dangerouslySetInnerHTML|createContextualFragment|DOMParser|(set|parse)HTML\w*)\b|\bdocument\s*\.\s*write/i,
  },
  {
    what: 'a key as the browser names it, also one of an input method: pressedKey() says which it is',
    where: new RegExp(`(?!^packages/ui/typing/pressed-key\\.ts$)${BROWSER.source}`),
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
  'packages/console/administration/parts/audit-head.tsx': [
    `\`data:application/json,\${encodeURIComponent(JSON.stringify(proof.head))}\``,
  ],
  'packages/console/compliance/export-file.tsx': ['item.url'],
  'packages/console/installation/checks.tsx': ['docs_url'],
  'packages/console/mail/mail-html.tsx': [
    "isLoading ? '/console/mail-frame/pictures' : '/console/mail-frame'",
    '<iframe',
  ],
  'packages/console/mail/mail-parts.tsx': ['mail.source_url'],
  'packages/console/details/customers.tsx': [`\`mailto:\${address}\``],
  // The server takes https addresses alone (src/features/customer-cards/answer.ts).
  'packages/console/details/card.tsx': ['url'],
  'packages/console/details/files.tsx': ['url'],
  'packages/console/runs/artifact-link.tsx': ['artifact.url'],
  'packages/console/session/sign-in.tsx': ['beginAt(id)'],
  'packages/console/nav/link.tsx': ['pathOf(to)'],
  'packages/console/shell/page-title.ts': ['plain', `\`data:image/svg+xml,\${encodeURIComponent(svg)}\``],
  'packages/console/message/message-attachments.tsx': ['attachment.url!', 'url'],
  'packages/console/message/picture-view.tsx': ["url ?? ''"],
  'packages/widget/chat/bubble-files.tsx': ['preview', 'address'],
  'packages/widget/host/launcher.ts': [
    "createElement('iframe')",
    `\`\${origin}/widget/\${page}?\${new URLSearchParams({ account, widget, lang: language })}\``,
  ],
  'packages/ui/elements/avatar.tsx': ['url'],
  'packages/ui/text/markdown.tsx': ['href'],
  'packages/ui/files/upload-list.tsx': ['previewUrl'],
};
/** How code gives an address, but for one that an attribute spells out. */
const ADDRESS_GIVEN: readonly RegExp[] = [
  /(?<![\w-])(?:href|src|srcset|poster|ping|formaction|xlink:?href)=\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}/gi,
  /\.(?:href|src|srcset|action|location)\s*\??\??=(?!=)\s*([^;]+)/g,
  /(?:\blocation\.(?:assign|replace)|\b(?:window|globalThis)\.open|\bopenWindow)\(([^;]*)\)/g,
  /\b((?:setAttribute|createElement|h)\('(?:href|src|on\w+|a|base|embed|iframe|object|script|style)'[^;\n]*?\))/g,
  /(?<![\w`])(<(?:base|embed|iframe|meta|object|script|style|form\b[^>]*\saction=)\b)/g,
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
    'packages',
    'src',
    'bench',
    'examples',
    'migrations',
    'test',
  ]);
  t.ok(files.has('src/app/main.ts'), 'there is something to look at');
  t.strictSame([...violations(files), ...roomsWithoutRows(files)], []);
});

t.test('a sent message goes down, through few rooms', (t) => {
  const files = readTree(resolve(import.meta.dirname, '..'), ['src']);
  const climbs = WALK.flatMap((line) =>
    line.slice(1).filter((file, index) => {
      const before = line[index] ?? '';
      const imported = importsOf(files.get(before) ?? '');
      return !imported.some(({ specifier }) => importedPath(before, specifier) === file);
    }),
  );
  t.strictSame(climbs, [], 'each file is imported by the one before, and imports go down alone');
  const rooms = new Set(WALK.flat().map((file) => dirname(file)));
  t.ok(rooms.size <= MOST_ROOMS_OF_WALK, `${rooms.size} rooms`);
  t.end();
});

t.test('no folder and its neighbours import each other in a circle', (t) => {
  const files = readTree(resolve(import.meta.dirname, '..'), ['src', 'packages']);
  t.strictSame(circlesOfFolders(files), []);
  t.end();
});

t.test('the picture in docs/architecture.md is that of the imports', (t) => {
  const root = resolve(import.meta.dirname, '..');
  const document = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const drawn = withPicture(document, pictureOf(readTree(root, ['src', 'packages'])));
  t.equal(document, drawn, 'node test/support/house.ts draws it');
  t.end();
});

t.test('each package says what it depends on, in the versions of the others', (t) => {
  const root = resolve(import.meta.dirname, '..');
  const manifestOf = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const all = manifestOf('');
  const versions = new Map<string, string>(Object.entries({ ...all.dependencies, ...all.devDependencies }));
  t.strictSame(Object.keys(OURS).sort(), readdirSync(join(root, 'packages')).sort());
  for (const [name, { imports }] of Object.entries(OURS)) {
    const folder = `packages/${name}`;
    const {
      name: full,
      dependencies = {},
      devDependencies = {},
      optionalDependencies = {},
    } = manifestOf(folder);
    t.equal(full, `@parley/${name}`);
    const listed = { ...dependencies, ...devDependencies };
    const needed = new Set<string>();
    for (const [path, text] of readTree(root, [folder])) {
      if (!isSource(path)) continue;
      for (const { specifier } of importsOf(text)) {
        if (!/^(\.|node:)/.test(specifier)) needed.add(packageNameOf(specifier));
      }
    }
    // A style names the files of a package, as a module imports it.
    for (const style of readdirSync(join(root, folder)).filter((file) => file.endsWith('.css'))) {
      const text = readFileSync(join(root, folder, style), 'utf8');
      for (const [, specifier] of text.matchAll(/url\("(@[^"]+)"\)/g)) needed.add(packageNameOf(specifier!));
    }
    t.strictSame(Object.keys(listed).sort(), [...needed].sort(), full);
    const ours = [...needed].filter((one) => one.startsWith('@parley/'));
    t.strictSame(ours.sort(), imports.map((one) => `@parley/${one}`).sort(), `${full}, of ours`);
    for (const [dependency, version] of Object.entries({ ...listed, ...optionalDependencies })) {
      t.equal(version, versions.get(dependency) ?? version, `${full}: ${dependency}`);
      versions.set(dependency, `${version}`);
    }
  }
  t.end();
});

t.test('tests that are not run file by file are run together', async (t) => {
  const { tap } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'));
  // Folder → the parts of it that are run.
  const parts = new Map<string, string[]>();
  for (const above of ['', 'long']) {
    const folder = join(import.meta.dirname, above, 'by-folder');
    for (const name of readdirSync(folder).sort()) {
      const [, directory = '', part = '', of = ''] =
        /^await runTogether\('([\w/-]+)'(?:, (\d), (\d))?\);$/m.exec(
          readFileSync(join(folder, name), 'utf8'),
        ) ?? [];
      const [, subject] =
        /^(?:test\/(?:long\/)?([\w-]+)|packages\/([\w-]+)\/test)$/
          .exec(directory)
          ?.filter((it) => it !== undefined) ?? [];
      t.equal(name, `${subject}${part && `-${part}`}.test.ts`);
      t.equal(directory.startsWith('test/long/'), above === 'long', directory);
      parts.set(directory, [...(parts.get(directory) ?? []), part && `${part} of ${of}`]);
    }
  }
  for (const [directory, found] of parts) {
    const all = found.map((_, index) => `${index + 1} of ${found.length}`);
    t.strictSame(found, found.length === 1 ? [''] : all, `all parts of ${directory}`);
  }
  const excluded: string[] = tap.exclude.flatMap((glob: string) => {
    const [before = '', names = '', after = ''] = glob.replace(/\/\*\*$/, '').split(/[{}]/);
    return names.split(',').map((name) => `${before}${name}${after}`);
  });
  t.strictSame(excluded.sort(), [...parts.keys()].sort(), 'package.json, tap');
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
    return folder === undefined ? [] : globSync(`${folder}/*.test.ts`, { cwd: root });
  });
  const everything = globSync('{test,packages/*/test}/**/*.test.ts', { cwd: root });
  t.strictSame([...suite, ...long, ...new Set(together)].sort(), everything.sort());
  t.ok(suite.length > 10 && long.length > 10);
  t.end();
});

/**
 * Returns the pattern of a statement that inserts values or deletes by them, and of its use in a
 * transaction, in either order.
 */
function plainChange(): RegExp {
  const condition = String.raw`\w+ = \$\d+`;
  const change = [
    String.raw`INSERT INTO \w+ \([\w,\s]+\)\s+VALUES \([$\d,\s]+\)`,
    String.raw`DELETE FROM \w+\s+WHERE ${condition}(?:\s+AND ${condition})*`,
  ].join('|');
  const rest = `[^\`]*\`\\s*(?:${change})(?:\\s+RETURNING [\\w,\\s*]+)?\``;
  const made = (name: string) => String.raw`\bconst ${name} = statement\b${rest}`;
  const used = (name: string) => String.raw`\btx\s*\.query\(\s*${name}\b`;
  return new RegExp(
    String.raw`${made('(\\w+)')}[\s\S]*?${used('\\1')}|${used('(\\w+)')}[\s\S]*?${made('\\2')}`,
  );
}

/** Returns a line for each problem, with its file. */
function violations(files: Files): string[] {
  const found: string[] = [];
  for (const [path, text] of files) {
    // This file spells out what it forbids.
    if (path === 'test/architecture.test.ts') continue;
    found.push(...misplacedWords(path, text), ...unknownAddresses(path, text));
    if (!isSource(path)) continue;
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
  const words = path.replace(/\.tsx?$/, '').split('/');
  const junk = words.filter((word) => JUNK_DRAWER.test(word));
  const found = junk.map((word) => `${path} is called ${word}: name it by its noun`);
  const { wing, area } = placeOf(path);
  const isPlaced = wing === 'packages' ? Object.hasOwn(OURS, area) : rowOf(wing, area) !== -1;
  if (!isPlaced) found.push(`${path} is in no area of the layout`);
  for (const [room, rows] of Object.entries(ROWS_WITHIN)) {
    const [part = '', ...inside] = path.startsWith(`${room}/`) ? path.slice(room.length + 1).split('/') : [];
    if (inside.length > 0 && !rows.flat().includes(part)) found.push(`${path} is in no row of ${room}/`);
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
  const target = importedPath(path, specifier);
  if (target === undefined) {
    const name = packageNameOf(specifier);
    const place = Object.hasOwn(PACKAGES, name) ? PACKAGES[name] : undefined;
    return place === undefined || place.test(path) ? [] : wrong(`only ${place.source} may`);
  }
  if (!isSource(target)) return wrong('it is outside src/ and packages/');
  const [from, to] = [placeOf(path), placeOf(target)];
  if (to.wing === 'packages' && (from.wing !== to.wing || from.area !== to.area)) {
    if (specifier.startsWith('.')) return wrong(`by its name, @parley/${to.area}`);
    const other = OURS[to.area];
    const isAllowed =
      from.wing === 'packages' ? OURS[from.area]?.imports.includes(to.area) : other?.by?.test(path);
    return isAllowed ? [] : wrong(`${to.area} is not for it`);
  }
  if (from.wing !== to.wing) {
    if (from.wing === 'packages') return wrong('a package knows nothing of src/');
    if (path === COMMANDS && to.wing === 'features' && basename(target) === 'commands.ts') return [];
    if (path === CONFIG && to.wing === 'features' && basename(target) === 'settings.ts') return [];
    if (to.area === 'config') return wrong('take its values as options');
    if (
      (to.wing === 'api' || to.area === 'http') &&
      !['access', 'health', 'marked-json', 'metrics'].includes(to.area) &&
      SLICES.includes(from.wing) &&
      !/(^|-)(routes|feature)\.ts$/.test(basename(path))
    ) {
      return wrong('of a slice only its routes and its face import the pipeline, documents and http/');
    }
    const isBelow = Object.keys(WINGS).indexOf(from.wing) < Object.keys(WINGS).indexOf(to.wing);
    if (isBelow && to.wing === 'features' && !(path === LIST && basename(target) === 'feature.ts'))
      return wrong(`only ${LIST} imports a feature, and of it only its face`);
    return isBelow ? [] : wrong(`${from.wing}/ is not above ${to.wing}/: ${to.wing}/ ${WINGS[to.wing]}`);
  }
  const room = roomBetween(path, target);
  if (room !== undefined) return wrong(`it is not below in ${room}/`);
  if (from.area === to.area) return [];
  if (
    from.wing === 'platform' &&
    rowOf(from.wing, from.area) === BOTTOM &&
    rowOf(from.wing, to.area) === BOTTOM
  )
    return [];
  return rowOf(from.wing, from.area) < rowOf(to.wing, to.area)
    ? []
    : wrong(`${from.area} is not above ${to.area}`);
}

/** Returns the room in whose rows the first file is not above the second. */
function roomBetween(path: string, target: string): string | undefined {
  return Object.entries(ROWS_WITHIN).find(([room, rows]) => {
    if (!path.startsWith(`${room}/`) || !target.startsWith(`${room}/`)) return false;
    const partOf = (file: string) => (file.slice(room.length + 1).split('/')[0] ?? '').replace(/\.tsx?$/, '');
    const [from, to] = [partOf(path), partOf(target)];
    const rowOfPart = (part: string) => rows.findIndex((row) => row.includes(part));
    return rowOfPart(from) === -1 || from === to ? false : rowOfPart(from) >= rowOfPart(to);
  })?.[0];
}

/** Areas and packages that have become so large that they need rows, and have none. */
function roomsWithoutRows(files: Files): string[] {
  const lines = new Map<string, number>();
  for (const [path, text] of files) {
    if (!isSource(path)) continue;
    const { wing, area } = placeOf(path);
    const room = wing === 'packages' ? `packages/${area}` : `src/${wing}/${area}`;
    lines.set(room, (lines.get(room) ?? 0) + text.split('\n').length);
  }
  return [...lines]
    .filter(([room, count]) => count > MOST_LINES_WITHOUT_ROWS && !Object.hasOwn(ROWS_WITHIN, room))
    .map(([room, count]) => `${room}/ has ${count} lines and no rows`);
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
      const target = importedPath(path, specifier);
      if (target !== undefined) visit(target, [...trail, path]);
    }
    finished.add(path);
  };
  for (const path of files.keys()) if (isSource(path)) visit(path, []);
  return found;
}

/**
 * Returns a line for each circle of the parts of a folder: its folders, and the files right in it.
 */
function circlesOfFolders(files: Files): string[] {
  // Folder → part → the parts that it imports.
  const folders = new Map<string, Map<string, Set<string>>>();
  for (const [path, text] of files) {
    if (!isSource(path)) continue;
    for (const { specifier } of importsOf(text)) {
      const [from, to] = [path.split('/'), (importedPath(path, specifier) ?? '').split('/')];
      const at = from.findIndex((part, index) => part !== to[index]);
      const folder = from.slice(0, at).join('/');
      if (folder === '') continue;
      const parts = folders.get(folder) ?? new Map<string, Set<string>>();
      folders.set(folder, parts);
      const below = parts.get(from[at] ?? '') ?? new Set<string>();
      parts.set(from[at] ?? '', below.add(to[at] ?? ''));
    }
  }
  return [...folders].flatMap(([folder, parts]) => {
    const reaches = (from: string, goal: string, seen: Set<string>): boolean =>
      [...(parts.get(from) ?? [])].some((next) => {
        if (next === goal) return true;
        if (seen.has(next)) return false;
        return reaches(next, goal, seen.add(next));
      });
    const inCircle = [...parts.keys()].filter((part) => reaches(part, part, new Set()));
    return inCircle.length === 0 ? [] : [`${folder}/: ${inCircle.sort().join(', ')}`];
  });
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
      const target = importedPath(path, specifier);
      if (target !== undefined) visit(target, seen);
      else if (specifier !== 'react' || !path.startsWith('packages/client/react/'))
        found.add(`${path} imports ${specifier}: client/ needs it and has no dependency`);
    }
  };
  const seen = new Set<string>();
  // The command runs in Node, and no page loads it.
  for (const path of files.keys()) if (/^packages\/client\/(?!test\/|add\/)/.test(path)) visit(path, seen);
  return [...found];
}

/** Returns the name of the package of a specifier: `@scope/name/file.ts` → `@scope/name`. */
function packageNameOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
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

// The checker itself: each rule against a file that breaks it, and one that does not.

const WRONG: Readonly<Record<string, readonly [path: string, text: string, message: RegExp]>> = {
  'a table of the chat below it': [
    'src/platform/db/a.ts',
    "const INDEX = { on: 'messages (conversation_id)' };",
    /it knows no conversation/,
  ],
  'a comment on the chat below it': [
    'src/platform/http/a.ts',
    '/** Ten customers wait for one lock. */',
    /it knows no conversation/,
  ],
  'an API that knows its mailboxes': [
    'src/api/access/a.ts',
    'const LIMITED = { mailboxes: 10 };',
    /any API could have it/,
  ],
  'an import upwards': [
    'src/api/access/a.ts',
    "import { b } from '../../core/accounts/b.ts';",
    /api\/ is not above core\//,
  ],
  'a type import upwards': [
    'src/platform/db/a.ts',
    "import type { B } from '../../api/access/b.ts';",
    /platform\/ is not above api\//,
  ],
  'an import upwards in a wing': [
    'src/api/access/a.ts',
    "import type { B } from '../pipeline/b.ts';",
    /access is not above pipeline/,
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
    'src/app/supervisor/a.ts',
    "import { startApp } from '../app.ts';",
    /supervisor is not above app/,
  ],
  'a package that imports the server': [
    'packages/protocol/a.ts',
    "import type { B } from '../../src/platform/db/b.ts';",
    /knows nothing of src/,
  ],
  'a package that imports one above it': [
    'packages/protocol/a.ts',
    "import type { B } from '@parley/client';",
    /client is not for it/,
  ],
  'a package that is reached by a path': [
    'packages/client/a.ts',
    "import type { B } from '../protocol/b.ts';",
    /by its name, @parley\/protocol/,
  ],
  'a package that is reached by a path from the server': [
    'src/core/audit/a.ts',
    "import { b } from '../../../packages/protocol/b.ts';",
    /by its name, @parley\/protocol/,
  ],
  'the server imports client': [
    'src/edge/gateway/a.ts',
    "import { b } from '@parley/client/b.ts';",
    /client is not for it/,
  ],
  'the server imports a page': [
    'src/edge/console/a.ts',
    "import { b } from '@parley/console/b.ts';",
    /console is not for it/,
  ],
  'a reader beside the room that uses it': [
    'src/features/webhooks/a.ts',
    "import { b } from '@parley/mail-reader/b.ts';",
    /mail-reader is not for it/,
  ],
  'client has a dependency': ['packages/client/a.ts', "import { nanoid } from 'nanoid';", /no dependency/],
  'log imports something': ['src/platform/log.ts', "import { b } from './db/b.ts';", /log is not above db/],
  'configuration below the root': [
    'src/edge/gateway/a.ts',
    "import type { Config } from '../../app/config.ts';",
    /as options/,
  ],
  'a slice that knows http': [
    'src/core/messages/rules/send-rules.ts',
    "import { Answer } from '../../../api/pipeline/route.ts';",
    /only its routes/,
  ],
  'an import upwards in an area': [
    'src/features/agents/models/a.ts',
    "import type { B } from '../runs/b.ts';",
    /not below in src\/features\/agents\//,
  ],
  'an import sideways in an area': [
    'src/features/agents/replies/a.ts',
    "import { b } from '../tools/b.ts';",
    /not below in src\/features\/agents\//,
  ],
  'an import of an area from its part': [
    'src/features/agents/runs/state/a.ts',
    "import { b } from '../../definitions.ts';",
    /not below in src\/features\/agents\//,
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
    /outside src\/ and packages/,
  ],
  'uWebSockets.js': [
    'src/edge/gateway/session/session.ts',
    "import type { WebSocket } from 'uWebSockets.js';",
    /only .* may/,
  ],
  ioredis: ['src/platform/engine/memory-engine.ts', "import { Redis } from 'ioredis';", /only .* may/],
  pg: ['src/api/access/tokens.ts', "import pg from 'pg';", /only .* may/],
  'a part of pg': ['src/api/access/tokens.ts', "import pg from 'pg/lib/client';", /only .* may/],
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
  NODE_ENV: ['src/app/config.ts', "if (process.env.NODE_ENV === 'test') {}", /a branch for tests/],
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
  'a join that is built': [
    'src/features/agents/a.ts',
    "db.kysely.selectFrom('a').innerJoin('b', 'b.id', 'a.b_id');",
    /a builder of more than one table/,
  ],
  'a subquery that is built': [
    'src/features/agents/a.ts',
    "db.kysely.selectFrom('a').select((of) => of.selectFrom('b').select('id').as('b'));",
    /a builder of more than one table/,
  ],
  'a queue that is built': [
    'src/core/messages/a.ts',
    "tx.kysely.selectFrom('a').selectAll().forUpdate().skipLocked();",
    /a builder of more than one table/,
  ],
  'the first of a list, built': [
    'src/core/messages/a.ts',
    "db.kysely\n  .selectFrom('a')\n  .orderBy('id')\n  .limit(1);",
    /a builder of more than one table/,
  ],
  'a range that is built': [
    'src/core/messages/a.ts',
    "db.kysely.deleteFrom('a').where('expires_at', '<', now);",
    /a builder that chooses rows otherwise/,
  ],
  'a condition of SQL in a builder': [
    'src/core/messages/a.ts',
    "db.kysely.deleteFrom('a').where('id', '=', sql<string>`any('{a}')`);",
    /a builder that chooses rows otherwise/,
  ],
  'alternatives in a builder': [
    'src/core/messages/a.ts',
    "db.kysely.deleteFrom('a').where((row) => row.or([row('b', '=', 1), row('c', '=', 1)]));",
    /a builder that chooses rows otherwise/,
  ],
  'SQL that is run as it is written': [
    'src/core/messages/a.ts',
    'await sql<{ at: string }>`SELECT now() AS at`.execute(tx.kysely);',
    /SQL that is run as it is written/,
  ],
  'an insert that is written': [
    'src/core/messages/a.ts',
    "await tx.query(ADD, id);\nconst ADD = statement<[id: string]>('add')`\n    INSERT INTO a (id, b) VALUES ($1, $2)`;",
    /a plain change as a statement/,
  ],
  'a removal that is written': [
    'src/core/messages/a.ts',
    "const REMOVE = statement<[id: string]>('remove')`\n    DELETE FROM a WHERE id = $1 AND b = $2 RETURNING id`;\nawait tx.query(REMOVE, id);",
    /a plain change as a statement/,
  ],
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
    'packages/console/a.tsx',
    'element.innerHTML = message.body;',
    /a text taken for markup/,
  ],
  'markup in place of an element': [
    'packages/ui/a.tsx',
    'element.outerHTML = message.body;',
    /a text taken for markup/,
  ],
  'markup of a frame': [
    'packages/widget/a.tsx',
    'const a = { srcdoc: message.body };',
    /a text taken for markup/,
  ],
  'markup beside an element': [
    'packages/ui/a.ts',
    "element.insertAdjacentHTML('beforeend', text);",
    /a text taken for markup/,
  ],
  'markup in a view': [
    'packages/ui/a.tsx',
    'const a = <p dangerouslySetInnerHTML={{ __html: text }} />;',
    /a text taken for markup/,
  ],
  'markup written into the page': [
    'packages/console/a.ts',
    'document.write(text);',
    /a text taken for markup/,
  ],
  'markup that is parsed': [
    'packages/console/a.ts',
    "const a = new DOMParser().parseFromString(text, 'text/html');",
    /a text taken for markup/,
  ],
  'a link that is in no list': [
    'packages/console/a.tsx',
    'const a = <a href={customer.site}>{customer.name}</a>;',
    /in no list: customer\.site/,
  ],
  'a second link of a file that has one': [
    'packages/ui/text/markdown.tsx',
    `const a = <><a href={href}>x</a><a href={\`\${token.raw}\`}>y</a></>;`,
    /in no list: `\$\{token\.raw\}`/,
  ],
  'a picture that is in no list': [
    'packages/widget/a.tsx',
    'const a = <img src={persona.picture} alt="" />;',
    /in no list: persona\.picture/,
  ],
  'an address that is assigned': ['packages/console/a.ts', 'link.href = item.url;', /in no list: item\.url/],
  'a page that is left': ['packages/console/a.ts', 'location.assign(item.url);', /in no list: item\.url/],
  'a window that is opened': ['packages/console/a.ts', 'window.open(item.url);', /in no list: item\.url/],
  'an attribute that is set': [
    'packages/console/a.ts',
    "link.setAttribute('href', item.url);",
    /in no list: setAttribute/,
  ],
  'a frame of another page': [
    'packages/console/a.tsx',
    'const a = <iframe title="Shop" />;',
    /in no list: <iframe/,
  ],
  'an Enter that may be of an input method': [
    'packages/widget/a.tsx',
    "const press = (event: KeyboardEvent) => event.key === 'Enter' && pick();",
    /as the browser names it/,
  ],
  'a look at a composition': [
    'packages/ui/a.ts',
    'if (event.isComposing) return;',
    /as the browser names it/,
  ],
  'a key that is taken out of its event': [
    'packages/console/a.ts',
    'const press = ({ key, target }: KeyboardEvent) => go(key, target);',
    /as the browser names it/,
  ],
  'a junk drawer': ['src/platform/http/utils.ts', '', /is called utils/],
  'another one': ['src/platform/http/string-helper.ts', '', /is called string-helper/],
  'a junk directory': ['src/platform/http/common/a.ts', '', /is called common/],
  'an unknown area': ['src/realtime/a.ts', '', /no area/],
  'an unknown package': ['packages/realtime/a.ts', '', /no area/],
  'a folder without a row': ['src/features/agents/minds/a.ts', '', /no row of src\/features\/agents/],
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

t.test('npm run lint finds a literal that is spread', async (t) => {
  const found = (lines: readonly string[]) => {
    const cwd = t.testdir({
      'biome.json': '{ "plugins": ["./spread-literals.grit"] }',
      'spread-literals.grit': readFileSync(join(import.meta.dirname, 'support/spread-literals.grit')),
      'a.tsx': lines.map((line, n) => `export const a${n} = ${line};\n`).join(''),
    });
    const biome = resolve(import.meta.dirname, '../node_modules/@biomejs/biome/bin/biome');
    const run = [biome, 'lint', '--only=plugin', '--reporter=json'];
    return JSON.parse(spawnSync(process.execPath, run, { cwd, encoding: 'utf8' }).stdout).diagnostics.length;
  };
  const wrong = [
    '{ ...{ b, c: 2 }, d }',
    "[...['x'], y]",
    'f(...[b])',
    '<p {...{ b }} />',
    '{ ...({ b } as const) }',
  ];
  t.equal(found(wrong), wrong.length);
  t.equal(
    found(['{ ...b, ...(c && { d }), ...(c ? { d } : {}) }', '[...b, ...[...c].map(d)]', '<p {...b} />']),
    0,
  );
});

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

t.test('the check of circles finds folders that import each other through several files', async (t) => {
  const files = new Map([
    ['src/core/messages/rows/a.ts', "import { b } from '../rules/b.ts';"],
    ['src/core/messages/rules/c.ts', "import type { D } from '../timeline/d.ts';"],
    ['src/core/messages/timeline/e.ts', "import { f } from '../rows/f.ts';"],
    ['src/core/messages/editing/g.ts', "import { f } from '../rows/f.ts';"],
  ]);
  t.strictSame(circlesOfFolders(files), ['src/core/messages/: rows, rules, timeline']);
});

t.test('the check of tables finds those of another feature', async (t) => {
  const files = new Map([
    [
      'src/features/mail/tables.ts',
      "declare module '../../platform/db/tables/schema.ts' {\n  interface Schema extends MailTables {}\n}\n\ninterface MailTables {\n  mails: Times & {\n    id: string;\n  };\n}\n",
    ],
    ['src/features/mail/feature.ts', "db.kysely.selectFrom('mails');"],
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
      'packages/client/a.ts',
      "import { B } from '@parley/protocol/b.ts';\nimport type { C } from '@parley/protocol/c.ts';",
    ],
    ['packages/client/react/d.ts', "import { useState } from 'react';"],
    ['packages/protocol/b.ts', "import { Type } from 'typebox';"],
    ['packages/protocol/c.ts', "import { customAlphabet } from 'nanoid';"],
  ]);
  t.strictSame(violations(files), [
    'packages/protocol/b.ts imports typebox: client/ needs it and has no dependency',
  ]);
});

t.test('finds nothing in what is right', async (t) => {
  const long = `/** 501 lines: a table that is looked up as a whole. */\n${'a();\n'.repeat(500)}`;
  const files = new Map([
    ['src/app/main.ts', "import { c } from './config.ts';\nconst { app } = await import('./app.ts');"],
    ['src/app/app.ts', "import { g } from '../edge/gateway/server.ts';\nimport { c } from './config.ts';"],
    [
      'src/app/config.ts',
      "import { L } from '@parley/protocol/limits.ts';\nexport const p = process.env.PORT;",
    ],
    [
      'src/edge/gateway/socket/server.ts',
      "import { App } from 'uWebSockets.js';\nimport { log } from '../../../platform/log.ts';",
    ],
    [
      'src/platform/engine/redis/redis-engine.ts',
      "import { Redis } from 'ioredis';\nimport { m } from '../../metrics.ts';",
    ],
    [
      'src/platform/db/connection/database.ts',
      "import pg from 'pg';\nimport { newId } from '@parley/protocol/ids.ts';",
    ],
    [
      'src/core/messages/routes.ts',
      "import { r } from '../../api/pipeline/route.ts';\nimport { s } from './rules/send-rules.ts';",
    ],
    [
      'src/core/messages/rules/send-rules.ts',
      '/** Takes: any of them. */\nconst any = 1; // as any of them\nf(any);',
    ],
    ['packages/console/main.ts', "import { connect } from '@parley/client';"],
    ['src/features/agents/routes.ts', "import { s } from './store.ts';\nimport { r } from './runs/b.ts';"],
    [
      'src/features/agents/runs/b.ts',
      "import type { M } from '../models/m.ts';\nimport { c } from './c.ts';",
    ],
    ['packages/client/connect.ts', "import { CODES } from '@parley/protocol/codes.ts';"],
    ['packages/client/index.ts', "export { connect } from './connect.ts';"],
    ['packages/protocol/codes.ts', 'export const CODES = {} as const;'],
    ['packages/protocol/error-types-of-postgres.ts', ''],
    ['src/platform/http/long.ts', long],
    [
      'packages/ui/text/markdown.tsx',
      'const a = <><a href={href}>{text}</a><a href="#main">x</a></>;\nconst same = shown.href === location.href;',
    ],
  ]);
  t.strictSame(violations(files), []);
});
