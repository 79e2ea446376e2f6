/**
 * `admin account delete` (docs/operations.md#deleting-an-account), and how nodes treat such an
 * account.
 */

import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { FileStore } from '../../src/core/attachments/file-store.ts';
import { FileUrls } from '../../src/core/attachments/file-urls.ts';
import { UsageError } from '../../src/core/features/command.ts';
import { removeAccounts } from '../../src/features/compliance/account-removal.ts';
import { createLog } from '../../src/platform/log.ts';
import { Runs } from '../agents/runs.ts';
import { Client } from '../gateway/fixture.ts';
import { addBridgedCase, addInbox, addMail } from '../mail/fixture.ts';
import { Cases, user } from '../messages/cases.ts';
import { refusalOf, startTestApp } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { demo, database, databaseUrl: url, dataDir } = app;
const { account_id: id } = demo;
const { ada, vera } = demo.users;
const log = createLog('silent');
const cases = new Cases(app);
const runs = new Runs(app);
const urls = new FileUrls({ secret: 'secret', baseUrl: () => '' });
const directory = join(dataDir, 'uploads');
const store = new FileStore({ directory, urls });
const NEWEST = { 'Service-Version': '1.2.harbor' };
const admin = (...args: string[]) => runAdmin(args, readConfig({ DATABASE_URL: url }), log);

t.test('nothing is deleted while a conversation is held, or without the id once more', async (t) => {
  const held = await cases.conversation('internal');
  await cases.set(held, { legal_hold: 'held' });
  for (const confirm of [[], ['--confirm', id]]) {
    const refused = await admin('account', 'delete', '--id', id, ...confirm).catch((error: unknown) => error);
    t.match(String(refused), `The account ${id} has conversations under legal hold`);
    t.match(String(refused), held);
  }
  await cases.set(held, { legal_hold: 'released' });
  const shown = await admin('account', 'delete', '--id', id);
  t.match(shown, { object: 'account_deletion', account_id: id, deleted_at: null, active_users: 3 });
  const mistyped = await admin(
    'account',
    'delete',
    '--id',
    id,
    '--confirm',
    demo.other_account.account_id,
  ).catch((error: unknown) => error);
  t.ok(mistyped instanceof UsageError);
  const absent = await admin('account', 'delete', '--id', 'acc_x').catch((error: unknown) => error);
  t.match(absent, { condition: 'resource_not_found' });
  t.equal((await app.call('GET', '/v1/account')).status, 200, 'the account goes on');
});

t.test(
  'credentials and sockets end at once; then everything is removed, however often nodes die',
  async (t) => {
    await fill();
    const headers = { Authorization: `Bearer ${ada.access_token}`, 'Service-Account': id, ...NEWEST };
    const socket = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
    t.teardown(() => socket.close());
    await socket.frame('ready');
    t.ok(readdirSync(directory).length > 0);

    const deleted = await admin('account', 'delete', '--id', id, '--confirm', id);
    t.match(deleted, { account_id: id, deleted_at: /^\d{4}-/ });
    const refused = '401 invalid_credentials null';
    await until(async () => refusalOf(await app.call('GET', '/v1/account')) === refused, { what: 'no key' });
    t.equal(refusalOf(await app.call('GET', '/v1/account', { token: ada.access_token })), refused);
    t.match(await socket.closes(), { code: 4202, reason: 'credentials_revoked' });
    const again = await admin('account', 'delete', '--id', id, '--confirm', id);
    const { deleted_at } = deleted as { deleted_at: string };
    t.match(again, { deleted_at }, 'twice is once');

    const options = { database, store, log };
    await removeAccounts(options, signalAfter(Number.POSITIVE_INFINITY));
    t.ok(
      (await storedText(database, id)).length > 10,
      'nothing goes while a node may have a right in memory',
    );
    await database.kysely
      .updateTable('accounts')
      .set({ deleted_at: new Date(Date.now() - 60_000).toISOString() })
      .where('id', '=', id)
      .execute();
    // Each round ends a little later: as if the node had been killed there.
    for (let checks = 1; checks < 40; checks += 3) await removeAccounts(options, signalAfter(checks));
    await Promise.all([1, 2].map(() => removeAccounts(options, signalAfter(Number.POSITIVE_INFINITY))));
    t.equal((await storedText(database, 'sturgeon')).length, 0, 'every text is gone');
    t.ok(
      (await storedText(database, id)).includes('public.accounts.id'),
      'files may be referred to for a minute',
    );

    await database.kysely
      .updateTable('uploads')
      .set({ withdrawn_at: new Date(Date.now() - 120_000).toISOString() })
      .where('account_id', '=', id)
      .execute();
    let left: string[] = [];
    await until(
      async () => {
        await removeAccounts(options, signalAfter(Number.POSITIVE_INFINITY));
        left = await storedText(database, id);
        // The demo account is remembered, so that a start does not make it again.
        return left.join() === 'public.settings.value';
      },
      {
        get what() {
          return `nothing to name the account: ${left}`;
        },
      },
    );
    t.strictSame(filesIn(directory), []);
    const { account_id, api_key } = demo.other_account;
    const other = await app.call('GET', '/v1/account', {
      token: api_key,
      headers: { 'Service-Account': account_id },
    });
    t.equal(other.status, 200, 'another account stays');
  },
);

