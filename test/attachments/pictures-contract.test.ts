/**
 * Pictures of messages and avatars without metadata, on a whole server (docs/contract.md#pictures).
 */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { Account } from '@parley/protocol/resources/account.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import ExifReader from 'exifreader';
import { type Kysely, sql } from 'kysely';
import t from 'tap';
import { up } from '../../migrations/0055_picture_metadata.ts';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { personWith } from '../accounts/fixture.ts';
import { type CallOptions, callsAt, startTestApp } from '../support/app.ts';
import { PLAIN, SECRETS, telling } from '../support/pictures.ts';

const app = await startTestApp(t);
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { demo, database } = app;
const { ada } = demo.users;
const { group, case: supportCase } = demo.conversations;
const MESSAGES = '/v1/messaging/conversations';
const BROKEN = Buffer.concat([PLAIN.jpeg.subarray(0, 20), Buffer.from('Mona')]);

t.test('the setting: on for new accounts, changed by who may, audited', async (t) => {
  const get = async () => (await call<Account>('GET', '/v1/account')).body.picture_metadata;
  t.equal(await get(), 'remove');
  const old = await app.call<Account>('GET', '/v1/account', { headers: { 'Service-Version': '1.3.harbor' } });
  t.notOk('picture_metadata' in old.body, 'older versions do not have it');
  const change = (body: object, options: CallOptions = {}) =>
    call<Account>('PATCH', '/v1/account', { body, ...options });
  const changed = await change({ picture_metadata: 'keep' });
  t.match(changed, { status: 200, body: { object: 'account', picture_metadata: 'keep' } });
  t.equal(await get(), 'keep');
  t.strictSame((await change({ picture_metadata: 'keep' })).body, changed.body, 'again: nothing changes');
  t.strictSame((await change({})).body, changed.body, 'absent: it stays');
  const audit = await call<List<AuditEvent>>('GET', '/v1/account/audit?action=account.updated');
  t.match(audit.body.data, [{ details: { picture_metadata: 'keep' } }]);
  t.equal(audit.body.data.length, 1);
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await change({ picture_metadata: 'remove' }, { headers });
  t.equal((await change({ picture_metadata: 'remove' }, { headers })).text, first.text);

  const member = await personWith(app, ['accounts:read']);
  const body = { picture_metadata: 'keep' };
  t.equal(
    await refusal('PATCH', '/v1/account', { body, token: member.token }),
    '403 insufficient_permissions null',
  );
  for (const [wrong, expected] of [
    [{ picture_metadata: 'lose' }, '422 validation_failed picture_metadata'],
    [{ picture_metadata: null }, '400 missing_field picture_metadata'],
    [{ name: 'Acme' }, '422 validation_failed name'],
  ] as const) {
    t.equal(await refusal('PATCH', '/v1/account', { body: wrong }), expected);
  }
});

t.test('accounts that are there at the upgrade keep what pictures tell', async (t) => {
  const undone = new Error('undone');
  const migrating = database.transaction(async (tx) => {
    await sql`ALTER TABLE accounts DROP COLUMN picture_metadata`.execute(tx.kysely);
    await sql`ALTER TABLE attachments DROP COLUMN picture_metadata`.execute(tx.kysely);
    await up(tx.kysely as unknown as Kysely<unknown>);
    const before = await tx.kysely.selectFrom('accounts').select('picture_metadata').execute();
    t.ok(before.length > 0 && before.every(({ picture_metadata }) => picture_metadata === 'keep'));
    const { account } = await createAccount(tx, { name: 'New' });
    t.equal(account.picture_metadata, 'remove');
    throw undone;
  });
  await t.rejects(migrating, undone);
});

