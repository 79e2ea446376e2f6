/** Files that Parley itself keeps and serves. */

import { mkdir, readdir, readlink, utimes, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import t, { type Test } from 'tap';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { fileRoutes } from '../../src/core/attachments/file-routes.ts';
import { FileStore } from '../../src/core/attachments/file-store.ts';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import { AllowedOrigins } from '../../src/platform/http/origins.ts';
import { type FixtureOptions, serve } from '../http/fixture.ts';
import { freshDirectory } from '../start/parley.ts';
import type { Refusal } from '../support/app.ts';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { fileOf, NOON_MS, newObject, type StoreGround, send, testStore } from './store-contract.ts';

interface FileGround extends StoreGround {
  readonly store: FileStore;
  readonly directory: string;
  readonly port: number;
}

const KNOWN = { isDeleted: async () => false, requireUpload: async () => {} };

async function open(t: Test, options: FixtureOptions = {}): Promise<FileGround> {
  const directory = join(freshDirectory(t), 'uploads');
  let baseUrl = '';
  const now = () => ground.nowMs;
  const urls = new FileUrls({ secret: 'a secret of all nodes', baseUrl: () => baseUrl, now });
  const store = new FileStore({ directory, urls, now });
  const publicRoutes = fileRoutes(store, createNodeMetrics(), KNOWN, now);
  const fixture = await serve(t, { ...options, publicRoutes });
  baseUrl = fixture.url;
  const ground = { store, directory, port: fixture.port, nowMs: NOON_MS };
  return ground;
}

testStore(t, open);

t.test('every refusal has its own error', async (t) => {
  const ground = await open(t);
  const { store } = ground;
  const bytes = Buffer.from('0123456789');
  const object = newObject(bytes);
  const upload = await store.presignUpload(object);
  const refusal = async (response: Promise<Response>) => {
    const { status, headers, ...rest } = await response;
    const { error } = (await (await response).json()) as Refusal;
    t.match(headers.get('request-id'), /^req_/, rest.url);
    return `${status} ${error.code} ${error.param}`;
  };
  const put = (headers: Record<string, string>, body: Buffer) =>
    refusal(send({ ...upload, headers: { ...upload.headers, ...headers } }, body));
  t.equal(await put({}, Buffer.alloc(11)), '413 validation_failed null');
  t.equal(await put({}, Buffer.alloc(900_000)), '413 validation_failed null');
  t.equal(await put({}, Buffer.alloc(9)), '422 validation_failed Content-Length');
  t.equal(await put({ 'Content-Type': 'text/html' }, bytes), '422 validation_failed Content-Type');
  t.equal(await refusal(fetch(`${upload.url}x`)), '403 insufficient_permissions null');
  t.equal(await refusal(fetch(upload.url.split('?')[0]!)), '403 insufficient_permissions null');
  const download = await store.presignDownload(fileOf(object));
  t.equal(await refusal(fetch(download)), '404 resource_not_found null');
  t.equal((await fetch(download, { method: 'HEAD' })).status, 404);
  t.equal((await send(upload, bytes)).status, 204);
  t.equal(await refusal(send(upload, bytes)), '409 resource_conflict null');
  t.equal(await refusal(fetch(download, { method: 'DELETE' })), '405 method_not_allowed null');
  ground.nowMs += 15 * 60_000;
  t.equal(await refusal(send(upload, bytes)), '410 resource_gone null');
  t.equal(await refusal(fetch(download)), '410 resource_gone null');
  t.same(await readdir(join(ground.directory, 'incoming')), []);
});

t.test('no path leads out of the directory of the file store', async (t) => {
  const { store, directory, port } = await open(t);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, '..', 'secret'), 'secret');
  const object = newObject(Buffer.from('x'));
  const { pathname, search } = new URL(await store.presignDownload(fileOf(object)));
  for (const path of [
    '/v1/files/../secret',
    '/v1/files/..%2Fsecret',
    `/v1/files/${object.key}/../../secret`,
    `/v1/files/${object.key}%2F..%2F..%2Fsecret`,
    `${pathname}%00`,
    '/v1/files/',
    '/v1/files//secret',
    '/v1/files/incoming',
  ]) {
    const client = new RawClient(port).send(
      `GET ${path}${search} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    await client.closed;
    t.same(client.statuses, [403], path);
  }
  // Checked in addition to the signature.
  for (const key of ['../secret', 'incoming', '', `${object.key}/../x`]) {
    await t.rejects(store.sizeOf(key), TypeError);
    await t.rejects(
      store.write(key, new Blob(['x']).stream() as unknown as AsyncIterable<Buffer>, 1),
      TypeError,
    );
  }
});

t.test('an upload that breaks off leaves nothing', async (t) => {
  const { store, directory, port } = await open(t);
  const object = { ...newObject(Buffer.alloc(0)), sizeBytes: 1_000_000 };
  const { url, headers } = await store.presignUpload(object);
  const { pathname, search } = new URL(url);
  const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: a\r\nContent-Type: ${headers['Content-Type']}\r\nContent-Length: 1000000\r\n\r\n`;
  const client = new RawClient(port).send(head).send(Buffer.alloc(600_000, 'a'));
  const incoming = () => readdir(join(directory, 'incoming')).catch(() => []);
  await until(async () => (await incoming()).length === 1, { what: 'the file to be begun' });
  client.destroy();
  await until(async () => (await incoming()).length === 0, { what: 'the file to be gone' });
  t.same(await readdir(directory), ['incoming']);
  t.ok((await send({ url, headers, expiresAtMs: 0 }, Buffer.alloc(1_000_000))).ok, 'and may be tried again');
});

t.test('a file that is still being received cannot be found', async (t) => {
  const { store, directory } = await open(t);
  const key = newId('upload');
  let go = () => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  async function* pieces() {
    yield Buffer.from('half');
    await gate;
    yield Buffer.from('half');
  }
  const written = store.write(key, pieces(), 8);
  await until(async () => (await readdir(join(directory, 'incoming')).catch(() => [])).length === 1, {
    what: 'the first half',
  });
  t.equal(await store.sizeOf(key), undefined);
  go();
  await written;
  t.equal(await store.sizeOf(key), 8);
  for (const [what, size] of [
    ['more', 7],
    ['fewer', 9],
  ] as const) {
    const other = newId('upload');
    const refused = store.write(other, pieces(), size);
    await t.rejects(
      refused,
      new ApiError(
        'validation_failed',
        `The upload was created for a file of ${size} bytes. Send exactly these.`,
      ),
    );
    t.equal(await store.sizeOf(other), undefined, what);
  }
  t.same((await readdir(directory)).sort(), ['incoming', key].sort());
});

t.test('the remains of a killed node are removed after a day', async (t) => {
  const { store, directory } = await open(t);
  await store.tidy();
  const incoming = join(directory, 'incoming');
  await mkdir(incoming, { recursive: true });
  for (const name of ['old', 'young']) await writeFile(join(incoming, name), 'x');
  const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60;
  await utimes(join(incoming, 'old'), twoDaysAgo, twoDaysAgo);
  await store.tidy();
  t.same(await readdir(incoming), ['young']);
});

t.test('25 MiB, the largest size, to a slow reader', async (t) => {
  const { store, port } = await open(t);
  const bytes = Buffer.alloc(store.maxBytes, 'parley');
  const object = newObject(bytes);
  t.ok((await send(await store.presignUpload(object), bytes)).ok);
  const { pathname, search } = new URL(await store.presignDownload(fileOf(object)));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asked = request({ port, host: '127.0.0.1', path: pathname + search }, (response) => {
    let received = 0;
    response.on('data', (piece: Buffer) => {
      const right = bytes.subarray(received, received + piece.length);
      if (!piece.equals(right)) reject(new Error(`other bytes behind ${received}`));
      received += piece.length;
      // It stops each time, and the server has to wait for it.
      response.pause();
      setImmediate(() => response.resume());
    });
    response.once('end', () => resolve(received)).once('error', reject);
  });
  asked.once('error', reject).end();
  t.equal(await promise, bytes.length);
});

t.test('a reader that stops is cut, and its file closed', async (t) => {
  const { store, port } = await open(t, { limits: { writeMs: 300 } });
  const bytes = Buffer.alloc(20_000_000, 'x');
  const object = newObject(bytes);
  await send(await store.presignUpload(object), bytes);
  const { pathname, search } = new URL(await store.presignDownload(fileOf(object)));
  const client = new RawClient(port);
  client.socket.pause();
  client.send(`GET ${pathname}${search} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await until(async () => (await openFiles(object.key)) === 1, { what: 'the file to be read' });
  await until(async () => (await openFiles(object.key)) === 0, { what: 'the file to be let go' });
  client.socket.resume();
  await client.closed;
  t.ok(client.received.length < bytes.length);
});

t.test('HEAD, and pages of allowed origins', async (t) => {
  const { store } = await open(t, { origins: new AllowedOrigins(['https://app.example']) });
  const bytes = Buffer.from('0123456789');
  const object = newObject(bytes);
  const upload = await store.presignUpload(object);
  const preflight = await fetch(upload.url, {
    method: 'OPTIONS',
    headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'PUT' },
  });
  t.equal(preflight.status, 204);
  t.match(preflight.headers.get('access-control-allow-methods'), 'PUT');
  t.match(preflight.headers.get('access-control-allow-headers'), 'Content-Type');
  await send(upload, bytes);
  const url = await store.presignDownload(fileOf(object));
  const head = await fetch(url, { method: 'HEAD', headers: { Origin: 'https://app.example' } });
  t.equal(head.status, 200);
  t.equal(await head.text(), '');
  const { date: _, 'request-id': __, uwebsockets: ___, ...headers } = Object.fromEntries(head.headers);
  t.strictSame(headers, {
    'access-control-allow-origin': 'https://app.example',
    'access-control-expose-headers':
      'Deprecation, Idempotent-Replayed, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Request-Id, Retry-After, Sunset, WWW-Authenticate',
    'cache-control': 'private, max-age=750, immutable',
    // fetch asks for the end of the connection behind a HEAD.
    connection: 'close',
    'content-disposition': `attachment; filename="${object.key}"`,
    'content-length': '10',
    'content-security-policy': "default-src 'none'; sandbox",
    'content-type': 'text/plain; charset=utf-8',
    vary: 'Origin',
    'x-content-type-options': 'nosniff',
  });
});

t.test('after a download the connection serves further requests', async (t) => {
  const { store, port } = await open(t);
  const bytes = Buffer.alloc(300_000, 'x');
  const object = newObject(bytes);
  await send(await store.presignUpload(object), bytes);
  const { pathname, search } = new URL(await store.presignDownload(fileOf(object)));
  const get = `GET ${pathname}${search} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const client = new RawClient(port).send(get);
  const whole = () => client.received.split('x'.repeat(300_000)).length - 1;
  await until(() => whole() === 1, { what: 'the first' });
  client.send(get.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  await client.closed;
  t.same(client.statuses, [200, 200]);
  t.equal(whole(), 2);
});

/** How many descriptors of this process are open on the file. */
async function openFiles(key: string): Promise<number> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((path) => path.endsWith(key)).length;
}
