/**
 * Files of customers, and so of visitors: what they may upload, attach and read
 * (docs/contract.md#attachments).
 */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { ConversationFile } from '@parley/protocol/resources/conversation-file.ts';
import { CUSTOMER_UPLOADS } from '@parley/protocol/resources/customer-uploads.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import type { VisitorClaim } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { purgeSilent } from '../../src/features/widgets/visitors/visitor-store.ts';
import { AUDIENCE, provide } from '../identity/fixture.ts';
import { type CallOptions, callsAt, type Refusal, startTestApp } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { until } from '../support/until.ts';
import { OPEN, visitorsOf } from './fixture.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo, database } = app;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { need, widget, visitor, openCase } = visitorsOf(app);
const issuer = await TokenIssuer.start(t);
const provider = await provide(app, issuer, {
  person: 'customer',
  provision: 'first_use',
  subject: 'external_id',
});
const shop = await widget({ identity_provider_id: provider.id });
const tokenOf = (sub: string) => issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub });

const UPLOAD_URL = '/v1/messaging/attachments/upload-url';
const BYTES = Buffer.from('\x89PNG\r\n\x1a\n a screenshot');
const SHOT = { filename: 'shot.png', content_type: 'image/png', size_bytes: BYTES.length };
const messagesOf = (conversationId: string) => `/v1/messaging/conversations/${conversationId}/messages`;

const ask = (token: string, fields: object = {}) =>
  call<UploadUrl & Refusal>('POST', UPLOAD_URL, { token, body: { ...SHOT, ...fields } });
const refusedUpload = (token: string, fields: object = {}) =>
  refusal('POST', UPLOAD_URL, { token, body: { ...SHOT, ...fields } });

/** Returns the key of a file whose bytes are there. */
async function uploaded(token: string, fields: object = {}): Promise<string> {
  const body = { ...SHOT, ...fields };
  const { s3_key, url, headers } = await need<UploadUrl>('POST', UPLOAD_URL, { token, body });
  const put = await fetch(url, { method: 'PUT', headers, body: BYTES });
  if (put.status !== 204) throw new Error(`the upload answered ${put.status}`);
  return s3_key;
}

const sendOf = (s3_key: string, more: object = {}) => ({
  client_message_id: randomUUID(),
  attachments: [{ kind: 'image', s3_key }],
  ...more,
});
const sendFile = (token: string, conversationId: string, s3_key: string, more: object = {}) =>
  need<ChatMessage>('POST', messagesOf(conversationId), { token, body: sendOf(s3_key, more) });
const refusedSend = (token: string, conversationId: string, s3_key: string, options: CallOptions = {}) =>
  refusal('POST', messagesOf(conversationId), { token, body: sendOf(s3_key), ...options });
const filesOf = async (token: string, conversationId: string) =>
  (
    await need<List<ConversationFile>>('GET', `/v1/messaging/conversations/${conversationId}/files`, {
      token,
    })
  ).data;
const downloaded = async (url: string | null) => Buffer.from(await (await fetch(url!)).arrayBuffer());

async function age(s3_key: string, minutes: number): Promise<void> {
  await database.query(
    {
      name: 'age-upload-of-visitor',
      text: "UPDATE uploads SET created_at = created_at - $2::int * interval '1 minute' WHERE s3_key = $1",
    },
    s3_key,
    minutes,
  );
}

t.test('a visitor sends a picture, and the team reads it like every file', async (t) => {
  const { access_token, customer_id } = await visitor(shop);
  const s3_key = await uploaded(access_token);
  const { id } = await openCase(access_token);
  const { id: messageId } = await sendFile(access_token, id, s3_key);
  for (const token of [access_token, demo.api_key]) {
    const { attachments, sender_id } = await need<ChatMessage>(
      'GET',
      `/v1/messaging/messages/${messageId}?include[]=attachments`,
      { token },
    );
    const [shown] = attachments!;
    t.equal(sender_id, customer_id);
    t.match(shown, { kind: 'image', filename: 'shot.png', size_bytes: BYTES.length });
    t.same(await downloaded(shown!.url), BYTES);
    t.equal((await filesOf(token, id)).length, 1);
  }
  const page = await uploaded(access_token, { filename: 'x.html', content_type: 'text/html' });
  const sent = await sendFile(access_token, id, page, { attachments: [{ kind: 'file', s3_key: page }] });
  const { attachments } = await need<ChatMessage>(
    'GET',
    `/v1/messaging/messages/${sent.id}?include[]=attachments`,
  );
  const { headers } = await fetch(attachments![0]!.url!);
  t.match(Object.fromEntries(headers), {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="x.html"',
  });
  const scheduled = { scheduled_at: new Date(Date.now() + 3_600_000).toISOString() };
  await sendFile(access_token, id, await uploaded(access_token), scheduled);
});

