/** Public registration over REST (docs/contract.md#registration). */

import { randomUUID } from 'node:crypto';
import type { Registration } from '@parley/protocol/resources/api-key.ts';
import { toolSlugOf } from '@parley/protocol/resources/available-tool.ts';
import type { Role } from '@parley/protocol/resources/role.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import t from 'tap';
import { readAccountAudit } from '../../src/core/audit/audit.ts';
import { register, requireRegistration } from '../../src/core/registration/register.ts';
import { accepted } from '../agents/bodies.ts';
import { type CallOptions, type Refusal, refusalOf, startTestApp, type TestApp } from '../support/app.ts';

const BODY = { account_name: 'Harbor Freight', name: 'Ada', email: 'Ada@Example.com' };
/** No credential and no account. */
const BARE = {
  'Service-Version': '1.2.harbor',
  Authorization: undefined,
  'Service-Account': undefined,
};

const ask = (app: TestApp, body: object = {}, { headers, ...options }: CallOptions = {}) =>
  app.call<Registration & Refusal>('POST', '/v1/registrations', {
    body: { ...BODY, ...body },
    headers: { ...BARE, ...headers },
    ...options,
  });

const app = await startTestApp(t, { PARLEY_REGISTRATION: 'open' });

t.test('a registration makes an account with an admin and a key', async (t) => {
  const made = accepted(await ask(app), 201);
  const { account, user, api_key } = made;
  t.match(made, {
    object: 'registration',
    account: { object: 'account', name: 'Harbor Freight', plan: 'free', subscription: 'active' },
    user: { object: 'user', name: 'Ada', email: 'ada@example.com', status: 'active', role: null },
    api_key: { object: 'api_key', status: 'active', key: /^parley_/, expires_at: null },
  });
  const as = { token: api_key.key, headers: { 'Service-Account': account.id } };
  const users = accepted(await app.call<{ data: User[] }>('GET', '/v1/users?include[]=role', as)).data;
  t.match(users, [{ id: user.id, role: { name: 'admin', type: 'admin' } }]);
  const roles = accepted(await app.call<{ data: Role[] }>('GET', '/v1/roles', as)).data;
  const named = ['admin', 'agent', 'member', 'sales_rep', 'scanner', 'viewer'];
  t.strictSame(roles.map(({ name }) => name).sort(), named);
  const page = { direction: 'next', after: null, fetch: 5, search: null } as const;
  const filters = { conversationId: undefined, actorIds: undefined, action: undefined };
  t.match(await readAccountAudit(app.database, account.id, filters, page), [
    {
      action: 'account.registered',
      actor: { id: user.id },
      details: { user_id: user.id, api_key_id: api_key.id },
    },
  ]);
  t.equal((await app.call('GET', '/v1/users', { ...as, headers: {} })).status, 404, 'nothing of others');
  const again = accepted(await ask(app), 201);
  t.not(again.account.id, account.id, 'names and addresses are unique within an account alone');
  const route = app.routes.find(({ name }) => name === 'register')!;
  t.equal(toolSlugOf(route), undefined, 'it is no tool');
});

t.test('a repetition makes no second account, and shows no secret', async (t) => {
  const count = async () => (await app.database.kysely.selectFrom('accounts').select('id').execute()).length;
  const headers = { 'Idempotency-Key': 'easy-to-guess' };
  const before = await count();
  const answers = await Promise.all([1, 2, 3].map(() => ask(app, {}, { headers })));
  const made = answers.filter(({ status }) => status === 201);
  t.equal(made.length, 1);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    t.match(refusalOf(answer), /^(410 resource_gone null|409 idempotency_in_progress Idempotency-Key)$/);
  }
  t.equal(refusalOf(await ask(app, {}, { headers })), '410 resource_gone null');
  t.equal(await count(), before + 1);
  const stored = await app.database.kysely
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('status', '=', 201)
    .execute();
  t.match(stored, [{ response: null, encrypted: false }]);
  t.equal((await ask(app, { name: 'Grace' }, { headers })).status, 201, 'another body is another request');
});

