/**
 * The package of the SDK in projects as users begin them: each is installed from its lock file
 * (test/fresh-projects/), gets the tarball that a server offers, is type-checked, built, and run
 * against that server. Also the registry of a server and the checkout itself with other releases of
 * npm, a page without a build, and the package that converts archives.
 *
 * Without influence: OPERATION, PAGES, ANSWERS, src/core/installation, src/features/cells,
 * src/features/compliance, src/features/identity, src/features/import, src/features/mail,
 * src/features/platform-events, src/features/search, src/platform/outbound.
 */

import { hash } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { BUILD } from '../../src/platform/build.ts';
import { tarred, zulipContents } from '../import/samples.ts';
import { freshDirectory, ROOT, runProgram, startParley } from '../start/parley.ts';
import { startTestApp } from '../support/app.ts';
import { startChromium } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { installedProgram } from './installed-program.ts';
import { nodeOf } from './next-node.ts';

const NEXT_NPM = '12.2.2';
const LINE =
  'npm config set --location=project @parley:registry=https://chat.example.com/v1/npm/ && npm install @parley/client';
const FILE_LINE =
  'npm install "./$(npm pack --silent @parley/client --@parley:registry=https://chat.example.com/v1/npm/)"';
/** As npm is without settings: lock files have addresses, and it asks what is new. */
const AS_USUAL = {
  npm_config_omit_lockfile_registry_resolved: 'false',
  npm_config_prefer_offline: 'false',
};
const NO_REGISTRY = { npm_config_registry: 'http://127.0.0.1:1/' };
const PROJECTS = join(ROOT, 'test/fresh-projects');
const app = await startTestApp(t, { PARLEY_ADMIN_PORT: '0' });
const { account_id: account, api_key: token } = app.demo;
const browser = await startChromium(t);
const TARBALL = `${app.baseUrl}/v1/npm/@parley/client/-/client-${BUILD.version}.tgz`;
const tarball = Buffer.from(await (await fetch(TARBALL)).arrayBuffer());

t.test('npm run pack:client writes the tarball into the checkout, and prints its name last', async (t) => {
  const packed = await npm(ROOT, ['run', 'pack:client']);
  const name = packed.trim().split('\n').at(-1) ?? '';
  t.equal(name, `parley-client-${BUILD.version}.tgz`);
  t.ok(existsSync(join(ROOT, name)));
  t.teardown(() => rmSync(join(ROOT, name)));
  const ignored = await runProgram('git', ['check-ignore', name], {}, ROOT);
  t.equal(ignored.code, 0, 'git ignores it');
});

t.test('each document has the same lines that install the package', async (t) => {
  const [reference = '', ...others] = [
    'docs/sdk.md',
    'README.md',
    'packages/client/npm/README.md',
    'src/core/documents/getting-started.md',
    'src/core/documents/sdk.md',
  ].map((document) => textOf(document).replaceAll(/\s+/g, ' '));
  t.ok(reference.includes(`\`${FILE_LINE}\``));
  for (const text of [reference, ...others]) t.ok(text.includes(`\`${LINE}\``), text.slice(0, 20));
});

// npm 12 takes no tarball from another address than the registry's, nor from a URL.
t.test('npm 10, 11 and 12 install the package by the lines of the documents', async (t) => {
  for (const version of ['10.9.9', '11.21.2', NEXT_NPM]) {
    const env = { ...(await environmentOfNpm(version)), ...AS_USUAL };
    const project = await projectBy(t, LINE, env);
    t.match(lockedIn(project), { resolved: TARBALL, integrity: /^sha512-/ }, `npm ${version}`);
    const other = await onOtherMachine(t, project, env);
    t.equal(await connectIn(other), 'function', `npm ${version}, on another machine`);

    const vendored = await projectBy(t, FILE_LINE, env);
    const alone = await onOtherMachine(t, vendored, { ...env, ...NO_REGISTRY });
    t.equal(await connectIn(alone), 'function', `npm ${version}, without a server`);
  }
});

