/** Keys of operators: accounts from the first key to the removal, and what such a key cannot do. */

import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { Installation } from '@parley/protocol/resources/installation.ts';
import type {
  InstallationAccount,
  NewInstallationAccount,
} from '@parley/protocol/resources/installation-account.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { newApiKey, OPERATOR_KEY_PREFIX } from '../../src/api/access/api-keys.ts';
import { runAdmin } from '../../src/app/admin/run.ts';
import { readConfig } from '../../src/app/config.ts';
import { writeMove } from '../../src/core/accounts/account/moves.ts';
import { createLog } from '../../src/platform/log.ts';
import { type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const ACCOUNTS = '/v1/installation/accounts';
const config = readConfig({ DATABASE_URL: app.databaseUrl });
const log = createLog('silent');

const made = await admin('operator', 'key', 'create', '--name', 'Billing');
const key = String(made.key);

t.test('commands make, list and revoke keys, whose secrets are shown once', async (t) => {
  t.match(made, { object: 'operator_key', id: /^opk_/, name: 'Billing', expires_at: null, revoked_at: null });
  t.match(key, /^parleyop_\w{38}$/);
  t.notOk('hash' in made);
  const listed = await admin('operator', 'key', 'list');
  t.match(listed, {
    data: [{ object: 'operator_key', id: made.id, redacted: `parleyop_…${key.slice(-4)}` }],
  });
  t.notMatch(JSON.stringify(listed), key);
  const rows = await database.kysely.selectFrom('operator_keys').selectAll().execute();
  t.notMatch(JSON.stringify(rows), key, 'Postgres has a hash');

  const other = await admin('operator', 'key', 'create', '--name', 'Old');
  const token = String(other.key);
  t.equal((await call('GET', ACCOUNTS, { token })).status, 200);
  const revoked = await admin('operator', 'key', 'revoke', String(other.id));
  t.equal(refusalOf(await call('GET', ACCOUNTS, { token })), '401 api_key_revoked null', 'at once');
  t.strictSame(await admin('operator', 'key', 'revoke', '--id', String(other.id)), revoked, 'again');
  await t.rejects(admin('operator', 'key', 'revoke', 'opk_x'), /no key opk_x/);

  const brief = await admin(
    'operator',
    'key',
    'create',
    '--name',
    'Brief',
    '--expires',
    '2099-01-01T00:00:00Z',
  );
  const expired = { expires_at: '2020-01-01T00:00:00Z' };
  await database.kysely
    .updateTable('operator_keys')
    .set(expired)
    .where('id', '=', String(brief.id))
    .execute();
  t.equal(refusalOf(await call('GET', ACCOUNTS, { token: String(brief.key) })), '401 api_key_expired null');
});

t.test('a key that is wrong is refused as a key, and an API key is no such key', async (t) => {
  const unknown = newApiKey(OPERATOR_KEY_PREFIX).key;
  for (const token of [unknown, `${key}x`, key.slice(0, -1), OPERATOR_KEY_PREFIX]) {
    t.equal(refusalOf(await call('GET', ACCOUNTS, { token })), '401 invalid_credentials null', token);
    t.equal(refusalOf(await call('GET', '/v1/installation', { token })), '401 invalid_credentials null');
  }
  const ofAccount = await call('GET', ACCOUNTS, { token: demo.api_key });
  t.equal(refusalOf(ofAccount), '404 resource_not_found null');
});

t.test('elsewhere the key is no credential, whatever account is named', async (t) => {
  const paths = ['/v1/me', '/v1/account', '/v1/messaging/conversations', '/v1/users', '/v1/account/audit'];
  for (const path of paths) {
    const answer = await call('GET', path, { headers: { 'Service-Account': demo.account_id } });
    t.equal(refusalOf(answer), '401 invalid_credentials null', path);
    t.match(answer.text, 'below /v1/installation');
  }
  const headers = { 'Service-Account': demo.account_id };
  const { ada } = demo.users;
  for (const [path, body] of [
    ['/v1/auth/tokens', { user_id: ada.id }],
    ['/v1/realtime/tickets', {}],
    ['/v1/api-keys', { name: 'A', role_id: 'rol_x' }],
    ['/v1/identity-providers', {}],
  ] as const) {
    t.equal(refusalOf(await call('POST', path, { body, headers })), '401 invalid_credentials null', path);
  }
});

t.test('an account from its first key to its removal', async (t) => {
  const body = { name: 'Acme', plan: 'pro' };
  const headers = { 'Idempotency-Key': 'customer-1' };
  const created = await call<NewInstallationAccount>('POST', ACCOUNTS, { body, headers });
  t.equal(created.status, 201, created.text);
  const { api_key: apiKey, ...account } = created.body;
  t.match(account, {
    object: 'installation_account',
    name: 'Acme',
    plan: 'pro',
    subscription: 'active',
    active_users: 0,
    active_keys: 1,
    deleted_at: null,
  });
  t.match(apiKey, { object: 'api_key', name: 'First key', status: 'active', key: /^parley_\w{38}$/ });

  const again = await call<NewInstallationAccount>('POST', ACCOUNTS, { body, headers });
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  t.strictSame(again.body, created.body, 'a repetition has the same account and the same secret');
  const other = await call('POST', ACCOUNTS, { body: { name: 'Else' }, headers });
  t.equal(refusalOf(other), '422 validation_failed Idempotency-Key');

  const path = `${ACCOUNTS}/${account.id}`;
  t.strictSame((await call('GET', path)).body, account);
  const found = await call<List<InstallationAccount>>('GET', `${ACCOUNTS}?q=acm&limit=1`);
  t.strictSame(found.body.data, [account]);
  const all = await call<List<InstallationAccount>>('GET', ACCOUNTS);
  t.ok(all.body.data.some(({ id }) => id === demo.account_id));
  t.strictSame(
    all.body.data.map(({ created_at: at }) => at),
    all.body.data
      .map(({ created_at: at }) => at)
      .toSorted()
      .reverse(),
    'newest first',
  );

  const own = { token: apiKey.key, headers: { 'Service-Account': account.id } };
  const roles = await call<List<{ id: string; name: string }>>('GET', '/v1/roles', own);
  const member = roles.body.data.find(({ name }) => name === 'member')!;
  const provider = await call<{ id: string }>('POST', '/v1/identity-providers', {
    ...own,
    body: {
      name: 'Acme',
      issuer: 'https://login.acme.example',
      audience: 'parley',
      secret: 's'.repeat(32),
      provision: 'first_use',
      role_id: member.id,
    },
  });
  t.equal(provider.status, 201, provider.text);
  const providers = await call<List<{ id: string }>>('GET', `${path}/identity-providers`);
  t.strictSame(providers.body.data, [provider.body]);
  t.notMatch(providers.text, 's'.repeat(32));

  const renamed = await call<InstallationAccount>('PATCH', path, { body: { name: 'Acme Inc' } });
  t.match(renamed.body, { name: 'Acme Inc', plan: 'pro', subscription: 'active' });
  t.strictSame((await call('PATCH', path, { body: { name: 'Acme Inc' } })).body, renamed.body, 'no change');
  t.match((await call('PATCH', path, { body: { subscription: 'inactive' } })).body, {
    subscription: 'inactive',
  });
  await until(async () => (await call('GET', '/v1/me', own)).status === 402, { what: 'it is suspended' });
  t.equal((await call('PATCH', path, { body: { subscription: 'active', plan: 'free' } })).status, 200);
  await until(async () => (await call('GET', '/v1/me', own)).status === 200, { what: 'it is in use again' });

  const audit = await call<List<AuditEvent>>('GET', '/v1/account/audit', own);
  const byKey = { operator_key_id: made.id };
  t.match(
    audit.body.data.filter(({ action }) => action.startsWith('account.')),
    [
      { action: 'account.updated', actor: null, details: { ...byKey, fields: ['plan', 'subscription'] } },
      { action: 'account.updated', details: { ...byKey, fields: ['subscription'] } },
      { action: 'account.updated', details: { ...byKey, fields: ['name'] } },
      { action: 'account.created', actor: null, details: { ...byKey, plan: 'pro' } },
    ],
  );
  t.notMatch(audit.text, 'Acme Inc', 'the audit has no names');

  const deleted = await call<InstallationAccount>('DELETE', path);
  t.match(deleted.body, { id: account.id, subscription: 'inactive', deleted_at: /^20/ });
  t.strictSame((await call<InstallationAccount>('DELETE', path)).body, deleted.body, 'again');
  t.equal(refusalOf(await call('PATCH', path, { body: { plan: 'pro' } })), '410 resource_gone null');
  await until(async () => (await call('GET', '/v1/me', own)).status === 401, { what: 'its key has ended' });
});

t.test('commands leave the same audit, without a key', async (t) => {
  const { id, api_key: apiKey } = await newAccount();
  await admin('account', 'set', '--id', id, '--name', 'Other', '--plan', 'pro');
  t.match((await call('GET', `${ACCOUNTS}/${id}`)).body, { name: 'Other', plan: 'pro' });
  const own = { token: apiKey.key, headers: { 'Service-Account': id } };
  const { body } = await call<List<AuditEvent>>('GET', '/v1/account/audit?action=account.updated', own);
  t.strictSame(
    body.data.map(({ details }) => details),
    [{ fields: ['name', 'plan'], plan: 'pro', subscription: 'active' }],
  );
  await admin('account', 'delete', '--id', id, '--confirm', id);
  t.match((await call('GET', `${ACCOUNTS}/${id}`)).body, { deleted_at: /^20/ });
});

t.test('unknown accounts, accounts with a legal hold, and accounts elsewhere', async (t) => {
  for (const [method, path, body] of [
    ['GET', '/acc_x', undefined],
    ['PATCH', '/acc_x', { name: 'A' }],
    ['DELETE', '/acc_x', undefined],
    ['GET', '/acc_x/identity-providers', undefined],
  ] as const) {
    t.equal(
      refusalOf(await call(method, ACCOUNTS + path, { body })),
      '404 resource_not_found id',
      method + path,
    );
  }

  const { id, api_key: apiKey } = await newAccount();
  const own = { token: apiKey.key, headers: { 'Service-Account': id } };
  const group = { type: 'group', title: 'A', participants: [] };
  const conversation = await call<{ id: string }>('POST', '/v1/messaging/conversations', {
    ...own,
    body: group,
  });
  const hold = `/v1/messaging/conversations/${conversation.body.id}/actions/set-legal-hold`;
  const held = await call('POST', hold, { ...own, body: { legal_hold: 'held' } });
  t.equal(held.status, 200, held.text);
  const kept = await call('DELETE', `${ACCOUNTS}/${id}`);
  t.equal(refusalOf(kept), '409 resource_conflict null');
  t.match(kept.text, conversation.body.id);
  t.match((await call('GET', `${ACCOUNTS}/${id}`)).body, { deleted_at: null }, 'nothing was begun');

  const move = (state: 'closing' | 'left') =>
    database.transaction((tx) =>
      writeMove(tx, { account_id: id, state, cell: 'https://b.chat.example', number: 1 }),
    );
  await move('closing');
  const patch = () => call('PATCH', `${ACCOUNTS}/${id}`, { body: { plan: 'pro' } });
  t.equal(refusalOf(await patch()), '503 service_unavailable null', 'while it moves');
  t.equal((await call('GET', `${ACCOUNTS}/${id}`)).status, 200);
  await move('left');
  t.equal(refusalOf(await patch()), '421 account_in_other_cell null');
  t.match((await call('GET', `${ACCOUNTS}/${id}`)).text, 'https://b.chat.example');
  const listed = await call<List<InstallationAccount>>('GET', `${ACCOUNTS}?limit=100`);
  t.notOk(listed.body.data.some((account) => account.id === id));
});

t.test('the key sees the nodes of the installation, and needs its version alone', async (t) => {
  const { status, body } = await call<Installation>('GET', '/v1/installation');
  t.equal(status, 200);
  t.match(body.nodes, [{ state: 'up' }]);
  const without = await call('GET', ACCOUNTS, { headers: { 'Service-Version': undefined } });
  t.equal(refusalOf(without), '400 api_version_required Service-Version');
  const older = await call('GET', ACCOUNTS, { headers: { 'Service-Version': '1.3.harbor' } });
  t.equal(refusalOf(older), '400 api_version_too_old Service-Version');
  t.equal((await call('GET', ACCOUNTS, { headers: { 'Service-Account': 'acc_x' } })).status, 200);
  t.equal(refusalOf(await call('PUT', ACCOUNTS)), '405 method_not_allowed null');
});

async function newAccount(): Promise<NewInstallationAccount> {
  const { status, body, text } = await call<NewInstallationAccount>('POST', ACCOUNTS, {
    body: { name: 'New' },
  });
  if (status !== 201) throw new Error(text);
  return body;
}

/** Calls with the key of the operator, which names no account. */
function call<Body = Refusal>(method: string, path: string, { headers = {}, ...options }: CallOptions = {}) {
  const others = { 'Service-Account': undefined, 'Service-Version': NEWEST_VERSION, ...headers };
  return app.call<Body>(method, path, { token: key, ...options, headers: others });
}

async function admin(...args: string[]) {
  return { ...(await runAdmin(args, config, log)) } as Record<string, unknown>;
}