for (const kind of ['jpeg', 'png', 'webp'] as const) {
  t.test(`${kind}: the file of a message tells nothing and keeps its turn`, async (t) => {
    const key = await upload(telling(kind), `image/${kind}`);
    const message = await sent(key);
    const [attachment] = message.attachments!;
    t.match(attachment, { kind: 'image', picture_metadata: 'removed', content_type: `image/${kind}` });
    const bytes = await download(attachment!);
    t.equal(attachment!.size_bytes, bytes.length, 'the size is that of the file');
    t.ok(bytes.length < telling(kind).length);
    for (const secret of SECRETS) t.notOk(bytes.includes(secret), secret);
    t.equal(ExifReader.load(bytes).Orientation?.value, 6);
    const old = await app.call<ChatMessage>(
      'GET',
      `/v1/messaging/messages/${message.id}?include[]=attachments`,
      {
        headers: { 'Service-Version': '1.3.harbor' },
      },
    );
    t.notOk('picture_metadata' in old.body.attachments![0]!);

    const [again] = (await sent(key)).attachments!;
    t.match(again, { size_bytes: bytes.length, picture_metadata: 'removed' }, 'in a second message too');
    const forwarded = await call<ChatMessage>(
      'POST',
      `/v1/messaging/messages/${message.id}/actions/forward?include[]=attachments`,
      {
        body: { conversation_id: group, client_message_id: randomUUID() },
      },
    );
    t.match(forwarded.body.attachments, [{ size_bytes: bytes.length, picture_metadata: 'removed' }]);
  });
}

t.test('what cannot be read is kept and says so; other files are not looked at', async (t) => {
  const kept = async (bytes: Buffer, type: string, kind = 'image') => {
    const [attachment] = (await sent(await upload(bytes, type), { kind })).attachments!;
    t.strictSame(await download(attachment!), bytes, type);
    t.equal(attachment!.size_bytes, bytes.length);
    return attachment!.picture_metadata;
  };
  t.equal(await kept(BROKEN, 'image/jpeg'), 'kept');
  t.equal(await kept(Buffer.from('<svg/>'), 'image/svg+xml'), 'kept');
  t.equal(await kept(telling('jpeg'), 'application/octet-stream', 'file'), null);
  const clean = await kept(PLAIN.webp, 'image/webp');
  t.equal(clean, 'removed', 'a picture that tells nothing');
  const [named] = (await sent(await upload(telling('png'), 'image/jpeg'))).attachments!;
  t.equal(named!.picture_metadata, 'removed', 'its bytes say what it is, not its name');
});

t.test('once with many: one upload twice in a message, and in messages at the same time', async (t) => {
  const key = await upload(telling('jpeg'), 'image/jpeg');
  const answers = await Promise.all([sent(key, {}, 2), sent(key), sent(key), sent(key, {}, 2)]);
  const attachments = answers.flatMap(({ attachments }) => attachments!);
  t.equal(attachments.length, 6);
  for (const attachment of attachments) {
    const bytes = await download(attachment);
    t.equal(attachment.size_bytes, bytes.length);
    t.equal(attachment.picture_metadata, 'removed');
    t.notOk(SECRETS.some((secret) => bytes.includes(secret)));
  }
});

t.test('drafts, scheduled messages, edits and customers', async (t) => {
  const image = async () => ({ kind: 'image', s3_key: await upload(telling('jpeg'), 'image/jpeg') });
  const post = (conversation: string, body: object, options: CallOptions = {}) =>
    call<ChatMessage>('POST', `${MESSAGES}/${conversation}/messages?include[]=attachments`, {
      body,
      ...options,
    });
  const draft = { mode: 'draft', channel: 'message', attachments: [await image()] };
  t.match((await post(supportCase, draft)).body.attachments, [{ picture_metadata: 'removed' }]);
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  const later = { client_message_id: randomUUID(), scheduled_at, attachments: [await image()] };
  t.match((await post(group, later)).body.attachments, [{ picture_metadata: 'removed' }]);
  const text = await post(group, { client_message_id: randomUUID(), body: 'a text' });
  const edited = await call<ChatMessage>(
    'PATCH',
    `/v1/messaging/messages/${text.body.id}?include[]=attachments`,
    {
      body: { attachments: [await image()] },
    },
  );
  t.match(edited.body.attachments, [{ picture_metadata: 'removed' }]);
  const token = demo.customer.access_token;
  const s3_key = await upload(telling('webp'), 'image/webp', { token });
  const own = { client_message_id: randomUUID(), body: 'look', attachments: [{ kind: 'image', s3_key }] };
  t.match((await post(supportCase, own, { token })).body.attachments, [{ picture_metadata: 'removed' }]);
});