t.test('a lock file holds after upgrades, and without addresses at each address', async (t) => {
  const integrity = await storeEarlier(t, '0.0.9');
  const project = await projectBy(t, `${LINE}@0.0.9`, AS_USUAL);
  t.match(lockedIn(project), { version: '0.0.9', integrity });
  const other = await onOtherMachine(t, project);
  t.equal(await connectIn(other), 'function', 'beside the release of the server');
  await npm(other, ['install', '@parley/client@latest'], AS_USUAL);
  t.match(lockedIn(other), { version: BUILD.version }, 'the next one is taken when it is wanted');

  const [, npmrc = ''] = /```ini\n(@parley:registry=[^`]+)```/.exec(textOf('docs/sdk.md')) ?? [];
  writeFileSync(join(other, '.npmrc'), npmrc);
  rmSync(join(other, 'package-lock.json'));
  await npm(other, ['install'], { PARLEY_URL: app.baseUrl });
  t.equal(lockedIn(other).resolved, undefined, 'the lock file has no address');
  const local = app.baseUrl.replace('127.0.0.1', 'localhost');
  t.equal(await connectIn(await onOtherMachine(t, other, { PARLEY_URL: local })), 'function');
});

t.test('npm ci and npm start of the checkout by npm 12', async (t) => {
  const directory = freshDirectory(t);
  const isBuilt = /\/(dist|node_modules)(\/|$)/;
  for (const part of [
    'package.json',
    'package-lock.json',
    'LICENSE',
    'bin',
    'packages',
    'src',
    'migrations',
  ]) {
    const filter = (path: string) => !isBuilt.test(path.slice(ROOT.length));
    cpSync(join(ROOT, part), join(directory, part), { recursive: true, filter });
  }
  const env = await environmentOfNpm(NEXT_NPM);
  await npm(directory, ['ci'], env);
  for (const made of ['node_modules/node/bin/node', 'packages/client/npm/dist/served/client.tgz']) {
    t.ok(existsSync(join(directory, made)), `a script has made ${made}`);
  }
  const port = String(await freePort());
  const started = startParley(t, { ...env, PORT: port }, { command: ['npm', 'start'], cwd: directory });
  await started.says(/^Parley is ready at .* with a demo account/m);
});

t.test('publint and arethetypeswrong find nothing', async (t) => {
  const directory = await installed(t, 'checks');
  await npm(directory, ['run', 'check']);
});

t.test('plain Node 20 and 22', async (t) => {
  const directory = await installed(t, 'node');
  await npm(directory, ['run', 'build']);
  for (const version of ['20.20.2', process.versions.node]) {
    const node = version === process.versions.node ? process.execPath : await nodeOf(version);
    if (node === undefined) throw new Error(`Node ${version} cannot be installed here`);
    const conversation = await asked();
    const ran = await runProgram(node, ['main.js'], environment(conversation), directory);
    t.match(ran, { code: 0, stderr: '' });
    t.strictSame(JSON.parse(ran.stdout), { isSent: true, refused: 'resource_not_found' });
    t.equal(await answer(conversation), `Node ${version} read: ahoy`);
  }
});

t.test('the package that converts archives, by plain Node 20 and 22', async (t) => {
  const directory = freshDirectory(t);
  writeFileSync(join(directory, 'zulip.tar.gz'), await tarred(zulipContents(9)));
  const pack = ['pack', '--pack-destination', directory, join(ROOT, 'packages/archives/npm')];
  const packed = (await npm(directory, pack)).trim().split('\n').at(-1);
  await npm(directory, ['install', `./${packed}`]);
  const command = 'node_modules/.bin/parley-archives';
  const made = ['20.20.2', process.versions.node].map(async (version) => {
    const node = version === process.versions.node ? process.execPath : await nodeOf(version);
    if (node === undefined) throw new Error(`Node ${version} cannot be installed here`);
    const args = [command, 'convert', 'zulip', 'zulip.tar.gz', `${version}.zip`];
    t.match(await runProgram(node, args, {}, directory), { code: 0, stderr: '' }, version);
    return readFileSync(join(directory, `${version}.zip`), 'base64');
  });
  const [one, other] = await Promise.all(made);
  t.equal(one, other, 'the same bytes');
});

t.test('esbuild, with the oldest TypeScript that reads the declarations', async (t) => {
  const directory = await installed(t, 'esbuild');
  await npm(directory, ['run', 'build']);
  const conversation = await asked();
  const ran = await runProgram(process.execPath, ['out/main.js'], environment(conversation), directory);
  t.equal(ran.code, 0, ran.stderr);
  t.equal(await answer(conversation), 'esbuild read: ahoy');
});

t.test('the react-ts template of Vite, with one import more', async (t) => {
  const directory = await installed(t, 'vite-react-ts');
  await npm(directory, ['run', 'create']);
  const project = join(directory, 'app');
  cpSync(join(directory, 'chat.ts'), join(project, 'src/chat.ts'));
  appendFileSync(join(project, 'src/main.tsx'), "import './chat.ts'\n");
  await npm(project, ['run', 'build']);
  const port = await freePort();
  const preview = ['npm', 'run', 'preview', '--', '--host', '127.0.0.1', '--port', String(port)] as const;
  const conversation = await asked();
  await visit(t, port, conversation, startParley(t, {}, { command: preview, cwd: project }).ended);
  t.equal(await answer(conversation), 'Vite read: ahoy');
});

t.test('the app router of Next, on the server and in the browser', async (t) => {
  const directory = await installed(t, 'next');
  const env = { NEXT_TELEMETRY_DISABLED: '1' };
  await npm(directory, ['run', 'build'], env);
  const port = await freePort();
  const start = ['npm', 'run', 'start', '--', '--hostname', '127.0.0.1', '--port', String(port)] as const;
  const conversation = await asked();
  const html = await visit(
    t,
    port,
    conversation,
    startParley(t, env, { command: start, cwd: directory }).ended,
  );
  t.match(html, /<h1>Fresh<\/h1>/, 'the server has read the conversation');
  t.match(html, /<p>nothing yet<\/p>/, 'the hooks have connected nothing there');
  t.equal(await answer(conversation), 'Next read: ahoy');
});

t.test('no project: a page imports /v1/client.js, under the policy of /docs', async (t) => {
  const read = async () => {
    const metrics = await (await fetch(`${app.demo.admin_url}/metrics`)).text();
    return Number(/^parley_sockets_open (\d+)$/m.exec(metrics)?.[1]);
  };
  await until(async () => (await read()) === 0, { what: 'the sockets of the projects are closed' });
  const page = await open(t, `${app.baseUrl}/docs`);
  const options = { url: app.baseUrl, account, token: app.demo.users.ada.access_token };
  await page.evaluate(
    `import('/v1/client.js').then(({ connect }) => { connect(${JSON.stringify(options)}); })`,
  );
  await until(async () => (await read()) === 1, { what: 'the socket of the page' });
});

/** Opens a page, which ends with the test. */
async function open(t: Teardown, url: string): Promise<Page> {
  const page = await browser.newPage();
  t.teardown(() => page.close());
  await page.goto(url);
  return page;
}

/** Returns a directory with the project, the packages of its lock file and that of the SDK. */
async function installed(t: Test, name: string): Promise<string> {
  const directory = freshDirectory(t);
  cpSync(join(PROJECTS, name), directory, { recursive: true });
  writeFileSync(join(directory, 'parley-client.tgz'), tarball);
  await npm(directory, ['install', '--no-save', '--ignore-scripts', './parley-client.tgz']);
  const { 'node_modules/@parley/client': ours, ...others } = packagesIn(
    join(directory, 'node_modules/.package-lock.json'),
  );
  t.match(ours, /^sha512-/);
  t.match(packagesIn(join(directory, 'package-lock.json')), others, 'the others are those of the lock file');
  return directory;
}

/** Returns a new project in which a line of the documents was run. */
async function projectBy(t: Test, line: string, env: NodeJS.ProcessEnv): Promise<string> {
  const directory = freshDirectory(t);
  await npm(directory, ['init', '--yes'], env);
  const command = line.replaceAll('https://chat.example.com', app.baseUrl);
  const ran = await runProgram('sh', ['-c', command], environmentWith(env), directory);
  t.equal(ran.code, 0, ran.stderr);
  return directory;
}

/** Returns a copy of a project without what npm made of it, in which `npm ci` was run. */
async function onOtherMachine(t: Test, project: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const directory = freshDirectory(t);
  cpSync(project, directory, { recursive: true, filter: (path) => !path.includes('node_modules') });
  await npm(directory, ['ci'], { ...env, npm_config_cache: freshDirectory(t) });
  return directory;
}

function lockedIn(project: string): { version?: string; resolved?: string; integrity?: string } {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'));
  return packages['node_modules/@parley/client'];
}

/** Returns the type of `connect` of the package that is installed. */
async function connectIn(project: string): Promise<string> {
  const read = "import('@parley/client').then(({ connect }) => console.log(typeof connect))";
  const { stdout } = await runProgram(process.execPath, ['-e', read], {}, project);
  return stdout.trim();
}

/** Stores the package as of an earlier release, as a node of it does. Returns its digest. */
async function storeEarlier(t: Test, version: string): Promise<string> {
  const directory = freshDirectory(t);
  writeFileSync(join(directory, 'package.tgz'), tarball);
  await runProgram('tar', ['-xzf', 'package.tgz'], {}, directory);
  const file = join(directory, 'package/package.json');
  const manifest = { ...JSON.parse(readFileSync(file, 'utf8')), version };
  writeFileSync(file, JSON.stringify(manifest));
  const name = (await npm(directory, ['pack', '--silent', './package'])).trim();
  const packed = readFileSync(join(directory, name));
  const dist = { integrity: `sha512-${hash('sha512', packed, 'base64')}`, shasum: hash('sha1', packed) };
  await app.database.kysely
    .insertInto('client_packages')
    .values({ version, manifest: JSON.stringify({ ...manifest, dist }), tarball: packed })
    .execute();
  return dist.integrity;
}

function textOf(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8');
}

/** Returns the digest of each package of a lock file, by its path. */
function packagesIn(file: string): Record<string, string | undefined> {
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: object };
  const digests = Object.entries(packages).map(([path, { integrity }]) => [path, integrity]);
  return Object.fromEntries(digests);
}

async function npm(directory: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { code, stdout, stderr } = await runProgram('npm', args, environmentWith(env), directory);
  if (code !== 0) throw new Error(`npm ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

