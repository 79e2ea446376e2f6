/** The registry below /v1/npm/: the document of the SDK, its tarballs, and what nodes store. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import t from 'tap';
import { BUILD } from '../../src/platform/build.ts';
import { createLog } from '../../src/platform/log.ts';
import { startTestApp } from '../support/app.ts';
import { builtClient } from '../support/built-client.ts';

const ORIGIN = 'https://app.example';
const PUBLIC_URL = 'https://chat.example.com';
const BUILT = readFileSync(join(builtClient(), 'dist/served/package.tgz'));
const MANIFEST = JSON.parse(readFileSync(join(builtClient(), 'package.json'), 'utf8'));
const OTHER = Buffer.from('the bytes of another build');
const ABBREVIATED = 'application/vnd.npm.install-v1+json';
/** As npm sends it. */
const OF_NPM = `${ABBREVIATED}; q=1.0, application/json; q=0.8, */*`;

interface Packument {
  readonly name: string;
  readonly 'dist-tags': { readonly latest: string };
  readonly versions: Record<
    string,
    { readonly dist: Record<string, string>; readonly [field: string]: unknown }
  >;
  readonly time?: Record<string, string>;
  readonly modified?: string;
}

const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: ORIGIN });
const document = `${app.baseUrl}/v1/npm/@parley%2fclient`;
const tarballOf = (version: string) => `${app.baseUrl}/v1/npm/@parley/client/-/client-${version}.tgz`;
const read = async (url = document, headers: Record<string, string> = {}) =>
  (await (await fetch(url, { headers })).json()) as Packument;

t.test('the document has the release, by each spelling of its name and without a credential', async (t) => {
  for (const name of ['@parley%2fclient', '@parley%2Fclient', '@parley/client', '%40parley%2fclient']) {
    const response = await fetch(`${app.baseUrl}/v1/npm/${name}`);
    t.equal(response.status, 200, name);
    t.equal(response.headers.get('content-type'), 'application/json');
    const { time, versions, ...others } = (await response.json()) as Packument;
    t.strictSame(others, { name: '@parley/client', 'dist-tags': { latest: BUILD.version } });
    const digest = (algorithm: string) => createHash(algorithm).update(BUILT);
    const dist = {
      integrity: `sha512-${digest('sha512').digest('base64')}`,
      shasum: digest('sha1').digest('hex'),
      tarball: tarballOf(BUILD.version),
    };
    t.strictSame(versions, { [BUILD.version]: { ...MANIFEST, version: BUILD.version, dist } });
    t.strictSame(Object.keys(time ?? {}), ['created', 'modified', BUILD.version]);
  }
});

t.test('npm gets what it needs to install', async (t) => {
  const response = await fetch(document, { headers: { Accept: OF_NPM } });
  t.equal(response.headers.get('content-type'), ABBREVIATED);
  t.equal(response.headers.get('vary'), 'Accept, Accept-Encoding');
  const { versions, ...others } = (await response.json()) as Packument;
  const { modified } = others;
  t.strictSame(others, { name: '@parley/client', 'dist-tags': { latest: BUILD.version }, modified });
  t.ok(Date.parse(modified ?? '') > 0);
  const { name, bin, peerDependencies, peerDependenciesMeta, engines } = MANIFEST;
  const needed = { name, version: BUILD.version, bin, peerDependencies, peerDependenciesMeta, engines };
  const { dist } = (await read()).versions[BUILD.version]!;
  t.strictSame(versions, { [BUILD.version]: { ...needed, dist } });
});

t.test('the tarball has the bytes of the build, and is kept for good', async (t) => {
  for (const path of [tarballOf(BUILD.version), tarballOf(BUILD.version).replace('@parley/', '@parley%2f')]) {
    const response = await fetch(path, { headers: { Origin: ORIGIN } });
    t.ok(Buffer.from(await response.arrayBuffer()).equals(BUILT));
    t.equal(response.headers.get('content-type'), 'application/gzip');
    t.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    t.equal(response.headers.get('access-control-allow-origin'), ORIGIN);
  }
});

t.test('both answer HEAD and 304, and pages as the other documents do', async (t) => {
  for (const url of [document, tarballOf(BUILD.version)]) {
    const head = await fetch(url, { method: 'HEAD', headers: { 'Accept-Encoding': 'identity' } });
    t.equal(head.status, 200);
    t.ok(Number(head.headers.get('content-length')) > 100);
    const tag = head.headers.get('etag') ?? '';
    t.equal((await fetch(url, { headers: { 'If-None-Match': tag } })).status, 304);
    const of = async (origin: string) => {
      const response = await fetch(url, { headers: { Origin: origin } });
      await response.body?.cancel();
      return response.headers.get('access-control-allow-origin');
    };
    t.strictSame([await of(ORIGIN), await of('https://strange.example')], [ORIGIN, null]);
  }
  const whole = (await fetch(document, { method: 'HEAD' })).headers.get('etag') ?? '';
  const headers = { Accept: OF_NPM, 'If-None-Match': whole };
  t.equal((await fetch(document, { headers })).status, 200, 'the two forms have tags of their own');
  const put = await fetch(document, { method: 'PUT', body: '{}' });
  t.equal(put.status, 405, 'nothing is published');
  t.equal(put.headers.get('allow'), 'GET, HEAD');
});

