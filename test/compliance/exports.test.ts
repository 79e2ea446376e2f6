/**
 * Exports of conversations and persons over HTTP, their files, and the command that checks them
 * (docs/contract.md#exports).
 */

import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { given } from '@parley/archives/test/archives.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { Export } from '@parley/protocol/resources/export.ts';
import t from 'tap';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { purgeUploads } from '../../src/core/attachments/uploads.ts';
import { ArchiveWriter } from '../../src/features/compliance/exports/archive.ts';
import { tidyJobs } from '../../src/features/compliance/jobs/job-store.ts';
import { createLog } from '../../src/platform/log.ts';
import { Cases } from '../messages/cases.ts';
import { freshDirectory } from '../start/parley.ts';
import { type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { ask, downloaded, ended, exported, lines, sha256 } from './export-fixture.ts';

const dataDir = freshDirectory(t);
const PARLEY_AUDIT_KEY = Buffer.alloc(32, 1).toString('base64');
const app = await startTestApp(t, { PARLEY_AUDIT_KEY });
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);
const asAda = { token: ada.access_token };

t.test('a conversation: everything of it, under a hold too, signed', async (t) => {
  const { id, customerToken } = await cases.open({ type: 'user', actorId: vera.id, role: 'viewer' });
  await cases.set(id, { legal_hold: 'held' });
  const first = await cases.sent(id, { body: 'first' });
  await app.call('PATCH', `/v1/messaging/messages/${first.id}`, {
    token: grace.access_token,
    body: { body: 'second' },
  });
  await app.call('PUT', `/v1/messaging/messages/${first.id}/reactions/${encodeURIComponent('🎉')}`, {
    ...asAda,
    headers: { 'Service-Version': '1.2.harbor' },
  });
  const s3_key = await cases.upload('list.txt');
  const withFile = await cases.sent(id, { body: 'see', attachments: [{ kind: 'file', s3_key }] });
  await cases.sent(id, { body: 'Where?' }, { token: customerToken });
  const draft = await cases.draft(id, { body: 'a draft' });
  await app.call(
    'DELETE',
    `/v1/messaging/conversations/${id}/participants/${await participantOf(id, vera.id)}`,
    asAda,
  );

  const path = `/v1/messaging/conversations/${id}/exports`;
  const asked = await ask<Export>(app, 'POST', path);
  t.equal(asked.status, 201);
  const { id: exportId, created_at } = asked.body;
  t.strictSame(asked.body, {
    id: exportId,
    object: 'export',
    subject_type: 'conversation',
    subject_id: id,
    status: 'queued',
    progress: { done: 0, total: 0 },
    size_bytes: null,
    url: null,
    error: null,
    requested_by: asked.body.requested_by,
    created_at,
    completed_at: null,
    expires_at: null,
  });
  const shown = await ended(app, exportId);
  t.match(shown, { status: 'complete', error: null, completed_at: String });
  t.equal(shown.progress.done, shown.progress.total);
  const lifeMs = Date.parse(shown.expires_at!) - Date.parse(shown.completed_at!);
  t.equal(Math.round(lifeMs / 86_400_000), 7);

  const { path: file, files } = await downloaded(shown, dataDir);
  const messages = lines<{ id: string; revisions: object[]; attachments: object[] }>(files, 'messages.jsonl');
  t.match(
    messages.find(({ id }) => id === first.id),
    {
      body: 'second',
      author: { id: grace.id },
      revisions: [{ revision: 1, body: 'first' }],
      reactions: [{ emoji: '🎉', actor_id: ada.id, created_at: String }],
    },
  );
  t.match(
    messages.find(({ id }) => id === withFile.id),
    { attachments: [{ filename: 'list.txt', url: `files/${s3_key}` }], client_message_id: String },
  );
  t.match(
    messages.at(-1),
    { id: draft.id, status: 'draft', sequence: null },
    'what is outside the timeline follows it',
  );
  t.match(
    lines(files, 'participants.jsonl').find(({ actor }) => (actor as { id: string }).id === vera.id),
    { membership: 'removed', role: 'viewer' },
  );
  const actions = lines<{ action: string }>(files, 'audit_events.jsonl').map(({ action }) => action);
  t.ok(actions.includes('message.edited') && actions.includes('participant.removed'));
  t.ok(actions.includes('export.requested'), 'the export itself is audited');
  t.match(JSON.parse(files.get('conversation.json')!), { id, title: 'Pier', legal_hold: 'held' });
  t.equal(files.get(`files/${s3_key}`), 'hi');
  t.strictSame(lines(files, 'files.jsonl'), [
    { key: s3_key, path: `files/${s3_key}`, bytes: 2, sha256: sha256('hi') },
  ]);
  const manifest = JSON.parse(files.get('manifest.json')!);
  t.match(manifest, {
    object: 'export_manifest',
    export_id: exportId,
    subject: { type: 'conversation', id },
    snapshot: { consistent: true, legal_hold: 'held' },
    counts: { messages: messages.length, revisions: 1, files: 1, missing_files: 0, participants: 4 },
  });
  const sequences = messages.map((message) => (message as { sequence?: number | null }).sequence ?? 0);
  t.equal(manifest.snapshot.through_sequence, Math.max(...sequences));
  for (const { path, sha256: hash } of manifest.files) t.equal(sha256(files.get(path)!), hash, path);

  await t.test('an import reads it', async (t) => {
    const all = await given('parley', file, { scratch: dataDir });
    t.match(all.conversations.get(id), { title: 'Pier', audience: 'customer' });
    const read = all.messages.find((it) => it.client_message_id === `parley:${withFile.id}`);
    t.match(read, {
      body: 'see',
      files: [{ name: 'list.txt', size: 2, source: { entry: `files/${s3_key}` } }],
    });
    t.match(
      all.messages.find((it) => it.client_message_id === `parley:${first.id}`),
      { body: 'second', author: grace.id, edited_at: String, reactions: [{ emoji: '🎉', person: ada.id }] },
    );
    t.match(
      all.messages.find(({ body }) => body === 'Where?'),
      { audience: 'customer' },
    );
    t.strictSame(
      all.skipped.map(({ of, reason }) => `${of} ${reason}`),
      ['messages not_sent'],
    );
  });

  await t.test('the command finds what was changed', async (t) => {
    t.match(await verify(file), { valid: true, export_id: exportId, counts: manifest.counts });
    const { key_id, public_key } = manifest;
    t.match(await verify(file, '--key', public_key), { valid: true, key_id });
    await t.rejects(verify(file, '--key', Buffer.alloc(32, 7).toString('base64')), /is not trusted here/);
    const bytes = readFileSync(file);
    // Behind the name, which is random and may contain the text too.
    const entry = `files/${s3_key}`;
    const at = bytes.indexOf('hi', bytes.indexOf(entry) + entry.length);
    bytes.write('ho', at);
    const changed = join(dataDir, 'changed.zip');
    writeFileSync(changed, bytes);
    await t.rejects(verify(changed), new RegExp(`${entry} is not what was exported`));
    for (const [name, change, message] of [
      [
        'a text',
        (path: string, text: string) => (path === 'messages.jsonl' ? text.replace('second', 'third') : text),
        /messages.jsonl is not/,
      ],
      [
        'a count',
        (path: string, text: string) =>
          path === 'manifest.json' ? text.replace('"revisions": 1', '"revisions": 0') : text,
        /was changed after it was signed/,
      ],
      [
        'a file less',
        (path: string, text: string) => (path === 'participants.jsonl' ? undefined : text),
        /participants.jsonl is listed and not/,
      ],
    ] as const) {
      await t.rejects(verify(await rewritten(files, change)), message, name);
    }
    const added = await rewritten(new Map([...files, ['more.jsonl', '{}\n']]), (_, text) => text);
    await t.rejects(verify(added), /more.jsonl is in the archive and not listed/);
  });

  await t.test('it expires, and its file goes with the next round', async (t) => {
    const url = shown.url!;
    await database.kysely
      .updateTable('compliance_jobs')
      .set({ expires_at: created_at })
      .where('id', '=', exportId)
      .execute();
    await tidyJobs(database);
    t.match(await ask<Export>(app, 'GET', `/v1/exports/${exportId}`), {
      body: { status: 'expired', url: null },
    });
    t.equal((await fetch(url)).status, 410, 'the link ends at once');
    await database.query({
      name: 'test-own-files-long-ago',
      text: "UPDATE uploads SET withdrawn_at = withdrawn_at - interval '1 hour' WHERE content_type = 'application/zip'",
    });
    const removed: string[] = [];
    const store = {
      tidy: async () => {},
      remove: async (keys: readonly string[]) => void removed.push(...keys),
    };
    await purgeUploads(database, store as unknown as Parameters<typeof purgeUploads>[1]);
    t.equal(removed.length, 1);
  });
});

