/** The package of the SDK: what is in it, and the types that its readers get. */

import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { declaredEndpoints } from '../../../bin/build/endpoints.ts';
import { WireTypes } from '../../../bin/build/wire-types.ts';
import type { Route } from '../../../src/api/pipeline/route.ts';
import { BUILD } from '../../../src/platform/build.ts';
import { freshDirectory, ROOT, runProgram } from '../../../test/start/parley.ts';
import { startTestApp } from '../../../test/support/app.ts';
import { builtClient } from '../../../test/support/built-client.ts';

const PACKAGE = builtClient();
const MANIFEST = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

t.test('its declarations know the endpoints of a node', async (t) => {
  const { routes } = await startTestApp(t);
  const typesOf = (of: typeof routes) => new WireTypes().module(inOrder(of)).split('\n');
  t.strictSame(typesOf(await declaredEndpoints()), typesOf(routes));
});

t.test('the tarball has bundles, source maps, declarations, texts and the sources of parts', async (t) => {
  const { stdout } = await promisify(execFile)('tar', ['-tzf', join(PACKAGE, 'dist/served/client.tgz')]);
  const files = stdout.trim().split('\n');
  for (const name of [
    'package.json',
    'README.md',
    'dist/LICENSE',
    'dist/index.js',
    'dist/chunks/core.js.map',
    'dist/index.d.ts',
    'dist/react/parts.css',
  ])
    t.ok(files.includes(`package/${name}`), name);
  t.strictSame(
    files.filter(
      (name) =>
        !/^package\/(package\.json|README\.md|dist\/(LICENSE|react\/parts\.css|parts\/[\w-]+\.(tsx?|css)|[\w./-]+\.(js|js\.map|d\.ts)))$/.test(
          name,
        ),
    ),
    [],
  );
  const { scripts, dependencies, sideEffects, exports } = MANIFEST;
  t.strictSame(
    { scripts, dependencies, sideEffects },
    // A bundler that drops what is imported for nothing keeps the style sheet and what an app
    // lacks.
    { scripts: undefined, dependencies: undefined, sideEffects: ['**/*.css', './dist/native.js'] },
  );
  for (const [entry, conditions] of Object.entries<object>(exports)) {
    if (!/\.(json|css)$/.test(entry)) t.equal(Object.keys(conditions)[0], 'types', entry);
  }
});

t.test('it has the version of the release, and goes on by its former name', async (t) => {
  for (const [file, name] of [
    ['package.tgz', '@parley/client'],
    ['client.tgz', 'parley-client'],
  ] as const) {
    const args = ['-xzOf', join(PACKAGE, 'dist/served', file), 'package/package.json'];
    const { stdout } = await promisify(execFile)('tar', args);
    t.strictSame(JSON.parse(stdout), { ...MANIFEST, name, version: BUILD.version });
  }
});

t.test('its peers are one release of the AI SDK, whose parts need not be there', (t) => {
  const { peerDependencies, peerDependenciesMeta } = MANIFEST;
  const { version, dependencies } = JSON.parse(
    readFileSync(join(ROOT, 'node_modules/@ai-sdk/react/package.json'), 'utf8'),
  );
  t.equal(peerDependencies['@ai-sdk/react'], `^${version.split('.')[0]}.0.0`);
  t.equal(peerDependencies.ai, `^${dependencies.ai.split('.')[0]}.0.0`);
  t.strictSame(Object.keys(peerDependenciesMeta), Object.keys(peerDependencies));
  t.end();
});