t.test('other names and versions are 404 in the envelope', async (t) => {
  for (const [path, message] of [
    ['', /no package but @parley\/client/],
    ['react', /no package but/],
    ['parley-client', /no package but/],
    ['@parley%2fprotocol', /no package but/],
    ['@parley/client/0.1.0', /no package but/],
    ['%00', /no package but/],
    ['@parley/client/-/client-99.0.0.tgz', /no version of @parley\/client/],
  ] as const) {
    const response = await fetch(`${app.baseUrl}/v1/npm/${path}`);
    t.equal(response.status, 404, path);
    t.match(await response.json(), { error: { code: 'resource_not_found', message } }, path);
  }
});

t.test('tarballs are at the address that was asked, which is all that npm 12 accepts', async (t) => {
  const node = await startTestApp(t, { PARLEY_PUBLIC_URL: `${PUBLIC_URL}/chat` });
  const { port } = new URL(node.baseUrl);
  for (const [host, url] of [
    ['chat.example.com', `${PUBLIC_URL}/chat`],
    ['chat.example.com:443', `${PUBLIC_URL}/chat`],
    [`localhost:${port}`, `http://localhost:${port}`],
    ['parley.internal', 'http://parley.internal'],
    ['[::1]:8080', 'http://[::1]:8080'],
    ['a%zz', `${PUBLIC_URL}/chat`],
  ] as const) {
    const { versions } = await readAs(host, `${node.baseUrl}/v1/npm/@parley%2fclient`);
    const path = `/v1/npm/@parley/client/-/client-${BUILD.version}.tgz`;
    t.equal(versions[BUILD.version]?.dist.tarball, `${url}${path}`, host);
  }
});

t.test('releases of other nodes are served, and the latest is that of the node', async (t) => {
  t.teardown(() =>
    app.database.kysely.deleteFrom('client_packages').where('version', '!=', BUILD.version).execute(),
  );
  for (const version of ['0.0.9', '9.0.0-preview.1']) await store(version);
  const { versions, 'dist-tags': tags } = await read();
  t.strictSame(Object.keys(versions), [BUILD.version, '0.0.9', '9.0.0-preview.1']);
  t.equal(tags.latest, BUILD.version);
  const { tarball = '' } = versions['0.0.9']?.dist ?? {};
  const bytes = Buffer.from(await (await fetch(tarball)).arrayBuffer());
  t.ok(bytes.equals(Buffer.from(`${OTHER}0.0.9`)));
});

t.test('what is stored stays: a node with other bytes serves it, and logs that it does', async (t) => {
  const lines: string[] = [];
  const log = createLog('warn', { write: (line: string) => void lines.push(line) });
  const node = await startTestApp(t, {}, log);
  await store(BUILD.version, node);
  for (const _ of [1, 2]) {
    const { versions } = await read(`${node.baseUrl}/v1/npm/@parley%2fclient`);
    const { integrity, tarball } = versions[BUILD.version]!.dist;
    t.equal(integrity, `of ${BUILD.version}`);
    const bytes = Buffer.from(await (await fetch(tarball!)).arrayBuffer());
    t.ok(bytes.equals(Buffer.from(`${OTHER}${BUILD.version}`)));
  }
  const warned = lines.filter((line) => line.includes('another package of the SDK'));
  t.equal(warned.length, 1, 'once');
  t.match(JSON.parse(warned[0]!), {
    version: BUILD.version,
    stored: `of ${BUILD.version}`,
    built: /^sha512-/,
  });
});

t.test('a tarball may be the first thing that is asked of a node', async (t) => {
  const node = await startTestApp(t);
  const response = await fetch(tarballOf(BUILD.version).replace(app.baseUrl, node.baseUrl));
  t.ok(Buffer.from(await response.arrayBuffer()).equals(BUILT));
});

/** Returns the document as a caller gets it that knows the server by this host. */
function readAs(host: string, url: string): Promise<Packument> {
  const { promise, resolve, reject } = Promise.withResolvers<Packument>();
  const asked = request(url, { headers: { Host: host } }, async (response) => {
    resolve((await json(response)) as Packument);
  });
  asked.on('error', reject).end();
  return promise;
}

/** Stores a package as a node of another build does. */
async function store(version: string, { database }: Pick<typeof app, 'database'> = app): Promise<void> {
  const manifest = { name: '@parley/client', version, dist: { integrity: `of ${version}`, shasum: 'none' } };
  await database.kysely
    .insertInto('client_packages')
    .values({ version, manifest: JSON.stringify(manifest), tarball: Buffer.from(`${OTHER}${version}`) })
    .execute();
}