t.test('an export of a person has the content of a user or a customer', async (t) => {
  const { id, customerId, customerToken } = await cases.open();
  const sent = await cases.sent(id, { body: 'I wrote this' });
  await cases.sent(id, { body: 'not mine' }, asAda);
  const question = await cases.sent(id, { body: 'a question' }, { token: customerToken });
  const mine = await cases.draft(id, { body: 'my draft' });
  await until(async () => (await notificationsOf(grace.id)) > 0, { what: 'a notification' });

  await database.kysely
    .insertInto('push_subscriptions')
    .values({
      id: 'psh_1',
      account_id: demo.account_id,
      actor_id: grace.id,
      key_id: '',
      p256dh: 'secret',
      auth: 'secret',
      endpoint: 'https://push.example.com/1',
      origin: 'https://push.example.com',
    })
    .execute();

  await database.kysely
    .insertInto('blocks')
    .values(
      [grace.id, ada.id].map((blocker_id) => ({
        id: `blk_${blocker_id}`,
        account_id: demo.account_id,
        actor_id: vera.id,
        blocker_id,
        created_by: blocker_id,
      })),
    )
    .execute();

  const events = [grace.id, ada.id].map((created_by) => ({
    id: newId('event'),
    account_id: demo.account_id,
    type: 'order.created',
    data: '{"a":1}',
    created_by,
  }));
  await database.kysely.insertInto('platform_events').values(events).execute();
  const image = await cases.upload('me.png');
  await database.kysely
    .insertInto('avatars')
    .values({
      id: newId('avatar'),
      account_id: demo.account_id,
      actor_id: grace.id,
      s3_key: image,
      content_type: 'image/png',
    })
    .execute();
  const shown = await exported(app, `/v1/users/${grace.id}/exports`);
  const { files, path } = await downloaded(shown, dataDir);
  const [browser] = lines(files, 'push_subscriptions.jsonl');
  t.match(browser, { id: 'psh_1', endpoint: 'https://push.example.com/1' });
  t.match(lines(files, 'blocks.jsonl'), [{ actor_id: vera.id, blocker_id: grace.id }]);
  t.equal(lines(files, 'blocks.jsonl').length, 1, 'its own alone');
  t.notOk('p256dh' in browser! || 'auth' in browser!, 'without keys');
  const profile = JSON.parse(files.get('profile.json')!);
  t.match(profile, { id: grace.id, name: 'Grace Hopper', email: grace.email, avatar_url: `files/${image}` });
  t.ok(files.has(`files/${image}`), 'with its image');
  const messages = lines<{ id: string; body: string; author_id: string }>(files, 'messages.jsonl');
  t.ok(messages.every(({ author_id }) => author_id === grace.id));
  for (const wanted of [sent.id, mine.id]) t.ok(messages.some(({ id }) => id === wanted));
  t.ok(lines(files, 'memberships.jsonl').some(({ conversation_id }) => conversation_id === id));
  t.equal(lines(files, 'notifications.jsonl').length, await notificationsOf(grace.id));
  t.match(lines(files, 'events.jsonl'), [{ id: events[0]!.id, object: 'event', data: { a: 1 } }]);
  t.match(JSON.parse(files.get('notification_settings.json')!), { object: 'notification_settings' });
  t.match(await verify(path), {
    subject: { type: 'user', id: grace.id },
    snapshot: { through_sequence: null },
  });

  const ofCustomer = await downloaded(await exported(app, `/v1/users/${customerId}/exports`), dataDir);
  t.match(JSON.parse(ofCustomer.files.get('profile.json')!), { id: customerId, customer: true, email: null });
  t.strictSame(
    lines(ofCustomer.files, 'messages.jsonl').map(({ id }) => id),
    [question.id],
  );
  const audited = await ask<{ data: { action: string; details: { subject_id: string } }[] }>(
    app,
    'GET',
    '/v1/account/audit?action=export.completed&limit=1',
  );
  t.match(audited.body.data[0], { conversation_id: null, details: { subject_id: customerId } });
});

