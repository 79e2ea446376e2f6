/**
 * Files of messages over HTTP, on a whole server: the URL, the upload, the message, the download
 * (docs/contract.md#attachments).
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import t from 'tap';
import WebSocket from 'ws';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import { sharedSecret } from '../../src/platform/db/shared-secret.ts';
import { type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const PUBLIC_URL = 'https://chat.example/parley';
const app = await startTestApp(t, { PARLEY_PUBLIC_URL: PUBLIC_URL });
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const { group, case: supportCase } = demo.conversations;
const UPLOAD_URL = '/v1/messaging/attachments/upload-url';
const BYTES = Buffer.from('%PDF-1.7 the report');
const REPORT = { filename: 'report.pdf', content_type: 'application/pdf', size_bytes: BYTES.length };

t.test('an upload is shown with every field and no other', async (t) => {
  const asked = Date.now();
  const { status, body } = await app.call<UploadUrl>('POST', UPLOAD_URL, { body: REPORT });
  t.equal(status, 201);
  const { s3_key, url, expires_at } = body;
  t.strictSame(body, {
    object: 'upload_url',
    s3_key,
    method: 'PUT',
    url,
    headers: { 'Content-Type': 'application/pdf' },
    expires_at,
  });
  t.match(s3_key, /^upl_[0-9A-Za-z]{24}$/);
  t.ok(url.startsWith(`${PUBLIC_URL}/v1/files/${s3_key}?`), url);
  t.match(expires_at, /\.\d{6}Z$/);
  const lifeMs = Date.parse(expires_at) - asked;
  t.ok(lifeMs >= 15 * 60_000 && lifeMs < 15 * 60_000 + 20_000, expires_at);
  const row = await database.kysely
    .selectFrom('uploads')
    .selectAll()
    .where('s3_key', '=', s3_key)
    .executeTakeFirstOrThrow();
  const { created_at: _, actor_id: __, ...kept } = row;
  t.strictSame(kept, {
    s3_key,
    account_id: demo.account_id,
    ...REPORT,
    attached_at: null,
    withdrawn_at: null,
  });
});

t.test('uploads that may be requested', async (t) => {
  for (const good of [
    { size_bytes: 25 * 1024 * 1024 },
    { filename: 'ä'.repeat(255) },
    { filename: '../../x"' },
    { content_type: 'text/plain; charset=utf-8' },
    { content_type: 'application/vnd.ms-excel.sheet.macroEnabled.12' },
    { content_type: 'multipart/mixed;boundary="a b; c"' },
  ]) {
    const { status } = await app.call('POST', UPLOAD_URL, { body: { ...REPORT, ...good } });
    t.equal(status, 201, JSON.stringify(good));
  }
  const cases: [object, string][] = [
    [{ filename: undefined }, '400 missing_field filename'],
    [{ filename: null }, '400 missing_field filename'],
    [{ content_type: undefined }, '400 missing_field content_type'],
    [{ size_bytes: undefined }, '400 missing_field size_bytes'],
    [{ filename: 1 }, '400 invalid_format filename'],
    [{ content_type: ['a/b'] }, '400 invalid_format content_type'],
    [{ size_bytes: '1' }, '400 invalid_format size_bytes'],
    [{ filename: '' }, '422 validation_failed filename'],
    [{ filename: 'a'.repeat(256) }, '422 validation_failed filename'],
    [{ filename: 'a\0' }, '400 invalid_format filename'],
    [{ filename: 'a\r\nb' }, '422 validation_failed filename'],
    [{ content_type: `a/${'b'.repeat(254)}` }, '422 validation_failed content_type'],
    [{ size_bytes: 0 }, '422 validation_failed size_bytes'],
    [{ size_bytes: -1 }, '422 validation_failed size_bytes'],
    [{ size_bytes: 1.5 }, '400 invalid_format size_bytes'],
    [{ size_bytes: 25 * 1024 * 1024 + 1 }, '422 validation_failed size_bytes'],
    [{ kind: 'file' }, '422 validation_failed kind'],
  ];
  for (const type of [
    '',
    'pdf',
    'a/',
    '/b',
    'a/b/c',
    'a b/c',
    'a/b;',
    'a/b; c',
    ' a/b',
    'a/b ',
    'a/b\r\nX: y',
    'ä/b',
    'a/b; c="d',
  ]) {
    cases.push([{ content_type: type }, '400 invalid_format content_type']);
  }
  for (const [fields, refusal] of cases) {
    const answer = await app.call('POST', UPLOAD_URL, { body: { ...REPORT, ...fields } });
    t.equal(refusalOf(answer), refusal, JSON.stringify(fields));
  }
});

t.test('an upload requires its permission', async (t) => {
  const post = (options: CallOptions) => app.call('POST', UPLOAD_URL, { body: REPORT, ...options });
  t.equal((await post({ token: grace.access_token })).status, 201);
  t.equal((await post({ token: await app.tokenOf(demo.agent.actor_id) })).status, 201, 'agents too');
  const forbidden = '403 insufficient_permissions null';
  t.equal(refusalOf(await post({ token: vera.access_token })), forbidden, 'messaging:read is too little');
  t.equal((await post({ token: demo.customer.access_token })).status, 201, 'customers');
  const nobody = await post({ headers: { Authorization: undefined } });
  t.equal(refusalOf(nobody), '401 invalid_credentials Authorization');
  const old = await post({ headers: { 'Service-Version': '1.0.harbor' } });
  t.equal(refusalOf(old), '400 api_version_too_old Service-Version');
});

t.test('a request that is sent again gets the same URL', async (t) => {
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await app.call<UploadUrl>('POST', UPLOAD_URL, { body: REPORT, headers });
  const again = await app.call('POST', UPLOAD_URL, { body: REPORT, headers });
  t.equal(again.text, first.text);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  const kept = await database.kysely
    .selectFrom('idempotency_keys')
    .select(['response', 'encrypted'])
    .execute();
  t.ok(kept.every(({ encrypted }) => encrypted));
  t.notOk(
    kept.some(({ response }) => response?.includes(first.body.s3_key)),
    'kept unreadable',
  );
});

t.test('a file, from its URL to the bytes that a reader gets', async (t) => {
  const reader = await subscribed(grace.access_token);
  const s3_key = await uploaded();
  const message = await sent([{ kind: 'file', s3_key }]);
  const [shown] = await attachmentsOf(message);
  t.strictSame(shown, {
    id: shown!.id,
    object: 'message_attachment',
    kind: 'file',
    filename: 'report.pdf',
    content_type: 'application/pdf',
    size_bytes: BYTES.length,
    url: shown!.url,
    resource: null,
    created_at: message.created_at,
  });
  t.match(shown!.id, /^att_/);
  t.ok(shown!.url!.startsWith(`${PUBLIC_URL}/v1/files/${s3_key}?`));
  const got = await fetch(local(shown!.url!));
  t.same(Buffer.from(await got.arrayBuffer()), BYTES);
  t.equal(got.headers.get('content-type'), 'application/pdf');
  t.equal(got.headers.get('content-disposition'), 'attachment; filename="report.pdf"');

  const event = await until(() => reader.find(({ data }) => data?.id === message.id), { what: 'the event' });
  const [told] = event.data.attachments!;
  t.strictSame({ ...told, url: null }, { ...shown, url: null }, 'the event has it too');
  t.same(Buffer.from(await (await fetch(local(told!.url!))).arrayBuffer()), BYTES);
  const stored = await database.kysely
    .selectFrom('attachments')
    .select(['s3_key', 'url'])
    .where('message_id', '=', message.id)
    .execute();
  t.strictSame(stored, [{ s3_key, url: null }], 'no URL is kept');
});

t.test('one node takes the URLs of another', async (t) => {
  const s3_key = await uploaded();
  const [shown] = await attachmentsOf(await sent([{ kind: 'file', s3_key }]));
  const secret = await sharedSecret(database, 'file_secret');
  const another = new FileUrls({ secret, baseUrl: () => PUBLIC_URL });
  const { pathname, search } = new URL(local(shown!.url!));
  t.match(another.verify('GET', pathname, search.slice(1)), {
    key: s3_key,
    fields: { filename: 'report.pdf' },
  });
  const stranger = new FileUrls({ secret: 'of another deployment', baseUrl: () => PUBLIC_URL });
  t.throws(() => stranger.verify('GET', pathname, search.slice(1)), {
    message: 'The signature does not match this URL. Request a new URL.',
  });
});

t.test('fields of files in a message', async (t) => {
  const s3_key = await uploaded();
  const picture = await uploaded({ filename: 'a.png', content_type: 'image/PNG' });
  const said = await sent([
    {
      kind: 'file',
      s3_key,
      filename: 'renamed.pdf',
      content_type: 'Application/PDF',
      size_bytes: BYTES.length,
    },
    { kind: 'image', s3_key: picture },
    { kind: 'link', url: 'https://example.com/' },
    { kind: 'image', s3_key: picture, filename: '', content_type: '' },
  ]);
  t.match(await attachmentsOf(said), [
    { kind: 'file', filename: 'renamed.pdf', content_type: 'application/pdf', size_bytes: BYTES.length },
    { kind: 'image', filename: 'a.png', content_type: 'image/PNG' },
    { kind: 'link', url: 'https://example.com/', filename: null },
    { kind: 'image', filename: 'a.png' },
  ]);
  const LINK = { kind: 'link', url: 'https://example.com/' };
  for (const [attachment, refusal] of [
    [
      { s3_key, kind: 'file', content_type: 'text/plain' },
      '422 validation_failed attachments[1].content_type',
    ],
    [{ s3_key, kind: 'file', size_bytes: 1 }, '422 validation_failed attachments[1].size_bytes'],
    [{ s3_key, kind: 'image' }, '422 validation_failed attachments[1].content_type'],
    [{ s3_key: picture, kind: 'file' }, '422 validation_failed attachments[1].kind'],
    [{ s3_key: newId('upload'), kind: 'file' }, '404 resource_not_found attachments[1].s3_key'],
    [{ s3_key: '../../x', kind: 'image' }, '404 resource_not_found attachments[1].s3_key'],
    [{ kind: 'file' }, '400 missing_field attachments[1].s3_key'],
  ] as const) {
    const answer = await send([LINK, attachment]);
    t.equal(refusalOf(answer), refusal, JSON.stringify(attachment));
  }
  const [link] = await attachmentsOf(said);
  const edited = await app.call('PATCH', `/v1/messaging/messages/${said.id}`, {
    headers: { 'Service-Version': '1.2.harbor' },
    body: { attachments: [{ id: link!.id }, { kind: 'file', s3_key: picture }] },
  });
  t.equal(refusalOf(edited), '422 validation_failed attachments[1].kind', 'in an edit too');
});

t.test('only what was uploaded can be attached', async (t) => {
  const { body } = await app.call<UploadUrl>('POST', UPLOAD_URL, { body: REPORT });
  const attachments = [{ kind: 'file', s3_key: body.s3_key }];
  t.equal(refusalOf(await send(attachments)), '409 resource_conflict attachments[0].s3_key');
  const put = await fetch(local(body.url), { method: body.method, headers: body.headers, body: BYTES });
  t.equal(put.status, 204);
  t.equal((await send(attachments)).status, 201);
});

t.test('a key of another account is as good as none, and to a customer that of another actor', async (t) => {
  const other = {
    token: demo.other_account.api_key,
    headers: { 'Service-Account': demo.other_account.account_id },
  };
  const theirs = await uploaded({}, other);
  const answers = await Promise.all(
    [theirs, newId('upload')].map((s3_key) => send([{ kind: 'file', s3_key }])),
  );
  t.equal(answers[0]!.text, answers[1]!.text, 'byte for byte');
  t.equal(refusalOf(answers[0]!), '404 resource_not_found attachments[0].s3_key');

  const ours = await uploaded();
  const customer = { token: demo.customer.access_token };
  const answer = await send([{ kind: 'file', s3_key: ours }], supportCase, customer);
  t.equal(refusalOf(answer), '404 resource_not_found attachments[0].s3_key');
});

t.test('a customer gets the files of what it is written', async (t) => {
  const s3_key = await uploaded();
  const attachments = [{ kind: 'file', s3_key }];
  const reply = { attachments, audience: 'customer', client_message_id: randomUUID() };
  const path = `/v1/messaging/conversations/${supportCase}/messages`;
  const told = await app.call<ChatMessage>('POST', path, { body: reply, token: ada.access_token });
  t.equal(told.status, 201);
  const token = demo.customer.access_token;
  const { body } = await app.call<List<ChatMessage>>('GET', `${path}?include[]=attachments`, { token });
  const seen = body.data.find(({ id }) => id === told.body.id);
  t.same(Buffer.from(await (await fetch(local(seen!.attachments![0]!.url!))).arrayBuffer()), BYTES);
});

t.test('a key is good for a day', async (t) => {
  const [young, old] = [await uploaded(), await uploaded()];
  const age = (s3_key: string, hours: number) =>
    database.query(
      {
        name: `age-${hours}`,
        text: `UPDATE uploads SET created_at = now() - interval '${hours} hours' WHERE s3_key = $1`,
      },
      s3_key,
    );
  await age(young, 23);
  await age(old, 24);
  t.equal((await send([{ kind: 'file', s3_key: young }])).status, 201);
  const answer = await send([{ kind: 'file', s3_key: old }]);
  t.equal(refusalOf(answer), '404 resource_not_found attachments[0].s3_key');
});

t.test('a resend succeeds, whatever has happened to its file', async (t) => {
  const s3_key = await uploaded();
  const body = { attachments: [{ kind: 'file', s3_key }], client_message_id: randomUUID() };
  const path = `/v1/messaging/conversations/${group}/messages`;
  const first = await app.call<ChatMessage>('POST', path, { body });
  await database.kysely.deleteFrom('uploads').where('s3_key', '=', s3_key).execute();
  const again = await app.call<ChatMessage>('POST', path, { body });
  t.equal(again.status, 201);
  t.equal(again.body.id, first.body.id);
});

/** The key of a file whose bytes are there. */
async function uploaded(fields: Partial<typeof REPORT> = {}, options: CallOptions = {}): Promise<string> {
  const { body } = await app.call<UploadUrl>('POST', UPLOAD_URL, {
    body: { ...REPORT, ...fields },
    ...options,
  });
  const put = await fetch(local(body.url), { method: body.method, headers: body.headers, body: BYTES });
  if (put.status !== 204) throw new Error(`the upload answered ${put.status}`);
  return body.s3_key;
}