t.test('who may upload', async (t) => {
  t.equal(
    await refusal('POST', UPLOAD_URL, { headers: OPEN, body: SHOT }),
    '401 invalid_credentials Authorization',
  );
  const { access_token, customer_id } = await visitor(shop);
  const other = { 'Service-Account': demo.other_account.account_id };
  t.equal(
    await refusal('POST', UPLOAD_URL, { token: access_token, headers: other, body: SHOT }),
    '404 resource_not_found Service-Account',
  );
  t.equal(await refusedUpload(demo.customer.access_token), '201', 'customers of one case');
  t.equal(await refusedUpload(tokenOf('ada')), '201', 'customers that the application knows');

  await openCase(access_token);
  await need('POST', `/v1/messaging/actors/${customer_id}/actions/block`, { body: {} });
  t.equal(await refusedUpload(access_token), '403 insufficient_permissions null');
});

t.test('what a customer may upload', async (t) => {
  const { access_token } = await visitor(shop);
  const { bytes } = CUSTOMER_UPLOADS;
  t.equal(await refusedUpload(access_token, { size_bytes: bytes }), '201');
  const cases: [object, string][] = [
    [{ size_bytes: bytes + 1 }, '422 validation_failed size_bytes'],
    [{ size_bytes: 0 }, '422 validation_failed size_bytes'],
    [{ size_bytes: '1' }, '400 invalid_format size_bytes'],
    [{ size_bytes: undefined }, '400 missing_field size_bytes'],
    [{ filename: '' }, '422 validation_failed filename'],
    [{ filename: 'a\r\nb' }, '422 validation_failed filename'],
    [{ content_type: 'png' }, '400 invalid_format content_type'],
    [{ actor_id: 'act_x' }, '422 validation_failed actor_id'],
  ];
  for (const [fields, wanted] of cases) {
    t.equal(await refusedUpload(access_token, fields), wanted, JSON.stringify(fields));
  }
  t.equal(await refusedUpload(demo.api_key, { size_bytes: bytes + 1 }), '201', 'the team as before');
});

t.test('a customer attaches what it has uploaded itself', async (t) => {
  const [a, b] = [await visitor(shop), await visitor(shop)];
  const [ofA, ofB] = [await openCase(a.access_token), await openCase(b.access_token)];
  const key = await uploaded(a.access_token);
  const absent = '404 resource_not_found attachments[0].s3_key';
  t.equal(await refusedSend(b.access_token, ofB.id, key), absent, 'of another customer');
  t.equal(await refusedSend(b.access_token, ofA.id, key), '404 resource_not_found id', 'into its case');
  t.equal(await refusedSend(a.access_token, ofA.id, await uploaded(demo.api_key)), absent, 'of the team');
  const elsewhere = {
    token: demo.other_account.api_key,
    headers: { 'Service-Account': demo.other_account.account_id },
  };
  const theirs = await need<UploadUrl>('POST', UPLOAD_URL, { ...elsewhere, body: SHOT });
  t.equal(await refusedSend(a.access_token, ofA.id, theirs.s3_key), absent, 'of another account');
  const unsent = await ask(a.access_token);
  t.equal(
    await refusedSend(a.access_token, ofA.id, unsent.body.s3_key),
    '409 resource_conflict attachments[0].s3_key',
    'without bytes',
  );
  t.equal(await refusedSend(a.access_token, ofA.id, key), '201');
});

t.test('a file of a note is not there for the customer', async (t) => {
  const { access_token } = await visitor(shop);
  const { id } = await openCase(access_token);
  const note = await sendFile(demo.api_key, id, await uploaded(demo.api_key), { audience: 'internal' });
  const reply = await sendFile(demo.api_key, id, await uploaded(demo.api_key), { audience: 'customer' });
  const [shown, ...more] = await filesOf(access_token, id);
  t.strictSame([shown!.message_id, more], [reply.id, []]);
  t.same(await downloaded(shown!.url), BYTES);
  const path = `/v1/messaging/messages/${note.id}?include[]=attachments`;
  t.equal(await refusal('GET', path, { token: access_token }), '404 resource_not_found id');
  const { text } = await call('GET', `${messagesOf(id)}?include[]=attachments`, { token: access_token });
  t.notMatch(text, note.id);
});

t.test('ten files that no message has, within fifteen minutes', async (t) => {
  const { access_token } = await visitor(shop);
  const { id } = await openCase(access_token);
  const asked = await Promise.all(Array.from({ length: 12 }, () => ask(access_token)));
  t.strictSame(asked.map(({ status }) => status).sort(), [...Array(10).fill(201), 403, 403]);
  const { error } = asked.find(({ status }) => status === 403)!.body;
  t.match(error, { code: 'limit_exceeded', quota: { limit: 10, used: 10 } });
  const leftMs = Date.parse(error.quota!.reset_at!) - Date.now();
  t.ok(leftMs > 0 && leftMs <= 15 * 60_000, error.quota!.reset_at!);
  const [first, second] = asked.flatMap(({ status, body }) => (status === 201 ? [body] : []));
  await age(first!.s3_key, 16);
  t.equal(await refusedUpload(access_token), '201', 'one was left behind a quarter of an hour ago');
  t.equal(await refusedUpload(access_token), '403 limit_exceeded null');
  await fetch(second!.url, { method: 'PUT', headers: second!.headers, body: BYTES });
  await sendFile(access_token, id, second!.s3_key);
  t.equal(await refusedUpload(access_token), '201', 'one was sent');
});

