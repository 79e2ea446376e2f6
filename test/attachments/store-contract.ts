/**
 * The contract of every ObjectStore (src/core/attachments/storage.ts), tested over HTTP as browsers
 * use it.
 */

import { createHash } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { Test } from 'tap';
import { cleanPicture } from '../../src/core/attachments/pictures/clean-picture.ts';
import type { NewObject, ObjectStore, PresignedUpload } from '../../src/core/attachments/storage.ts';
import { SECRETS, telling } from '../support/pictures.ts';

/** An implementation with a clock of the test. */
export interface StoreGround {
  readonly store: ObjectStore;
  /** Milliseconds since 1970; store and server go by it. */
  nowMs: number;
}

const MINUTE_MS = 60_000;
/** In the middle of a stretch of time in which download URLs stay the same. */
export const NOON_MS = Date.UTC(2026, 0, 2, 12, 2, 30);

export function testStore(t: Test, open: (t: Test) => Promise<StoreGround>): void {
  t.test('an uploaded file exists, and is served unchanged', async (t) => {
    const { store } = await open(t);
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
    const object = newObject(bytes, 'image/png');
    t.equal(await store.sizeOf(object.key), undefined, 'not there yet');
    const upload = await store.presignUpload(object);
    const put = await send(upload, bytes);
    t.ok(put.ok, `${put.status} ${await put.text()}`);
    t.equal(await store.sizeOf(object.key), bytes.length);

    const url = await store.presignDownload(fileOf(object, 'map of the world.png'));
    const got = await fetch(url);
    t.equal(got.status, 200);
    t.same(Buffer.from(await got.arrayBuffer()), bytes);
    t.equal(got.headers.get('content-type'), 'image/png');
    t.equal(got.headers.get('content-length'), String(bytes.length));
    t.equal(got.headers.get('content-disposition'), 'attachment; filename="map of the world.png"');
    t.match(got.headers.get('cache-control'), /^private, max-age=\d+, immutable$/);
  });

  t.test(
    'an object of unknown size is written and read in pieces, and nothing remains of a broken one',
    async (t) => {
      const { store } = await open(t);
      const pieces = Array.from({ length: 40 }, (_, index) => Buffer.alloc(1024 * 1024, index));
      const object = newObject(Buffer.alloc(0), 'application/zip');
      async function* broken() {
        yield* pieces.slice(0, 20);
        throw new Error('the source broke off');
      }
      await t.rejects(store.putStream(object, broken()), { message: 'the source broke off' });
      t.equal(await store.open(object.key), undefined);
      async function* whole() {
        yield* pieces;
      }
      t.equal(await store.putStream(object, whole()), 40 * 1024 * 1024);
      const opened = await store.open(object.key);
      t.equal(opened?.size, 40 * 1024 * 1024);
      const expected = createHash('sha256').update(Buffer.concat(pieces)).digest('hex');
      for (const isTransient of [false, true]) {
        const digest = createHash('sha256');
        for await (const piece of (await store.open(object.key))!.read({ isTransient })) digest.update(piece);
        t.equal(digest.digest('hex'), expected);
      }
      await t.rejects(store.putStream(object, whole()), 'an object is written once');
      await t.rejects(store.putStream(object, broken(), { replaces: true }), {
        message: 'the source broke off',
      });
      t.equal(await store.sizeOf(object.key), 40 * 1024 * 1024, 'what does not end replaces nothing');
      async function* fewer() {
        yield Buffer.from('fewer');
      }
      t.equal(await store.putStream(object, fewer(), { replaces: true }), 5);
      t.equal(String(await store.read(object.key, 100)), 'fewer', 'unless it replaces the bytes');
      t.equal(await store.sizeOf(object.key), 5);
    },
  );

  t.test('a picture loses its metadata in its place, also for several at the same time', async (t) => {
    const { store } = await open(t);
    const object = newObject(telling('png'), 'image/png');
    await store.put(object, telling('png'));
    const clean = () => cleanPicture(store, object, async () => object.key);
    const sizes = (await Promise.all([clean(), clean(), clean()])).map((picture) => picture?.size);
    t.strictSame(new Set(sizes), new Set([await store.sizeOf(object.key)]));
    const bytes = await store.read(object.key, 10_000);
    for (const secret of SECRETS) t.notOk(bytes?.includes(secret), secret);
    t.equal(bytes?.length, (await clean())?.size);
    t.equal(await cleanPicture(store, newObject(Buffer.alloc(1)), async () => object.key), null, 'not there');
  });

  t.test('a URL takes what was announced, once', async (t) => {
    const { store } = await open(t);
    const bytes = Buffer.from('as announced');
    const object = newObject(bytes);
    const upload = await store.presignUpload(object);
    for (const [what, headers, body] of [
      ['a byte more', {}, Buffer.from('as announced.')],
      ['a byte fewer', {}, Buffer.from('as announce')],
      ['nothing', {}, Buffer.alloc(0)],
      ['another type', { 'Content-Type': 'text/html' }, bytes],
    ] as const) {
      const put = await send({ ...upload, headers: { ...upload.headers, ...headers } }, body);
      t.match(put.status, /^4/, what);
      t.equal(await store.sizeOf(object.key), undefined, `${what}: nothing is there`);
    }
    t.ok((await send(upload, bytes)).ok);
    t.match((await send(upload, Buffer.from('something els'.slice(1)))).status, /^4/, 'a second time');
    t.equal(await textOf(await store.presignDownload(fileOf(object))), 'as announced');
  });

  t.test('of many concurrent uploads of one object exactly one succeeds', async (t) => {
    const { store } = await open(t);
    const contents = Array.from({ length: 8 }, (_, index) => Buffer.alloc(50_000, `${index}`));
    const object = newObject(contents[0]!);
    const upload = await store.presignUpload(object);
    const puts = await Promise.all(contents.map((bytes) => send(upload, bytes)));
    t.equal(puts.filter(({ ok }) => ok).length, 1);
    const text = await textOf(await store.presignDownload(fileOf(object)));
    t.equal(text, contents[puts.findIndex(({ ok }) => ok)]!.toString());
  });

  t.test('whatever part of a URL is changed, it is refused', async (t) => {
    const { store } = await open(t);
    const bytes = Buffer.from('mine');
    const [mine, others] = [newObject(bytes), newObject(bytes)];
    const upload = await store.presignUpload(mine);
    for (const { what, url } of changesOf(upload.url, mine.key, others.key)) {
      t.equal((await send({ ...upload, url }, bytes)).status, 403, `upload, ${what}`);
    }
    t.equal((await fetch(upload.url)).status, 403, 'a download of it');
    t.equal(await store.sizeOf(mine.key), undefined);
    for (const object of [mine, others]) await send(await store.presignUpload(object), bytes);

    const download = await store.presignDownload(fileOf(mine));
    for (const { what, url } of changesOf(download, mine.key, others.key)) {
      const got = await fetch(url);
      t.equal(got.status, 403, `download, ${what}`);
      t.notMatch(await got.text(), /mine/);
    }
    t.equal((await send({ ...upload, url: download }, bytes)).status, 403, 'an upload of it');
  });

  t.test('signed URLs of a store expire', async (t) => {
    const ground = await open(t);
    const { store } = ground;
    const bytes = Buffer.from('in time');
    const [early, late] = [newObject(bytes), newObject(bytes)];
    const uploads = [await store.presignUpload(early), await store.presignUpload(late)] as const;
    const download = await store.presignDownload(fileOf(early));
    t.equal(uploads[0].expiresAtMs, NOON_MS + 15 * MINUTE_MS);

    ground.nowMs += 15 * MINUTE_MS - 1_000;
    t.ok((await send(uploads[0], bytes)).ok, 'a second before');
    ground.nowMs += 2_000;
    t.match((await send(uploads[1], bytes)).status, /^4/, 'a second after');
    t.equal(await store.sizeOf(late.key), undefined);

    t.match((await fetch(download)).status, /^4/, 'a download URL has ended by then');
    ground.nowMs = NOON_MS + 10 * MINUTE_MS;
    t.equal(await textOf(download), 'in time', 'which works for ten minutes at least');
  });

  t.test('readers of the same minutes get the same URL', async (t) => {
    const ground = await open(t);
    const file = fileOf(newObject(Buffer.from('x')));
    const first = await ground.store.presignDownload(file);
    ground.nowMs += 2 * MINUTE_MS;
    t.equal(await ground.store.presignDownload(file), first);
    t.not(await ground.store.presignDownload({ ...file, filename: 'other.txt' }), first);
    ground.nowMs += MINUTE_MS;
    t.not(await ground.store.presignDownload(file), first);
  });

  t.test("the headers with which another user's file is served", async (t) => {
    const { store } = await open(t);
    for (const [contentType, shown] of TYPES) {
      const got = await roundTrip(store, contentType, 'a');
      t.equal(got.headers.get('content-type'), shown, contentType);
    }
    for (const [filename, disposition] of NAMES) {
      const got = await roundTrip(store, 'text/plain', filename);
      t.equal(got.headers.get('content-disposition'), disposition, JSON.stringify(filename));
      t.equal(got.headers.get('x-injected'), null);
    }
  });

  t.test('objects that the server writes itself', async (t) => {
    const { store } = await open(t);
    const bytes = Buffer.from('written by us, and so on');
    const object = newObject(bytes, 'text/markdown');
    t.equal(await store.read(object.key, 100), undefined, 'not there yet');
    await Promise.all([store.put(object, bytes), store.put(object, bytes)]);
    t.equal(await store.sizeOf(object.key), bytes.length);
    t.same(await store.read(object.key, bytes.length), bytes);
    t.same(await store.read(object.key, 100_000), bytes);
    t.equal((await store.read(object.key, 13))?.toString(), 'written by us');

    await store.put(object, Buffer.from('something else'));
    t.equal(await textOf(await store.presignDownload(fileOf(object))), 'written by us, and so on');
    const late = await send(await store.presignUpload(object), bytes);
    t.match(late.status, /^4/, 'nobody uploads over it');

    const uploaded = newObject(Buffer.alloc(300_000, 'x'));
    await send(await store.presignUpload(uploaded), Buffer.alloc(300_000, 'x'));
    t.same(await store.read(uploaded.key, 200_000), Buffer.alloc(200_000, 'x'));
  });

  t.test('a removed object cannot be read from its store', async (t) => {
    const { store } = await open(t);
    const bytes = Buffer.from('gone');
    const object = newObject(bytes);
    await send(await store.presignUpload(object), bytes);
    const absent = newId('upload');
    await store.remove([object.key, absent]);
    await store.remove([object.key]);
    await store.tidy();
    t.equal(await store.sizeOf(object.key), undefined);
    t.equal((await fetch(await store.presignDownload(fileOf(object)))).status, 404);
  });
}