/** Rewrites a public URL to the address of the test's own server. */
function local(url: string): string {
  return url.replace(PUBLIC_URL, app.baseUrl);
}

function send(attachments: readonly object[], conversation = group, options: CallOptions = {}) {
  const body = { attachments, client_message_id: randomUUID() };
  return app.call<ChatMessage & Refusal>('POST', `/v1/messaging/conversations/${conversation}/messages`, {
    body,
    ...options,
  });
}

async function sent(attachments: readonly object[]): Promise<ChatMessage> {
  const { status, body, text } = await send(attachments);
  if (status !== 201) throw new Error(text);
  return body;
}

async function attachmentsOf({ id }: ChatMessage): Promise<Attachment[]> {
  const { body } = await app.call<ChatMessage>('GET', `/v1/messaging/messages/${id}?include[]=attachments`);
  return body.attachments!;
}

interface Told {
  readonly type: string;
  readonly data: ChatMessage;
}

/** Returns the events that a socket in the group receives. */
async function subscribed(token: string): Promise<Told[]> {
  const socket = new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, {
    headers: {
      Authorization: `Bearer ${token}`,
      'Service-Version': demo.service_version,
      'Service-Account': demo.account_id,
    },
  });
  t.teardown(() => socket.terminate());
  const told: Told[] = [];
  socket.on('message', (data) => told.push(JSON.parse(String(data))));
  await until(() => told.some(({ type }) => type === 'ready'), { what: 'ready' });
  socket.send(JSON.stringify({ type: 'subscribe', id: 's', conversation_id: group }));
  await until(() => told.some(({ type }) => type === 'caught_up'), { what: 'caught_up' });
  return told;
}