t.test('the export of a node that was killed starts over, and has one result', async (t) => {
  const { id } = await cases.open();
  await cases.sent(id, { body: 'still here' });
  const exportId = newId('export');
  await database.kysely
    .insertInto('compliance_jobs')
    .values({
      id: exportId,
      account_id: demo.account_id,
      kind: 'conversation_export',
      subject_id: id,
      requested_by: ada.id,
      status: 'running',
      attempts: 1,
      fence: 1,
      lease_until: new Date(Date.now() - 60_000).toISOString(),
    })
    .execute();
  const { files } = await downloaded(await ended(app, exportId), dataDir);
  t.equal(lines(files, 'messages.jsonl').length, 1);
});

t.test('an export ends with what it contains, and that of a held conversation stays', async (t) => {
  const { id } = await cases.open();
  const sent = await cases.sent(id, { body: 'to be deleted' });
  const ofConversation = await exported(app, `/v1/messaging/conversations/${id}/exports`);
  const ofMember = await exported(app, `/v1/users/${vera.id}/exports`);
  const ofAuthor = await exported(app, `/v1/users/${grace.id}/exports`);
  await app.call('DELETE', `/v1/messaging/messages/${sent.id}`, { token: grace.access_token });
  const statusOf = async ({ id }: Export) => (await ask<Export>(app, 'GET', `/v1/exports/${id}`)).body.status;
  for (const gone of [ofConversation, ofAuthor]) {
    await until(async () => (await statusOf(gone)) === 'expired', { what: 'the end of the export' });
    t.equal((await fetch(gone.url!)).status, 410);
  }
  t.equal(await statusOf(ofMember), 'complete', 'of another person');
  await app.call('DELETE', `/v1/messaging/conversations/${id}`, {
    ...asAda,
    headers: { 'Service-Version': '1.2.harbor' },
  });
  const path = `/v1/messaging/conversations/${id}/exports`;
  t.equal(refusalOf(await ask<Refusal>(app, 'POST', path)), '410 resource_gone id');
  await ask(app, 'POST', `/v1/messaging/conversations/${id}/actions/set-legal-hold`, {
    body: { legal_hold: 'held' },
  });
  t.equal((await exported(app, path)).status, 'complete', 'what is held can be exported');
});