export function newObject(bytes: Buffer, contentType = 'text/plain'): NewObject {
  return { key: newId('upload'), contentType, sizeBytes: bytes.length };
}

export function fileOf({ key, contentType }: NewObject, filename: string | null = null) {
  return { key, contentType, filename };
}

export function send({ url, headers }: PresignedUpload, bytes: Buffer): Promise<Response> {
  return fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) });
}

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}

async function roundTrip(store: ObjectStore, contentType: string, filename: string): Promise<Response> {
  const bytes = Buffer.from('<script>alert(1)</script>');
  const object = newObject(bytes, contentType);
  await send(await store.presignUpload(object), bytes);
  const got = await fetch(await store.presignDownload(fileOf(object, filename)));
  await got.arrayBuffer();
  return got;
}

/** The URL with each of its parts changed, left out, or joined by another. */
function changesOf(text: string, key: string, other: string): { what: string; url: string }[] {
  const changes = [{ what: 'another key', url: text.replace(key, other) }];
  for (const [name, value] of new URL(text).searchParams) {
    const changed = new URL(text);
    changed.searchParams.set(name, changedValue(value));
    changes.push({ what: `another ${name}`, url: changed.href });
    const without = new URL(text);
    without.searchParams.delete(name);
    changes.push({ what: `no ${name}`, url: without.href });
  }
  const longer = new URL(text);
  longer.searchParams.append('filename', 'b.exe');
  changes.push({ what: 'another parameter', url: longer.href });
  return changes;
}