t.test('the declarations need no other package, and compile by themselves', async (t) => {
  for (const file of declarationsIn(join(PACKAGE, 'dist'))) {
    const text = readFileSync(file, 'utf8');
    const imported = [...text.matchAll(/\bfrom\s*['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/g)].map(
      ([, from, dynamic]) => from ?? dynamic ?? '',
    );
    t.strictSame(
      imported.filter((name) => !/^(\.|react$|ai$)/.test(name)),
      [],
      file,
    );
    t.notMatch(text, /\btypebox\b|\bStatic<|\bTSchema\b/, file);
  }
});

t.test('the types as an application uses them', async (t) => {
  const directory = project(t, USES);
  const checked = await runProgram(process.execPath, [TSC, '-p', directory], {});
  t.equal(checked.stdout, '');
});

t.test('what the compiler says of mistakes', async (t) => {
  const mistakes = MISTAKES.map(([, code]) => code);
  const directory = project(t, [...PRELUDE, ...mistakes].join('\n'));
  const { stdout } = await runProgram(process.execPath, [TSC, '-p', directory], {});
  const errors = stdout.split(/^(?=\S*main\.ts\()/m);
  for (const [index, [name, , message]] of MISTAKES.entries()) {
    const line = PRELUDE.length + index + 1;
    const found = errors.filter((error) => error.includes(`main.ts(${line},`));
    t.equal(found.length, 1, name);
    t.match(found[0], message);
  }
  t.equal(errors.length, MISTAKES.length, 'nothing else');
});

const MISTAKES = [
  [
    'a field that a body does not have',
    "client.fetch('/v1/messaging/messages/msg_1', { method: 'PATCH', body: { bdy: 'a' } });",
    /'bdy' does not exist/,
  ],
  [
    'a body of another type',
    `client.fetch(\`/v1/messaging/messages/\${id}\`, { method: 'PATCH', body: { body: 1 } });`,
    /number.+string/s,
  ],
  ['a body that is missing', "client.fetch('/v1/messaging/conversations', { method: 'POST' });", /body/],
  [
    'a body where there is none',
    "client.fetch('/v1/me', { body: {} });",
    /'\{\}' is not assignable to type 'undefined'/,
  ],
  [
    'a method that is missing',
    "client.fetch('/v1/messaging/messages/msg_1/actions/pin');",
    /Expected 2 arguments/,
  ],
  ['a method that an endpoint does not have', "client.fetch('/v1/me', { method: 'DELETE' });", /"DELETE"/],
  [
    'a field that an answer does not have',
    "client.fetch('/v1/me').then((me) => me.nam);",
    /'nam' does not exist/,
  ],
  ['a field of the last message', 'conversation.last_message?.bdy;', /'bdy' does not exist/],
  ['an event', "client.on('notification.createt', () => {});", /notification\.createt/],
] as const;

const PRELUDE = [
  "import type { Client, Conversation, ChatMessage } from '@parley/client';",
  'declare const client: Client;',
  'declare const conversation: Conversation;',
  'declare const id: string;',
];

const USES = `${PRELUDE.join('\n')}
type Expect<T extends true> = T;
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const me = await client.fetch('/v1/me');
const message = await client.fetch(\`/v1/messaging/messages/\${id}?include[]=sender\`);
const edited = await client.fetch('/v1/messaging/messages/msg_1', { method: 'PATCH', body: { body: 'a' }, timeoutMs: 5 });
const list = await client.fetch('/v1/messaging/conversations?limit=5', {});
const made = await client.fetch('/v1/messaging/conversations', {
  method: 'POST',
  body: { type: 'group', title: 'Harbor', participants: [{ type: 'user', actor_id: id }] },
});
const reacted = await client.fetch(\`/v1/messaging/messages/\${id}/reactions/👍\`, { method: 'PUT' });
const stated = await client.fetch<{ readonly of: 'mine' }>('/v1/of/mine', { method: 'POST', body: { any: 'thing' } });
const unknown = await client.fetch('/v1/of/mine');
const somewhere = await client.fetch(id);

export type Checks = [
  Expect<Equal<typeof message, ChatMessage>>,
  Expect<Equal<typeof edited, ChatMessage>>,
  Expect<Equal<typeof made, Conversation>>,
  Expect<Equal<(typeof list)['data'][number], Conversation>>,
  Expect<Equal<typeof reacted['reactions'][number]['mine'], boolean>>,
  Expect<Equal<typeof me['object'], 'me'>>,
  Expect<Equal<typeof stated, { readonly of: 'mine' }>>,
  Expect<Equal<typeof unknown, unknown>>,
  Expect<Equal<typeof somewhere, unknown>>,
  Expect<Equal<Conversation['last_message'], ChatMessage | null>>,
  Expect<Equal<ChatMessage['reply_to'], ChatMessage | null>>,
  Expect<Equal<ChatMessage['streaming_state'], 'streaming' | 'complete' | null>>,
];

client.on('notification.created', (data, frame) => [data.title, frame.at, frame.data.id]);
client.subscribe('cnv_1', {
  onMessage: ({ body }) => body,
  onEvent: (frame) => (frame.event === 'presence' ? frame.data.status : undefined),
});
client.request('typing', { conversation_id: id, state: 'start' });
client.request('mark_read', { conversation_id: id, sequence: 1 }).then(({ unread }) => unread + 1);
`;

/**
 * Returns a project that has the package installed and this source, checked without skipLibCheck.
 */
function project(t: Parameters<typeof freshDirectory>[0], source: string): string {
  const directory = freshDirectory(t);
  mkdirSync(join(directory, 'node_modules/@parley'), { recursive: true });
  symlinkSync(PACKAGE, join(directory, 'node_modules/@parley/client'));
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom'],
    module: 'nodenext',
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
  };
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));
  writeFileSync(join(directory, 'main.ts'), source);
  return directory;
}

function declarationsIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.d.ts'))
    .map((name) => join(directory, name));
}

function inOrder(routes: readonly Route[]): Route[] {
  return routes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