/** A public key, from RFC 8291. */
const EXAMPLE_POINT =
  'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4';

/** Something in every table that an account fills. */
async function fill(): Promise<void> {
  const { id: caseId } = await cases.open(user(vera.id));
  const sent = await cases.sent(
    caseId,
    { body: 'sturgeon', attachments: [{ kind: 'file', s3_key: await cases.upload('sturgeon.txt') }] },
    { headers: { 'Idempotency-Key': randomUUID() } },
  );
  await cases.upload('never attached sturgeon.txt');
  await database.kysely
    .insertInto('avatars')
    .values({
      id: 'ava_1',
      account_id: id,
      actor_id: vera.id,
      s3_key: await cases.upload('sturgeon.png'),
      content_type: 'image/png',
    })
    .execute();
  await cases.draft(caseId, { body: 'sturgeon' });
  await cases.sent(caseId, {
    body: 'sturgeon',
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await cases.set(caseId, { legal_hold: 'held' });
  await app.call('PATCH', `/v1/messaging/messages/${sent.id}`, {
    token: demo.users.grace.access_token,
    body: { body: 'sturgeon 2' },
  });
  await cases.set(caseId, { legal_hold: 'released' });
  const { id: agentId } = await runs.agent();
  const [run] = await runs.waiting(agentId, [{}], { conversation_id: caseId, input: '{"q": "sturgeon"}' });
  await runs.waiting(agentId, [{}], { input: '{"q": "sturgeon"}' });
  await database.kysely
    .insertInto('artifacts')
    .values({
      id: `art_${run}`,
      account_id: id,
      run_id: run,
      s3_key: `artifact-${run}`,
      filename: 'sturgeon.md',
      content_type: 'text/markdown',
      size_bytes: 2,
    })
    .execute();
  await app.call('PUT', '/v1/messaging/notification-settings', {
    token: vera.access_token,
    headers: NEWEST,
    body: { digest_after_minutes: 5 },
  });
  const keys = { p256dh: EXAMPLE_POINT, auth: 'BTBZMqHH6r4Tts7J_aSIgg' };
  await app.call('POST', '/v1/messaging/push-subscriptions', {
    token: vera.access_token,
    headers: NEWEST,
    body: { endpoint: 'https://push.invalid/sturgeon', keys },
  });
  const digest = { actor_id: vera.id, id: 'dig_1', notification_ids: ['ntf_1'] };
  await database.kysely.insertInto('digests').values(digest).execute();
  const owner = { database, accountId: id, actorId: vera.id };
  const inbox = await addInbox(owner, { name: 'Fishmonger' });
  const bridged = await addBridgedCase(owner, inbox.id, { name: 'Fishmonger' });
  const mail = { inbox_id: inbox.id, conversation_id: bridged.id, body_text: 'sturgeon' };
  await addMail(owner, { ...mail, source_key: await cases.upload('sturgeon.eml') });
  await addMail(owner, { body_text: 'sturgeon', status: 'ignored' });
  const group = { name: 'Fishmonger', members: [vera.id] };
  await app.call('POST', '/v1/messaging/groups', { body: group });
  await app.call('POST', '/v1/events', { body: { type: 'order.created', data: {} }, headers: NEWEST });
  await app.call('POST', '/v1/tokens', { body: { user_id: vera.id } });
  await app.call('PUT', '/v1/messaging/notification-settings', {
    token: vera.access_token,
    headers: NEWEST,
    body: { categories: { 'sturgeon.caught': { push: false } } },
  });
  const deleted = await cases.conversation('internal');
  await cases.sent(deleted, { body: 'sturgeon' });
  await app.call<Conversation>('DELETE', `/v1/messaging/conversations/${deleted}`, { headers: NEWEST });
  await app.call('POST', `/v1/messaging/conversations/${caseId}/exports`, { headers: NEWEST });
  await until(async () => (await storedText(database, 'sturgeon')).includes('public.notifications.body'), {
    what: 'a notification',
  });
}

/** A signal that is aborted from the nth look at it on. */
function signalAfter(checks: number): AbortSignal {
  let looks = 0;
  const controller = new AbortController();
  return new Proxy(controller.signal, {
    get(target, name) {
      if (name !== 'aborted') return Reflect.get(target, name);
      looks += 1;
      return looks > checks;
    },
  });
}

function filesIn(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}