t.test('a hundred megabytes a day for a visitor, and no such limit for who is known', async (t) => {
  const { visitorBytesADay, bytes } = CUSTOMER_UPLOADS;
  const { access_token } = await visitor(shop);
  const whole = visitorBytesADay / bytes;
  const keys: string[] = [];
  for (const token of [access_token, tokenOf('cleo')]) {
    for (let n = 0; n < whole; n += 1) {
      const { s3_key } = (await ask(token, { size_bytes: bytes })).body;
      keys.push(s3_key);
      await age(s3_key, 20);
    }
  }
  const { status, body } = await ask(access_token, { size_bytes: 1 });
  t.equal(status, 403);
  t.match(body.error, {
    code: 'limit_exceeded',
    param: 'size_bytes',
    quota: { limit: visitorBytesADay, used: visitorBytesADay },
  });
  t.equal(await refusedUpload(tokenOf('cleo')), '201');
  await age(keys[0]!, 24 * 60);
  t.equal(await refusedUpload(access_token, { size_bytes: bytes }), '201', 'a day later');
});

t.test('uploads go along with a claim, also those that no message has', async (t) => {
  const claim = (token: string, visitor_token: string) =>
    need<VisitorClaim>('POST', `/v1/widgets/${shop.id}/visitors/actions/claim`, {
      token,
      body: { visitor_token },
    });
  const goes = (id: string) =>
    until(
      async () =>
        (await database.kysely.selectFrom('actors').select('id').where('id', '=', id).execute()).length === 0,
      { what: 'the actor of the visitor is removed' },
    );
  const silent = await visitor(shop);
  const early = await uploaded(silent.access_token);
  const dora = tokenOf('dora');
  await claim(dora, silent.access_token);
  const { id } = await openCase(dora);
  t.equal(await refusedSend(dora, id, early), '201', 'before the first case');
  t.equal(await refusedUpload(silent.access_token), '401 invalid_credentials null');
  await goes(silent.customer_id);

  const a = await visitor(shop);
  const { id: caseId } = await openCase(a.access_token);
  const [sent, open] = [await uploaded(a.access_token), await uploaded(a.access_token)];
  await sendFile(a.access_token, caseId, sent);
  const { customer_id } = await claim(tokenOf('emil'), a.access_token);
  t.equal((await filesOf(tokenOf('emil'), caseId)).length, 1);
  t.equal(await refusedSend(tokenOf('dora'), id, open), '404 resource_not_found attachments[0].s3_key');
  t.equal(await refusedSend(tokenOf('emil'), caseId, open), '201');
  const rows = await database.kysely
    .selectFrom('uploads')
    .select('actor_id')
    .where('s3_key', 'in', [sent, open])
    .execute();
  t.strictSame(rows, Array(2).fill({ actor_id: customer_id }));
  await goes(a.customer_id);
  const places = await storedText(database, a.customer_id);
  t.notOk(places.some((place) => place.startsWith('public.uploads')));
});

t.test('an erasure withdraws what no message has; a silent visitor waits for its uploads', async (t) => {
  const { access_token, customer_id } = await visitor(shop);
  const key = await uploaded(access_token, { filename: 'passport.png' });
  const age = (table: string, column: string) =>
    database.query(
      {
        name: `age-visitor-${table}`,
        text: `UPDATE ${table} SET created_at = created_at - interval '3 days'
          ${table === 'refresh_tokens' ? ", expires_at = expires_at - interval '40 days'" : ''} WHERE ${column} = $1`,
      },
      customer_id,
    );
  await age('visitors', 'id');
  await age('refresh_tokens', 'actor_id');
  await purgeSilent(database);
  await need('POST', `/v1/users/${customer_id}/actions/erase`, { body: { messages: 'remove' } });
  await until(
    async () => {
      const row = await database.kysely
        .selectFrom('uploads')
        .select(['filename', 'withdrawn_at'])
        .where('s3_key', '=', key)
        .executeTakeFirst();
      return row === undefined || (row.filename === '' && row.withdrawn_at !== null);
    },
    { what: 'the upload is withdrawn' },
  );
  await database.kysely.deleteFrom('uploads').where('s3_key', '=', key).execute();
  await purgeSilent(database);
  const left = await database.kysely
    .selectFrom('visitors')
    .select('id')
    .where('id', '=', customer_id)
    .execute();
  t.strictSame(left, []);
});