t.test('a job that fails again and again ends as failed, without a file', async (t) => {
  const exportId = newId('export');
  await database.kysely
    .insertInto('compliance_jobs')
    .values({
      id: exportId,
      account_id: demo.account_id,
      kind: 'conversation_export',
      subject_id: newId('conversation'),
      requested_by: ada.id,
      attempts: 4,
    })
    .execute();
  t.match(await ended(app, exportId), {
    status: 'failed',
    error: 'internal_error',
    url: null,
    size_bytes: null,
  });
});

t.test('a refused export states its reason', async (t) => {
  const conversation = demo.conversations.group;
  const places = [
    `/v1/messaging/conversations/${conversation}/exports`,
    `/v1/users/${grace.id}/exports`,
  ] as const;
  for (const path of places) {
    t.equal(
      refusalOf(await ask<Refusal>(app, 'POST', path, { token: grace.access_token })),
      FORBIDDEN,
      'a member',
    );
    t.equal(
      refusalOf(await ask<Refusal>(app, 'POST', path, { body: { format: 'zip' } })),
      '422 validation_failed format',
    );
  }
  const agent = `/v1/users/${demo.agent.actor_id}/exports`;
  t.equal(
    refusalOf(await ask<Refusal>(app, 'POST', agent)),
    '404 resource_not_found id',
    'an agent is no person',
  );
  const missing = `/v1/messaging/conversations/${newId('conversation')}/exports`;
  t.equal(refusalOf(await ask<Refusal>(app, 'POST', missing)), '404 resource_not_found id');
  t.equal(
    refusalOf(await ask<Refusal>(app, 'GET', `/v1/exports/${newId('export')}`)),
    '404 resource_not_found id',
  );

  const headers = { 'Idempotency-Key': randomUUID() };
  const [one, again] = [
    await ask<Export>(app, 'POST', places[1], { headers }),
    await ask<Export>(app, 'POST', places[1], { headers }),
  ];
  t.equal(again.text, one.text);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  const theirs = await ask<Refusal>(app, 'GET', `/v1/exports/${one.body.id}`, {
    token: demo.other_account.api_key,
    headers: { 'Service-Account': demo.other_account.account_id },
  });
  t.equal(refusalOf(theirs), '404 resource_not_found id', "another account's");
  await ended(app, one.body.id);

  await database.kysely
    .insertInto('compliance_jobs')
    .values(
      Array.from({ length: 10 }, () => ({
        id: newId('export'),
        account_id: demo.account_id,
        kind: 'user_export' as const,
        subject_id: ada.id,
        requested_by: ada.id,
        lease_until: new Date(Date.now() + 3_600_000).toISOString(),
      })),
    )
    .execute();
  const full = await ask<Refusal>(app, 'POST', places[0]);
  t.equal(refusalOf(full), '403 limit_exceeded null');
  t.match(full.body.error.quota, { limit: 10, used: 10, reset_at: null });
});