/** Returns a different value of the same length and kind. */
function changedValue(value: string): string {
  const last = value.at(-1) ?? '';
  return value.slice(0, -1) + (/\d/.test(last) ? (Number(last) + 1) % 10 : last === 'a' ? 'b' : 'a');
}

const TYPES: readonly (readonly [given: string, shown: string])[] = [
  ['image/jpeg', 'image/jpeg'],
  ['IMAGE/WebP', 'image/webp'],
  ['image/png; x=y', 'image/png'],
  ['application/pdf', 'application/pdf'],
  ['text/plain; charset=iso-8859-1', 'text/plain; charset=utf-8'],
  ['image/svg+xml', 'application/octet-stream'],
  ['text/html', 'application/octet-stream'],
  ['application/xhtml+xml', 'application/octet-stream'],
  ['text/javascript', 'application/octet-stream'],
  ['multipart/mixed; boundary="a b"', 'application/octet-stream'],
];

const NAMES: readonly (readonly [filename: string, disposition: string])[] = [
  ['report.pdf', 'attachment; filename="report.pdf"'],
  ['q: "x".txt', 'attachment; filename="q_ _x_.txt"'],
  ['a\r\nX-Injected: 1.txt', 'attachment; filename="a__X-Injected_ 1.txt"'],
  ['../../etc/passwd', 'attachment; filename=".._.._etc_passwd"'],
  ['..\\boot.ini\0', 'attachment; filename=".._boot.ini_"'],
  ['100%25.txt', 'attachment; filename="100_25.txt"; filename*=UTF-8\'\'100%2525.txt'],
  ["it's (1)*.txt", 'attachment; filename="it\'s (1)_.txt"'],
  ['naïve.txt', 'attachment; filename="na_ve.txt"; filename*=UTF-8\'\'na%C3%AFve.txt'],
  ["é'(1).txt", "attachment; filename=\"_'(1).txt\"; filename*=UTF-8''%C3%A9%27%281%29.txt"],
  ['invoice\u202Efdp.exe', 'attachment; filename="invoice_fdp.exe"'],
  ['🦜.png', 'attachment; filename="__.png"; filename*=UTF-8\'\'%F0%9F%A6%9C.png'],
  ['   ', 'attachment; filename="file"'],
  [
    `${'é'.repeat(250)}.tar.gz`,
    `attachment; filename="${'_'.repeat(126)}.gz"; filename*=UTF-8''${'%C3%A9'.repeat(126)}.gz`,
  ],
];