t.test('a message that has its picture keeps it, whatever the setting becomes', async (t) => {
  await call('PATCH', '/v1/account', { body: { picture_metadata: 'keep' } });
  const key = await upload(telling('jpeg'), 'image/jpeg');
  const [before] = (await sent(key)).attachments!;
  t.match(before, { picture_metadata: null, size_bytes: telling('jpeg').length });
  await call('PATCH', '/v1/account', { body: { picture_metadata: 'remove' } });
  const [after] = (await sent(key)).attachments!;
  t.equal(after!.picture_metadata, 'removed');
  t.equal(after!.size_bytes, (await download(after!)).length);
  t.strictSame(await download(before!), telling('jpeg'), 'the first message has what it had');
  const rows = await database.kysely
    .selectFrom('attachments')
    .select('s3_key')
    .where('id', 'in', [before!.id, after!.id])
    .execute();
  t.equal(new Set(rows.map(({ s3_key }) => s3_key)).size, 2);
  t.equal(
    rows.some(({ s3_key }) => s3_key === key),
    true,
  );
  const claims = { size_bytes: telling('jpeg').length };
  t.equal((await sent(key, claims)).attachments!.length, 1, 'the size of the upload may be stated');
});

t.test(
  'an avatar tells nothing, whatever the setting is, and a message has its picture as it was',
  async (t) => {
    await call('PATCH', '/v1/account', { body: { picture_metadata: 'keep' } });
    for (const kind of ['jpeg', 'png', 'webp', 'gif'] as const) {
      const key = await upload(telling(kind), `image/${kind}`);
      const [attachment] = (await sent(key)).attachments!;
      const avatar = await avatarOf(key);
      for (const secret of SECRETS) t.notOk(avatar.includes(secret), `${kind} ${secret}`);
      if (kind !== 'gif') t.equal(ExifReader.load(avatar).Orientation?.value, 6, kind);
      t.strictSame(await download(attachment!), telling(kind));
    }
    t.strictSame(await avatarOf(await upload(PLAIN.png, 'image/png')), PLAIN.png);
    t.strictSame(await avatarOf(await upload(BROKEN, 'image/jpeg')), BROKEN, 'one that cannot be read');
  },
);

async function avatarOf(avatar_s3_key: string): Promise<Buffer> {
  const { body } = await call<Me>('PATCH', '/v1/me', { token: ada.access_token, body: { avatar_s3_key } });
  return Buffer.from(await (await fetch(body.actor.avatar_url!)).arrayBuffer());
}

async function upload(bytes: Buffer, content_type: string, options: CallOptions = {}): Promise<string> {
  const body = { filename: 'picture', content_type, size_bytes: bytes.length };
  const ticket = await call<UploadUrl>('POST', '/v1/messaging/attachments/upload-url', { body, ...options });
  const { url, method, headers, s3_key } = ticket.body;
  const put = await fetch(url, { method, headers, body: new Uint8Array(bytes) });
  if (put.status !== 204) throw new Error(`the upload answered ${put.status}`);
  return s3_key;
}

/** Sends an upload, perhaps several times in one message. */
async function sent(s3_key: string, fields: object = {}, count = 1): Promise<ChatMessage> {
  const attachments = Array.from({ length: count }, () => ({ kind: 'image', s3_key, ...fields }));
  const { status, text, body } = await call<ChatMessage>(
    'POST',
    `${MESSAGES}/${group}/messages?include[]=attachments`,
    { body: { client_message_id: randomUUID(), attachments } },
  );
  if (status !== 201) throw new Error(text);
  return body;
}

async function download({ url }: Attachment): Promise<Buffer> {
  return Buffer.from(await (await fetch(url!)).arrayBuffer());
}