/**
 * Returns the environment of this process, which knows how to reach the registry, without tap's
 * part.
 */
function environmentWith(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS$|_?TAP)/.test(name));
  const quiet = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' };
  return { ...Object.fromEntries(inherited), ...quiet, npm_config_prefer_offline: 'true', ...env };
}

/** Returns the environment in which `npm` is that version. */
async function environmentOfNpm(version: string): Promise<{ PATH: string }> {
  const program = await installedProgram('npm', version, '.bin/npm');
  if (program === undefined) throw new Error(`npm ${version} cannot be installed here`);
  return { PATH: `${dirname(program)}${delimiter}${process.env.PATH}` };
}

/** Returns a new conversation with one message. */
async function asked(): Promise<string> {
  const { body: made } = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    body: { type: 'group', title: 'Fresh' },
  });
  await app.call('POST', `/v1/messaging/conversations/${made.id}/messages`, {
    body: { body: 'ahoy', client_message_id: made.id },
  });
  return made.id;
}

/** Resolves with the text of the second message. */
async function answer(conversation: string): Promise<string> {
  const path = `/v1/messaging/conversations/${conversation}/messages?after_sequence=1`;
  const read = async () => (await app.call<{ data: { body: string }[] }>('GET', path)).body.data[0]?.body;
  return until(read, { what: 'the answer of the project' });
}

function environment(conversation: string): NodeJS.ProcessEnv {
  return {
    PARLEY_URL: app.baseUrl,
    PARLEY_ACCOUNT: account,
    PARLEY_TOKEN: token,
    PARLEY_CONVERSATION: conversation,
  };
}

/** Opens the page of a project in a browser once it is served; resolves with its HTML. */
async function visit(
  t: Teardown,
  port: number,
  conversation: string,
  ended: Promise<unknown>,
): Promise<string> {
  const query = new URLSearchParams({ url: app.baseUrl, account, token, conversation });
  const url = `http://127.0.0.1:${port}/?${query}`;
  const over = ended.then((how) => {
    throw new Error(`its server ended: ${JSON.stringify(how)}`);
  });
  // It ends with the test.
  over.catch(() => {});
  const served = async () => {
    const response = await fetch(url).catch(() => undefined);
    return response?.ok === true ? response.text() : undefined;
  };
  const html = await Promise.race([over, until(served, { what: 'the page of the project' })]);
  await open(t, url);
  return html;
}