t.test('what a registration may say', async (t) => {
  const line = (text: string) => ({ account_name: text });
  for (const [what, body, refusal] of [
    ['no name of the account', { account_name: undefined }, '400 missing_field account_name'],
    ['no name', { name: null }, '400 missing_field name'],
    ['no address', { email: undefined }, '400 missing_field email'],
    ['a blank', line(' \u2003 '), '422 validation_failed account_name'],
    ['too long', line('x'.repeat(201)), '422 validation_failed account_name'],
    ['huge', line('x'.repeat(200_000)), '422 validation_failed account_name'],
    ['two lines', line('a\nb'), '422 validation_failed account_name'],
    ['a bell', line('a\u0007'), '422 validation_failed account_name'],
    ['an escape', { name: '\u001b[31mAda' }, '422 validation_failed name'],
    ['a C1 control', { name: 'a\u009bb' }, '422 validation_failed name'],
    ['a line separator', { name: 'a\u2028b' }, '422 validation_failed name'],
    ['U+0000', { name: 'a\0' }, '400 invalid_format name'],
    ['half a pair', { name: '\ud83d' }, '400 invalid_format name'],
    ['a number', { name: 1 }, '400 invalid_format name'],
    ['no address', { email: 'ada' }, '400 invalid_format email'],
    ['an address with a line', { email: 'ada@example.com\nbcc: x@example.com' }, '400 invalid_format email'],
    ['a long address', { email: `${'a'.repeat(250)}@example.com` }, '400 invalid_format email'],
    ['a plan', { plan: 'pro' }, '422 validation_failed plan'],
  ] as const) {
    t.equal(refusalOf(await ask(app, body)), refusal, what);
  }
  const large = JSON.stringify({ ...BODY, name: 'x'.repeat(300_000) });
  t.equal(refusalOf(await ask(app, {}, { body: undefined, rawBody: large })), '413 validation_failed null');
  const versions = await Promise.all(
    [undefined, '1.1.harbor'].map((version) => ask(app, {}, { headers: { 'Service-Version': version } })),
  );
  t.strictSame(versions.map(refusalOf), [
    '400 api_version_required Service-Version',
    '400 api_version_too_old Service-Version',
  ]);
  const { account } = accepted(
    await ask(app, line(' Größe 👋 '), { headers: { Authorization: 'Bearer nonsense' } }),
    201,
  );
  t.equal(account.name, 'Größe 👋', 'no credential is read');
});

t.test('no more accounts than the policy allows, and no more tries than an address has', async (t) => {
  const limited = await startTestApp(t, { PARLEY_REGISTRATION: '6', PARLEY_RATE_LIMIT: '600/60' });
  const { database } = limited;
  const count = async () => (await database.kysely.selectFrom('accounts').select('id').execute()).length;
  const before = await count();
  const room = 6 - before;
  t.ok(room > 1, 'the demo has fewer');
  // As on another node: only Postgres is between them.
  const elsewhere = () =>
    database
      .transaction((tx) => register(tx, 6, BODY))
      .then(
        () => 201,
        ({ status }) => status,
      );
  const over = () => ask(limited, {}, { headers: { 'Idempotency-Key': randomUUID() } });
  const statuses = await Promise.all([
    ...[1, 2, 3, 4, 5, 6].map(elsewhere),
    ...[1, 2, 3, 4, 5, 6].map(async () => (await over()).status),
  ]);
  t.equal(statuses.filter((status) => status === 201).length, room);
  t.equal(statuses.filter((status) => status === 403).length, 12 - room);
  t.equal(await count(), 6);
  t.equal(refusalOf(await over()), '403 registration_closed null');
  await database.kysely
    .updateTable('accounts')
    .set({ deleted_at: new Date().toISOString() })
    .where('name', '=', BODY.account_name)
    .execute();
  t.equal((await over()).status, 201, 'accounts that are being removed make room');
  t.throws(() => requireRegistration('closed'), { name: 'ApiError', condition: 'registration_closed' });

  for (let n = 0; n < 12; n++) t.not((await ask(limited, { name: null })).status, 429);
  const refused = await over();
  t.equal(refusalOf(refused), '429 rate_limit_exceeded null');
  t.equal(refused.headers.get('RateLimit-Limit'), '20');
  t.ok(Number(refused.headers.get('Retry-After')) > 3_000);
  t.equal((await limited.call('GET', '/v1/account')).status, 200, 'nothing else is limited by it');
});