const FORBIDDEN = '403 insufficient_permissions null';

function verify(file: string, ...options: string[]): Promise<object | undefined> {
  const config = readConfig({ PARLEY_AUDIT_KEY, DATABASE_URL: 'postgres://127.0.0.1:1/none' });
  return runAdmin(['export', 'verify', '--file', file, ...options], config, createLog('silent'));
}

let rewrites = 0;

/** Writes the archive again with changed texts; undefined leaves a file out. */
async function rewritten(
  files: ReadonlyMap<string, string>,
  change: (path: string, text: string) => string | undefined,
): Promise<string> {
  const archive = new ArchiveWriter();
  const pieces: Buffer[] = [];
  const reading = (async () => {
    for await (const piece of archive.bytes) pieces.push(piece);
  })();
  for (const [path, text] of files) {
    const changed = change(path, text);
    if (changed === undefined) continue;
    await archive.add(path, bytesOf(changed), { compress: true });
  }
  archive.end();
  await reading;
  rewrites += 1;
  const file = join(dataDir, `rewritten-${rewrites}.zip`);
  writeFileSync(file, Buffer.concat(pieces));
  return file;
}

async function* bytesOf(text: string): AsyncIterable<Buffer> {
  yield Buffer.from(text);
}

async function participantOf(conversationId: string, actorId: string): Promise<string> {
  const { id } = await database.kysely
    .selectFrom('participants')
    .select('id')
    .where('conversation_id', '=', conversationId)
    .where('actor_id', '=', actorId)
    .executeTakeFirstOrThrow();
  return id;
}

async function notificationsOf(recipientId: string): Promise<number> {
  const { count } = await database.kysely
    .selectFrom('notifications')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('recipient_id', '=', recipientId)
    .executeTakeFirstOrThrow();
  return Number(count);
}
