/** The account, its roles and its users (docs/contract.md#roles) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import { ADMIN_PERMISSIONS, PERMISSIONS, permissionsAt } from '@parley/protocol/permissions.ts';
import type { Account } from '@parley/protocol/resources/account.ts';
import type { Role } from '@parley/protocol/resources/role.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import t from 'tap';
import { updateAccount } from '../../src/core/accounts/account/accounts.ts';
import { setActive } from '../../src/core/accounts/users/activation.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { DEFAULT_VERSION } from '../support/default-version.ts';
import { until } from '../support/until.ts';
import { actorsNamed, closed, type Guarded, gatesOf, personWith, TIME, walk } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const NOWHERE = 'rol_000000000000000000000000';

t.test('the account: the resource, every field and no other', async (t) => {
  const { status, body } = await app.call<Account>('GET', '/v1/account', { token: ada.access_token });
  t.equal(status, 200);
  t.strictSame(body, {
    id: demo.account_id,
    object: 'account',
    name: 'Demo',
    plan: 'pro',
    subscription: 'active',
    created_at: body.created_at,
    updated_at: body.updated_at,
  });
  t.match(body.created_at, TIME);
  await database.transaction((tx) => updateAccount(tx, demo.account_id, { plan: 'free' }));
  const changed = await app.call<Account>('GET', '/v1/account');
  t.strictSame(changed.body, { ...body, plan: 'free', updated_at: changed.body.updated_at });
  t.ok(changed.body.updated_at > body.updated_at);
  const other = demo.other_account;
  const theirs = await app.call<Account>('GET', '/v1/account', {
    token: other.api_key,
    headers: { 'Service-Account': other.account_id },
  });
  t.match(theirs.body, { id: other.account_id, name: 'Demo neighbour', plan: 'free' });
  t.equal(refusalOf(await app.call('GET', '/v1/account?id=1')), '400 parameter_unknown id');
});

t.test('a role: the resource, every field and no other', async (t) => {
  const permissions = ['messaging:read', 'tokens:create'];
  const { status, body } = await create('/v1/roles', { name: 'Night shift', permissions });
  t.equal(status, 201);
  const plain = {
    id: body.id,
    object: 'role',
    name: 'Night shift',
    type: 'user',
    owner: null,
    permissions: null,
    created_at: body.created_at,
    updated_at: body.updated_at,
  };
  t.strictSame(body, plain);
  t.match(body.id, /^rol_\w{24}$/);
  t.match(body.created_at, TIME);
  t.strictSame(await onlyOf<Role>('/v1/roles?q=night'), plain);
  t.strictSame(await onlyOf<Role>('/v1/roles?q=NIGHT&include[]=permissions'), { ...plain, permissions });

  const twin = await app.call('POST', '/v1/roles', { body: { name: ' Night shift\n', permissions } });
  t.equal(refusalOf(twin), '409 resource_exists name', 'white space around a name is no part of it');

  const idle = await create('/v1/roles?include[]=permissions', { name: 'Idle', permissions: [] });
  t.match(idle.body, { name: 'Idle', permissions: [] });
  const admin = await onlyOf<Role>('/v1/roles?q=admin&include[]=permissions');
  t.match(admin, { name: 'admin', type: 'admin' });
  t.strictSame(
    admin.permissions,
    permissionsAt(DEFAULT_VERSION, [...PERMISSIONS, ...ADMIN_PERMISSIONS]),
    'an admin role holds everything',
  );
});

t.test('a user: the resource, every field and no other', async (t) => {
  const role = (await create('/v1/roles', { name: 'Crew', permissions: ['messaging:read'] })).body;
  const fields = { name: 'Mary Jackson', email: 'Mary@Example.com', role_id: role.id };
  const { status, body } = await create<User>('/v1/users', fields);
  t.equal(status, 201);
  const plain = {
    id: body.id,
    object: 'user',
    name: 'Mary Jackson',
    email: 'mary@example.com',
    status: 'active',
    role: null,
    created_at: body.created_at,
    updated_at: body.updated_at,
  };
  t.strictSame(body, plain);
  t.match(body.id, /^act_\w{24}$/);
  t.match(body.created_at, TIME);
  t.strictSame(await onlyOf<User>('/v1/users?q=jackson'), plain);
  t.strictSame(await onlyOf<User>('/v1/users?search=MARY@EX&include[]=role'), { ...plain, role });

  const second = { ...fields, email: 'mary2@example.com' };
  t.strictSame((await create<User>('/v1/users?include[]=role', second)).body.role, role);
  const page = '/v1/messaging/conversations/x';
  const token = await app.tokenOf(body.id);
  t.equal((await app.call('GET', `${page}/messages`, { token })).status, 404, 'it may act by its role');
  const notAllowed = await app.call('POST', `${page}/messages`, { token, body: {} });
  t.equal(refusalOf(notAllowed), '403 insufficient_permissions null', 'and by nothing more');

  await database.transaction((tx) => setActive(tx, body.id, false));
  const gone = await onlyOf<User>('/v1/users?q=mary@example.com');
  t.strictSame(gone, { ...plain, status: 'deactivated', updated_at: gone.updated_at });
  t.ok(gone.updated_at > plain.updated_at);
  // Done outside the node, as an operator does it: the node notices with its next sweep.
  const ended = await until(
    async () => {
      const answer = await app.call('GET', '/v1/messaging/notifications', { token });
      return answer.status === 200 ? undefined : answer;
    },
    { what: 'the token to end' },
  );
  t.equal(refusalOf(ended), '401 invalid_credentials null');
});

t.test('callers cannot grant more than they hold', async (t) => {
  const clerk = await personWith(app, ['messaging:read', 'roles:create', 'users:create']);
  const as = { token: clerk.token };
  const role = (permissions: readonly string[], name = randomUUID()) =>
    app.call<Role>('POST', '/v1/roles', { ...as, body: { name, permissions } });
  t.equal((await role(['messaging:read', 'roles:create'])).status, 201);
  const forbidden = '403 insufficient_permissions null';
  t.equal(refusalOf((await role(['messaging:read', 'tokens:create'])) as never), forbidden);

  const roles = (await app.call<List<Role>>('GET', '/v1/roles?limit=100')).body.data;
  const idOf = (name: string) => roles.find((one) => one.name === name)?.id;
  const user = (roleId: string | undefined) => {
    const body = { name: 'Somebody', email: `${randomUUID()}@example.com`, role_id: roleId };
    return app.call<User>('POST', '/v1/users', { ...as, body });
  };
  t.equal((await user(idOf('viewer'))).status, 201);
  t.equal((await user(clerk.roleId)).status, 201, 'as much as they hold themselves');
  for (const name of ['member', 'admin']) {
    t.equal(refusalOf((await user(idOf(name))) as never), forbidden, name);
  }
  t.equal((await create('/v1/users', userBody({ role_id: idOf('admin') }))).status, 201, 'an admin may');
});

t.test('lists: whole, in pages, both ways, newest first', async (t) => {
  for (const name of ['Pager one', 'Pager two', 'Pager three', 'Pager four', 'Pager five']) {
    const role = await create('/v1/roles', { name, permissions: [] });
    const email = `${name.replace(' ', '.')}@example.com`;
    await create<User>('/v1/users', { name, email, role_id: role.body.id });
  }
  const names = ['Pager five', 'Pager four', 'Pager three', 'Pager two', 'Pager one'];
  for (const path of ['/v1/roles', '/v1/users']) {
    const { body } = await app.call<List<Role | User>>('GET', `${path}?q=pager`);
    t.strictSame(
      body.data.map(({ name }) => name),
      names,
      path,
    );
    t.strictSame(body.page_info, {
      next_page_url: null,
      previous_page_url: null,
      has_next_page: false,
      has_prev_page: false,
    });
    const ids = body.data.map(({ id }) => id);
    t.strictSame(await walk(app, `${path}?q=pager&limit=2`), { forth: ids, back: ids }, path);
    const other = demo.other_account;
    const theirs = await app.call<List<Role | User>>('GET', `${path}?q=pager`, {
      token: other.api_key,
      headers: { 'Service-Account': other.account_id },
    });
    t.strictSame(theirs.body.data, [], `${path} of another account`);
    t.strictSame((await app.call<List<Role>>('GET', `${path}?q=%25`)).body.data, [], 'no wildcards');
    const wrong: [query: string, refusal: string][] = [
      ['limit=0', '400 parameter_invalid limit'],
      ['limit=101', '400 parameter_invalid limit'],
      ['cursor=x', '400 parameter_invalid cursor'],
      ['include[]=owner', '400 parameter_invalid include[]'],
      ['status=active', '400 parameter_unknown status'],
    ];
    for (const [query, refusal] of wrong) {
      t.equal(refusalOf(await app.call('GET', `${path}?${query}`)), refusal, `${path}?${query}`);
    }
  }
});

t.test('invalid bodies for a role are refused', async (t) => {
  const cases: [body: object, refusal: string][] = [
    [{}, '400 missing_field name'],
    [{ name: 'R' }, '400 missing_field permissions'],
    [{ name: null, permissions: [] }, '400 missing_field name'],
    [{ name: 1, permissions: [] }, '400 invalid_format name'],
    [{ name: '', permissions: [] }, '422 validation_failed name'],
    [{ name: ' \t', permissions: [] }, '422 validation_failed name'],
    [{ name: 'n'.repeat(201), permissions: [] }, '422 validation_failed name'],
    [{ name: 'R', permissions: 'messaging:read' }, '400 invalid_format permissions'],
    [{ name: 'R', permissions: ['messaging:read', 1] }, '400 invalid_format permissions[1]'],
    [{ name: 'R', permissions: ['messaging:read', 'sea:sail'] }, '422 validation_failed permissions[1]'],
    [
      { name: 'R', permissions: ['messaging:read', 'messaging:read'] },
      '422 validation_failed permissions[1]',
    ],
    ...ADMIN_PERMISSIONS.map((permission): [object, string] => [
      { name: 'R', permissions: [permission] },
      '422 validation_failed permissions[0]',
    ]),
    [{ name: 'R', permissions: [], type: 'admin' }, '422 validation_failed type'],
    [{ name: 'member', permissions: [] }, '409 resource_exists name'],
  ];
  for (const [body, refusal] of cases) t.equal(await refusalTo('/v1/roles', body), refusal, show(body));
});

t.test('invalid bodies for a user are refused', async (t) => {
  const foreign = await theirRole();
  const cases: [change: object, refusal: string][] = [
    [{ name: undefined }, '400 missing_field name'],
    [{ email: undefined }, '400 missing_field email'],
    [{ role_id: undefined }, '400 missing_field role_id'],
    [{ role_id: null }, '400 missing_field role_id'],
    [{ name: '' }, '422 validation_failed name'],
    [{ email: 'mary' }, '400 invalid_format email'],
    [{ email: `${'m'.repeat(250)}@example.com` }, '400 invalid_format email'],
    [{ email: 1 }, '400 invalid_format email'],
    [{ role_id: 'r'.repeat(65) }, '422 validation_failed role_id'],
    [{ role_id: NOWHERE }, '404 resource_not_found role_id'],
    [{ role_id: foreign }, '404 resource_not_found role_id'],
    [{ role_id: 'viewer' }, '404 resource_not_found role_id'],
    [{ status: 'active' }, '422 validation_failed status'],
    [{ email: 'ADA@example.com' }, '409 resource_exists email'],
  ];
  for (const [change, refusal] of cases) {
    t.equal(
      await refusalTo('/v1/users', userBody({ role_id: await viewerRole(), ...change })),
      refusal,
      show(change),
    );
  }
  const [absent, theirs] = await Promise.all(
    [NOWHERE, foreign].map((role_id) => app.call('POST', '/v1/users', { body: userBody({ role_id }) })),
  );
  t.equal(theirs?.text, absent?.text, "another account's role answers like an absent one, byte for byte");
});

t.test('two at once: one of a name, one of an address', async (t) => {
  const role_id = await viewerRole();
  const rivals: [path: string, body: object, param: string][] = [
    ['/v1/roles', { name: 'Twin', permissions: [] }, 'name'],
    ['/v1/users', { name: 'Twin', email: 'twin@example.com', role_id }, 'email'],
  ];
  for (const [path, body, param] of rivals) {
    const answers = await Promise.all([1, 2, 3, 4].map(() => app.call('POST', path, { body })));
    const outcomes = answers.map((answer) => (answer.status === 201 ? 'made' : refusalOf(answer)));
    const refused = `409 resource_exists ${param}`;
    t.strictSame(outcomes.sort(), [refused, refused, refused, 'made'], path);
  }
  const left = await actorsNamed(app, 'Twin');
  t.equal(left.length, 1, 'nothing is left of those that failed');
});

t.test('an Idempotency-Key makes the creation of roles repeatable', async (t) => {
  const bodies: [path: string, body: object][] = [
    ['/v1/roles', { name: 'Once', permissions: ['messaging:read'] }],
    ['/v1/users', userBody({ role_id: await viewerRole() })],
  ];
  for (const [path, body] of bodies) {
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await app.call('POST', path, { body, headers });
    const again = await app.call('POST', path, { body, headers });
    t.strictSame([first.status, first.headers.get('Idempotent-Replayed')], [201, null], path);
    t.strictSame([again.status, again.headers.get('Idempotent-Replayed')], [201, 'true'], path);
    t.equal(again.text, first.text, path);
    const other = await app.call('POST', path, { body: { ...body, name: 'Other' }, headers });
    t.equal(refusalOf(other), '422 validation_failed Idempotency-Key', path);
  }
});

t.test('managing roles requires its permission', async (t) => {
  const guarded: Guarded[] = [
    { method: 'GET', path: '/v1/account', permission: 'accounts:read', agents: true },
    { method: 'GET', path: '/v1/roles', permission: 'roles:read', agents: false },
    { method: 'POST', path: '/v1/roles', body: {}, permission: 'roles:create', agents: false },
    { method: 'GET', path: '/v1/users', permission: 'users:read', agents: false },
    { method: 'POST', path: '/v1/users', body: {}, permission: 'users:create', agents: false },
  ];
  for (const route of guarded) {
    t.strictSame(await gatesOf(app, route), closed(route), `${route.method} ${route.path}`);
  }
  for (const token of [grace.access_token, vera.access_token]) {
    t.equal(refusalOf(await app.call('GET', '/v1/users', { token })), '403 insufficient_permissions null');
  }
});

async function create<Body = Role>(path: string, body: object, options: CallOptions = {}) {
  const answer = await app.call<Body>('POST', path, { ...options, body });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer;
}

async function refusalTo(path: string, body: object): Promise<string> {
  return refusalOf(await app.call('POST', path, { body }));
}

/** The one resource that a list shows. */
async function onlyOf<Resource>(path: string): Promise<Resource> {
  const { body } = await app.call<List<Resource>>('GET', path);
  if (body.data.length !== 1) throw new Error(`${path}: ${body.data.length}`);
  return body.data[0]!;
}

function userBody(fields: object): object {
  return { name: 'Somebody', email: `${randomUUID()}@example.com`, ...fields };
}

async function viewerRole(): Promise<string> {
  return (await onlyOf<Role>('/v1/roles?q=viewer')).id;
}

async function theirRole(): Promise<string> {
  const { id } = await database.kysely
    .selectFrom('roles')
    .select('id')
    .where('account_id', '=', demo.other_account.account_id)
    .where('name', '=', 'viewer')
    .executeTakeFirstOrThrow();
  return id;
}

function show(value: object): string {
  return JSON.stringify(value).slice(0, 100);
}
