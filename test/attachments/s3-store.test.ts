/** Files in object storage: bytes go between it and clients, under URLs that Parley signs. */

import { Readable } from 'node:stream';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import t, { type Test } from 'tap';
import { S3Store } from '../../src/core/attachments/s3-store.ts';
import type { ObjectStore } from '../../src/core/attachments/storage.ts';
import { type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { ObjectServer } from './object-server.ts';
import { fileOf, NOON_MS, newObject, type StoreGround, send, testStore } from './store-contract.ts';

interface S3Ground extends StoreGround {
  readonly server: ObjectServer;
}

const FAILED = { name: 'ApiError', condition: 'external_service_error' };
const AWAY = { name: 'ApiError', condition: 'connection_error' };
const LATE = { name: 'ApiError', condition: 'timeout' };
const CREDENTIALS = { accessKeyId: 'AKIAPARLEY', secretAccessKey: 'a secret of the bucket' };
const LOCAL = { bucket: 'files', region: 'eu-central-1', credentials: CREDENTIALS };

async function open(t: Test): Promise<S3Ground> {
  const now = () => ground.nowMs;
  const server = await new ObjectServer({ bucket: 'files', ...CREDENTIALS, now }).listen(t);
  const store = new S3Store({
    bucket: 'files',
    region: 'eu-central-1',
    endpoint: server.endpoint,
    credentials: CREDENTIALS,
    now,
  });
  t.teardown(() => store.close());
  const ground = { store, server, nowMs: NOON_MS };
  return ground;
}

testStore(t, open);

t.test('the size, the type and the only-once are under the signature of an upload', async (t) => {
  const { store, server } = await open(t);
  const bytes = Buffer.from('signed');
  const object = newObject(bytes);
  const upload = await store.presignUpload(object);
  t.strictSame(upload.headers, { 'Content-Type': 'text/plain', 'If-None-Match': '*' });
  const url = new URL(upload.url);
  t.equal(`${url.origin}${url.pathname}`, `${server.endpoint}/files/${object.key}`);
  t.equal(url.searchParams.get('X-Amz-Expires'), '900');
  t.notMatch(upload.url, /checksum|x-id=.*crc/i);
  await send(upload, bytes);
  t.same(server.served, [`PUT ${object.key} content-length;content-type;host;if-none-match`]);
  const { 'If-None-Match': _, ...withoutOnce } = upload.headers;
  t.equal((await send({ ...upload, headers: withoutOnce as Record<string, string> }, bytes)).status, 403);
});

t.test('AWS itself is addressed by the bucket’s own host', async (t) => {
  const store = new S3Store({
    bucket: 'files',
    region: 'eu-central-1',
    endpoint: null,
    credentials: CREDENTIALS,
    now: () => NOON_MS,
  });
  t.teardown(() => store.close());
  const url = new URL(await store.presignDownload(fileOf(newObject(Buffer.from('x')))));
  t.equal(url.host, 'files.s3.eu-central-1.amazonaws.com');
});

t.test('a page of URLs is signed once', async (t) => {
  const { store } = await open(t);
  const files = Array.from({ length: 100 }, () => ({
    key: newId('upload'),
    filename: 'a',
    contentType: 'image/png',
  }));
  const first = await Promise.all(files.map((file) => store.presignDownload(file)));
  t.equal(new Set(first).size, 100);
  t.same(await Promise.all(files.map((file) => store.presignDownload(file))), first);
});

t.test('a storage that refuses, breaks off, hangs or is not there', async (t) => {
  const { store, server } = await open(t);
  const key = newId('upload');
  const all = (store: ObjectStore): Record<string, () => Promise<unknown>> => ({
    sizeOf: () => store.sizeOf(key),
    read: () => store.read(key, 1),
    open: () => store.open(key),
    put: () => store.put({ key, contentType: 'a/b' }, Buffer.from('x')),
    putStream: () => store.putStream({ key, contentType: 'a/b' }, Readable.from([Buffer.from('x')])),
    remove: () => store.remove([key]),
  });
  const hasty = new S3Store({ ...LOCAL, endpoint: server.endpoint, timeoutMs: 100 });
  t.teardown(() => hasty.close());
  const cases: [failing: ObjectServer['failing'], expected: typeof FAILED][] = [
    [403, FAILED],
    [500, FAILED],
    [503, FAILED],
    ['garbage', FAILED],
    ['reset', AWAY],
    ['hang', LATE],
  ];
  for (const [failing, expected] of cases) {
    server.failing = failing;
    await Promise.all(
      Object.entries(all(failing === 'hang' ? hasty : store)).map(([what, ask]) =>
        t.rejects(ask(), expected, `${failing}: ${what}`),
      ),
    );
  }
  for (const endpoint of [
    'http://127.0.0.1:1',
    'http://nowhere.invalid',
    server.endpoint.replace('http', 'https'),
  ]) {
    const away = new S3Store({ ...LOCAL, endpoint });
    t.teardown(() => away.close());
    await t.rejects(away.sizeOf(key), AWAY, endpoint);
  }
  server.failing = undefined;
  t.equal(await store.sizeOf(key), undefined, 'and works again');
});

t.test('a whole server with object storage', async (t) => {
  const server = await new ObjectServer({ bucket: 'files', ...CREDENTIALS, now: Date.now }).listen(t);
  const app = await startTestApp(t, {
    PARLEY_S3_BUCKET: 'files',
    PARLEY_S3_ENDPOINT: server.endpoint,
    PARLEY_S3_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    PARLEY_S3_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  });
  const bytes = Buffer.from('a picture');
  const ask = (size_bytes: number) =>
    app.call<UploadUrl & Refusal>('POST', '/v1/messaging/attachments/upload-url', {
      body: { filename: 'a.png', content_type: 'image/png', size_bytes },
    });
  t.equal((await ask(100 * 1024 * 1024)).status, 201);
  t.equal(refusalOf(await ask(100 * 1024 * 1024 + 1)), '422 validation_failed size_bytes');
  const { body } = await ask(bytes.length);
  t.strictSame(body.headers, { 'Content-Type': 'image/png', 'If-None-Match': '*' });

  const path = `/v1/messaging/conversations/${app.demo.conversations.group}/messages`;
  const message = { client_message_id: '1', attachments: [{ kind: 'image', s3_key: body.s3_key }] };
  const post = () => app.call<ChatMessage & Refusal>('POST', path, { body: message });
  t.equal(refusalOf(await post()), '409 resource_conflict attachments[0].s3_key');
  t.ok((await send({ ...body, expiresAtMs: 0 }, bytes)).ok);
  const failures: [failing: ObjectServer['failing'], refusal: string][] = [
    [503, '502 external_service_error null'],
    ['reset', '502 connection_error null'],
  ];
  for (const [failing, refusal] of failures) {
    server.failing = failing;
    const refused = await post();
    t.equal(refusalOf(refused), refusal);
    t.equal(refused.body.error.is_transient, true);
  }
  server.failing = undefined;
  t.equal((await post()).status, 201);

  const { body: page } = await app.call<List<ChatMessage>>('GET', `${path}?include[]=attachments`);
  const got = await fetch(page.data[0]!.attachments![0]!.url!);
  t.same(Buffer.from(await got.arrayBuffer()), bytes);
  t.equal((await app.call('GET', `/v1/files/${body.s3_key}`)).status, 404, 'Parley itself has none');
});
