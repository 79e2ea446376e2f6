/**
 * The caller, users, roles, groups and entities by id, over HTTP and on open sockets
 * (docs/contract.md#access).
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import { ADMIN_PERMISSIONS, PERMISSIONS, permissionsAt } from '@parley/protocol/permissions.ts';
import type { MessagingGroup } from '@parley/protocol/resources/actor.ts';
import type { ApiKey } from '@parley/protocol/resources/api-key.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import type { Role } from '@parley/protocol/resources/role.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { borrowTestApp, type CallOptions, callsAt, type Refusal, refusalOf } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';
import { until } from '../support/until.ts';
import { personWith, trustedAgent } from './fixture.ts';

const VERSION = '1.2.harbor';
const app = await borrowTestApp(t);
const { call, refusal } = callsAt(app, VERSION);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const CONVERSATIONS = '/v1/messaging/conversations';
const GROUPS = '/v1/messaging/groups';
const FORBIDDEN = '403 insufficient_permissions null';
const CONFLICT = '409 resource_conflict null';

t.test('the caller: as a user, a key and an agent', async (t) => {
  const asAda = await call<Me>('GET', '/v1/me', { token: ada.access_token });
  t.equal(asAda.status, 200);
  t.match(asAda.body, {
    object: 'me',
    actor: { id: ada.id, object: 'actor', type: 'user', name: 'Ada Lovelace', handle: ada.email },
    account: { id: demo.account_id, object: 'account', name: 'Demo' },
    user: { id: ada.id, object: 'user', email: ada.email, status: 'active', role: null },
    role: { object: 'role', name: 'admin', type: 'admin', permissions: null },
  });
  t.strictSame(asAda.body.permissions, permissionsAt(VERSION, [...PERMISSIONS, ...ADMIN_PERMISSIONS]));
  const person = await personWith(app, ['messaging:read', 'tokens:create']);
  const { body } = await call<Me>('GET', '/v1/me', { token: person.token });
  t.strictSame([body.role?.id, body.permissions], [person.roleId, ['messaging:read', 'tokens:create']]);
  const asKey = await call<Me>('GET', '/v1/me');
  t.match(asKey.body, { actor: { type: 'api_key' }, user: null, role: { type: 'admin' } });
  const asAgent = await call<Me>('GET', '/v1/me', { token: await app.tokenOf(demo.agent.actor_id) });
  t.match(asAgent.body, { actor: { id: demo.agent.actor_id, type: 'agent' }, user: null });
  for (const method of ['GET', 'PATCH']) {
    const body = method === 'PATCH' ? { body: { name: 'Carl' } } : {};
    t.equal(await refusal(method, '/v1/me', { token: demo.customer.access_token, ...body }), FORBIDDEN);
  }
});

t.test('a user changes its own name, and nothing of anyone else', async (t) => {
  const person = await personWith(app, []);
  const as = { token: person.token };
  const { body } = await call<Me>('PATCH', '/v1/me', { ...as, body: { name: ' Mary Jackson ' } });
  t.strictSame([body.actor.name, body.user?.name], ['Mary Jackson', 'Mary Jackson']);
  const seen = await call<User>('GET', `/v1/users/${person.id}`);
  t.equal(seen.body.name, 'Mary Jackson');
  t.strictSame((await call<Me>('PATCH', '/v1/me', { ...as, body: {} })).body, body, 'nothing, no change');
  const cases: [body: object, refusal: string][] = [
    [{ name: '' }, '422 validation_failed name'],
    [{ name: 'Mary\nJackson' }, '422 validation_failed name'],
    [{ name: null }, '400 missing_field name'],
    [{ name: 7 }, '400 invalid_format name'],
    [{ name: 'n'.repeat(201) }, '422 validation_failed name'],
    [{ email: 'mary@example.com' }, '422 validation_failed email'],
    [{ role_id: person.roleId }, '422 validation_failed role_id'],
  ];
  for (const [sent, expected] of cases) {
    t.equal(
      await refusal('PATCH', '/v1/me', { ...as, body: sent }),
      expected,
      JSON.stringify(sent).slice(0, 60),
    );
  }
  t.equal(await refusal('PATCH', '/v1/me', { body: { name: 'A key' } }), FORBIDDEN, 'a key is no user');
  const agent = { token: await trustedAgent(app), body: { name: 'An agent' } };
  t.equal(await refusal('PATCH', '/v1/me', agent), FORBIDDEN, 'nor is an agent');
  await replays('PATCH', '/v1/me', { ...as, body: { name: 'Katherine Johnson' } });
});

t.test('a user by id, with another role and another name', async (t) => {
  const person = await personWith(app, ['messaging:read']);
  const role = await makeRole(['messaging:read', 'messaging:create']);
  const path = `/v1/users/${person.id}`;
  const before = await call<User>('GET', `${path}?include[]=role`);
  t.match(before.body, { id: person.id, object: 'user', actor_id: person.id, role: { id: person.roleId } });
  const changed = await call<User>('PATCH', `${path}?include[]=role`, {
    body: { name: 'Dorothy Vaughan', role_id: role.id },
  });
  t.match(changed.body, { name: 'Dorothy Vaughan', role: { id: role.id } });
  t.ok(changed.body.updated_at > before.body.updated_at);
  t.strictSame((await call('PATCH', `${path}?include[]=role`, { body: {} })).body, changed.body);
  await holds('the new role', async () => {
    const { body } = await call<Me>('GET', '/v1/me', { token: person.token });
    return body.permissions.includes('messaging:create');
  });
  const cases: [body: object, refusal: string][] = [
    [{ name: ' ' }, '422 validation_failed name'],
    [{ role_id: 7 }, '400 invalid_format role_id'],
    [{ role_id: newId('role') }, '404 resource_not_found role_id'],
    [{ email: 'd@example.com' }, '422 validation_failed email'],
    [{ status: 'deactivated' }, '422 validation_failed status'],
  ];
  for (const [body, expected] of cases) t.equal(await refusal('PATCH', path, { body }), expected);
  for (const id of [newId('actor'), demo.agent.actor_id, await customerId()]) {
    t.equal(await refusal('GET', `/v1/users/${id}`), '404 resource_not_found id');
    t.equal(await refusal('PATCH', `/v1/users/${id}`, { body: {} }), '404 resource_not_found id');
  }
  await replays('PATCH', path, { body: { name: 'Annie Easley' } });
  const { data } = (
    await call<List<{ action: string; details: object }>>('GET', '/v1/account/audit?action=user.updated')
  ).body;
  t.match(
    data.find(({ details }) => 'to' in details),
    { details: { user_id: person.id, fields: ['name', 'role_id'], from: person.roleId, to: role.id } },
  );
  t.notOk(JSON.stringify(data).includes('Dorothy'), 'the audit has no names');
});

t.test('nobody changes more than the caller holds, and an admin remains', async (t) => {
  const manager = await personWith(app, [
    'users:update',
    'roles:update',
    'messaging:read',
    'messaging:create',
  ]);
  const reader = await personWith(app, ['messaging:read']);
  const more = await personWith(app, ['messaging:read', 'agents:run']);
  const [low, high] = [await makeRole(['messaging:create']), await makeRole(['agents:run'])];
  const as = { token: manager.token };
  const give = (id: string, role_id: string) =>
    refusal('PATCH', `/v1/users/${id}`, { ...as, body: { role_id } });
  t.equal(await give(reader.id, low.id), '200');
  t.equal(await give(reader.id, high.id), FORBIDDEN, 'a role with more');
  t.equal(await give(reader.id, await adminRoleId()), FORBIDDEN, 'the admin role');
  t.equal(await give(more.id, low.id), FORBIDDEN, 'a user with more');
  t.equal(
    await refusal('PATCH', `/v1/users/${ada.id}`, { ...as, body: { name: 'X' } }),
    FORBIDDEN,
    'an admin',
  );
  const renamed = await call('PATCH', `/v1/users/${ada.id}`, { ...as, body: { name: 'X' } });
  t.match(renamed.text, /or change those that have it/, 'the message fits a change that assigns nothing');
  t.equal(await give(manager.id, low.id), '200', 'oneself, to less');
  await holds('the lesser role', async () => (await give(reader.id, low.id)) === FORBIDDEN);

  const member = await roleNamed('member');
  const demote = (id: string, token: string) =>
    refusal('PATCH', `/v1/users/${id}`, { token, body: { role_id: member.id } });
  t.equal(await demote(ada.id, demo.api_key), CONFLICT, 'the last admin');
  const second = await database.transaction(async (tx) => {
    const fields = { name: 'Second', email: newAddress(), roleId: await adminRoleId() };
    return (await createUser(tx, { accountId: demo.account_id, ...fields })).user;
  });
  const token = await app.tokenOf(second.id);
  const outcomes = await Promise.all([demote(ada.id, token), demote(second.id, ada.access_token)]);
  t.equal(outcomes.filter((outcome) => outcome === '200').length, 1, `one of two: ${outcomes}`);
  const roleId = await adminRoleId();
  await call('PATCH', `/v1/users/${ada.id}`, { body: { role_id: roleId } });
  await call('POST', `/v1/users/${second.id}/actions/deactivate`);
  t.equal(await demote(ada.id, demo.api_key), CONFLICT, 'a deactivated admin does not count');
});

t.test('roles: changed for all that have them, deleted when nothing has them', async (t) => {
  const role = await makeRole(['messaging:read'], 'Dock');
  const path = `/v1/roles/${role.id}`;
  t.strictSame((await call('GET', path)).body, role);
  const changed = await call<Role>('PATCH', `${path}?include[]=permissions`, {
    body: { name: 'Quay', permissions: ['messaging:read', 'agents:read'] },
  });
  t.match(changed.body, { name: 'Quay', permissions: ['messaging:read', 'agents:read'] });
  t.strictSame((await call<Role>('PATCH', `${path}?include[]=permissions`, { body: {} })).body, changed.body);
  const cases: [body: object, refusal: string][] = [
    [{ name: '' }, '422 validation_failed name'],
    [{ name: 'member' }, '409 resource_exists name'],
    [{ permissions: ['sea:sail'] }, '422 validation_failed permissions[0]'],
    [{ permissions: ['api_keys:read'] }, '422 validation_failed permissions[0]'],
    [{ permissions: ['users:read', 'users:read'] }, '422 validation_failed permissions[1]'],
    [{ type: 'admin' }, '422 validation_failed type'],
  ];
  for (const [body, expected] of cases) t.equal(await refusal('PATCH', path, { body }), expected);
  t.equal(await refusal('GET', `/v1/roles/${newId('role')}`), '404 resource_not_found id');

  const clerk = { token: (await personWith(app, ['roles:update', 'messaging:read'])).token };
  t.equal(await refusal('PATCH', path, { ...clerk, body: { name: 'Mine' } }), FORBIDDEN, 'a role with more');
  const mine = await makeRole(['messaging:read']);
  const widened = { ...clerk, body: { permissions: ['messaging:read', 'agents:read'] } };
  t.equal(await refusal('PATCH', `/v1/roles/${mine.id}`, widened), FORBIDDEN, 'made to be more');
  t.equal(await refusal('PATCH', `/v1/roles/${mine.id}`, { ...clerk, body: { name: 'Ours' } }), '200');
  t.equal(await refusal('DELETE', path, clerk), FORBIDDEN);

  const { body: user } = await call<User>('POST', '/v1/users', {
    body: { name: 'U', email: newAddress(), role_id: role.id },
  });
  const { body: key } = await call<ApiKey>('POST', '/v1/api-keys', { body: { name: 'K', role_id: role.id } });
  const { body: agent } = await call<{ id: string }>('POST', '/v1/ai/agents', {
    body: {
      name: 'A',
      slug: `a-${Date.now()}`,
      category_code: 'c',
      trigger_type: 'manual',
      config: {},
      role_id: role.id,
    },
  });
  const refused = await call<Refusal>('DELETE', path);
  t.equal(refusalOf(refused), CONFLICT);
  t.match(refused.body.error.message, '(1 user, 1 API key, 1 agent)');
  await call('PATCH', `/v1/users/${user.id}`, { body: { role_id: mine.id } });
  await call('POST', `/v1/api-keys/${key.id}/actions/revoke`);
  await call('DELETE', `/v1/ai/agents/${agent.id}`);
  await replays('DELETE', path);
  t.equal(await refusal('DELETE', path), '404 resource_not_found id', 'it is gone');
  t.equal((await call<List<Role>>('GET', '/v1/roles?q=quay')).body.data.length, 0);
});

t.test('a role that is deleted while it is given to a user: one of the two', async (t) => {
  for (let round = 0; round < 5; round++) {
    const role = await makeRole([]);
    const body = { name: 'R', email: newAddress(), role_id: role.id };
    const outcomes = await Promise.all([
      refusal('DELETE', `/v1/roles/${role.id}`),
      refusal('POST', '/v1/users', { body }),
    ]);
    t.ok(
      ['200,404 resource_not_found role_id', `${CONFLICT},201`].includes(outcomes.join()),
      outcomes.join(),
    );
  }
});

t.test('roles of the service: in every account, to be assigned, not to be changed', async (t) => {
  const { account } = await database.transaction((tx) => createAccount(tx, { name: 'New' }));
  const made = await database.kysely
    .selectFrom('roles')
    .select(['name', 'type'])
    .where('account_id', '=', account.id)
    .orderBy('name')
    .execute();
  t.strictSame(
    made.map(({ name, type }) => `${name} ${type}`),
    ['admin admin', 'agent agent', 'member user', 'sales_rep sales_rep', 'scanner scanner', 'viewer user'],
  );
  for (const name of ['scanner', 'sales_rep', 'admin']) {
    const { id } = await roleNamed(name);
    for (const method of ['PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { body: { name: 'Mine' } } : {};
      t.equal(await refusal(method, `/v1/roles/${id}`, body), CONFLICT, `${method} ${name}`);
    }
  }
  const station = await personWith(app, []);
  const { id: role_id } = await roleNamed('scanner');
  t.equal(await refusal('PATCH', `/v1/users/${station.id}`, { body: { role_id } }), '200');
  await holds('the scanner may raise events', async () => {
    const body = { type: 'item.scanned', data: {} };
    return (await refusal('POST', '/v1/events', { token: station.token, body })) === '201';
  });
  // As an account of before the migration, with roles of these names.
  const { kysely } = database;
  const old = newId('account');
  await kysely.insertInto('accounts').values({ id: old, name: 'Old' }).execute();
  await kysely.deleteFrom('roles').where('account_id', '=', old).execute();
  await createRole(database, { accountId: old, name: 'scanner', permissions: [] });
  const again = { name: 'again', text: 'SELECT create_service_roles($1)' };
  await database.query(again as never, old as never);
  const names = await kysely
    .selectFrom('roles')
    .select('name')
    .where('account_id', '=', old)
    .orderBy('name')
    .execute();
  t.strictSame(
    names.map(({ name }) => name),
    ['sales_rep', 'scanner', 'scanner (service)'],
  );
});

t.test('a change of rights reaches open sockets within a second', async (t) => {
  const person = await personWith(app, ['messaging:read', 'messaging:create', 'messaging:update']);
  const { body } = await call<Conversation>('POST', CONVERSATIONS, {
    body: { type: 'group', participants: [{ type: 'user', actor_id: person.id }] },
  });
  const role = await makeRole(['messaging:read']);
  const none = await makeRole([]);
  await call('PATCH', `/v1/users/${person.id}`, { body: { role_id: role.id } });
  const socket = await open(person.token);
  socket.send({ type: 'subscribe', id: '1', conversation_id: body.id });
  await socket.frame(({ type }) => type === 'caught_up');
  await call('PATCH', `/v1/users/${person.id}`, { body: { role_id: none.id } });
  const ended = await socket.frame(({ type, reason }) => type === 'resync' && reason === 'revoked');
  t.equal(ended.conversation_id, body.id, 'a role without messaging:read');
  await call('PATCH', `/v1/users/${person.id}`, { body: { role_id: role.id } });
  await until(
    async () => {
      socket.send({ type: 'subscribe', id: randomUUID(), conversation_id: body.id });
      return socket.frames.filter(({ type }) => type === 'caught_up').length > 1;
    },
    { what: 'the right to return', timeoutMs: 60_000 },
  );
  await call('PATCH', `/v1/roles/${role.id}`, { body: { permissions: [] } });
  await until(() => socket.frames.filter(({ reason }) => reason === 'revoked').length > 1, {
    what: 'the end of the subscription',
    timeoutMs: 60_000,
  });
  await call('POST', `/v1/users/${person.id}/actions/deactivate`);
  t.equal(await socket.closed, 4202, 'a deactivated user');
});

t.test('a new name reaches open screens', async (t) => {
  const person = await personWith(app, ['messaging:read']);
  const { body } = await call<Conversation>('POST', CONVERSATIONS, {
    token: grace.access_token,
    body: { type: 'group', participants: [{ type: 'user', actor_id: person.id }] },
  });
  const socket = await open(grace.access_token);
  socket.send({ type: 'subscribe', id: '1', conversation_id: body.id });
  await socket.frame(({ type }) => type === 'caught_up');
  await call('PATCH', '/v1/me', { token: person.token, body: { name: 'Ruth Teitelbaum' } });
  const { data } = await socket.frame(({ event }) => event === 'participant.updated');
  t.match(data, { actor: { id: person.id, name: 'Ruth Teitelbaum' } });
});

t.test('groups: by id, renamed, with other members', async (t) => {
  const { body: group } = await call<MessagingGroup>('POST', GROUPS, {
    body: { name: 'Watch', members: [ada.id] },
  });
  const path = `${GROUPS}/${group.id}`;
  t.strictSame((await call('GET', path)).body, group);
  const { body } = await call<MessagingGroup>('PATCH', `${path}?include[]=members`, {
    body: { name: 'Night watch', members: [grace.id, demo.agent.id] },
  });
  t.strictSame(
    [body.name, body.members?.map(({ id }) => id)],
    ['Night watch', [grace.id, demo.agent.actor_id]],
  );
  const actor = await database.kysely
    .selectFrom('actors')
    .select('name')
    .where('id', '=', group.actor_id!)
    .execute();
  t.strictSame(actor, [{ name: 'Night watch' }], 'its actor has the name too');
  t.strictSame((await call('PATCH', `${path}?include[]=members`, { body: {} })).body, body);
  const cases: [body: object, refusal: string][] = [
    [{ name: '' }, '422 validation_failed name'],
    [{ name: 'Customer Service' }, '409 resource_exists name'],
    [{ members: [grace.id, grace.id] }, '422 validation_failed members[1]'],
    [{ members: [newId('actor')] }, '404 resource_not_found members[0]'],
    [{ members: [await customerId()] }, '422 validation_failed members[0]'],
    [{ handle: 'x' }, '422 validation_failed handle'],
  ];
  for (const [sent, expected] of cases) t.equal(await refusal('PATCH', path, { body: sent }), expected);
  t.strictSame((await call('GET', `${path}?include[]=members`)).body, body, 'refusals change nothing');
  await replays('PATCH', path, { body: { members: [] } });
  t.equal(await refusal('GET', `${GROUPS}/${newId('group')}`), '404 resource_not_found id');
  t.equal(await refusal('PATCH', path, { token: vera.access_token, body: {} }), FORBIDDEN);
});

t.test('a conversation from a group, without participants of its own', async (t) => {
  const group = await makeGroup([ada.id, vera.id]);
  const { status, body } = await call<Conversation>(
    'POST',
    `${CONVERSATIONS}?include[]=participants&include[]=group`,
    {
      token: grace.access_token,
      body: { type: 'group', group_id: group.id },
    },
  );
  t.equal(status, 201);
  t.strictSame(
    body.participants?.map(({ actor, role }) => [actor?.id, role]),
    [
      [grace.id, 'owner'],
      [ada.id, 'member'],
      [vera.id, 'member'],
    ],
  );
  t.equal(body.group?.id, group.id);
  const alone = await call<Conversation>('POST', `${CONVERSATIONS}?include[]=participants`, {
    token: grace.access_token,
    body: { type: 'group', title: 'Alone' },
  });
  t.strictSame(
    alone.body.participants?.map(({ actor }) => actor?.id),
    [grace.id],
    'nor of a group',
  );
});

t.test('groups are deleted when nothing is theirs', async (t) => {
  const group = await makeGroup([ada.id]);
  const path = `${GROUPS}/${group.id}`;
  const { body: started } = await call<Conversation>('POST', CONVERSATIONS, {
    body: { type: 'group', group_id: group.id },
  });
  const assign = (assignee_id: string | null) =>
    call('PATCH', `${CONVERSATIONS}/${demo.conversations.case}`, { body: { assignee_id } });
  t.equal((await assign(group.id)).status, 200);
  const owned = await call<Refusal>('DELETE', path);
  t.match(owned.body.error.message, 'assignee of conversations (1)');
  await assign(null);
  const { body: inbox } = await call<{ id: string }>('POST', '/v1/messaging/inboxes', {
    body: { name: 'I', address: `${newId('inbox').toLowerCase()}@harbor.example`, group_id: group.id },
  });
  t.match((await call<Refusal>('DELETE', path)).body.error.message, 'Inboxes name the group (1)');
  t.equal(await refusal('DELETE', `/v1/messaging/inboxes/${inbox.id}`), '200');
  t.equal(await refusal('DELETE', path, { token: vera.access_token }), FORBIDDEN);
  await replays('DELETE', path);
  t.equal(await refusal('GET', path), '404 resource_not_found id');
  const shown = await call<Conversation>('GET', `${CONVERSATIONS}/${started.id}?include[]=group`);
  t.equal(shown.body.group, null, 'what was started from it stays');
  for (const id of [group.id, group.actor_id!]) {
    const body = { assignee_id: id };
    const answer = await refusal('PATCH', `${CONVERSATIONS}/${demo.conversations.case}`, { body });
    t.equal(answer, '404 resource_not_found assignee_id', 'nothing is assigned to it any more');
  }
  t.equal((await call('POST', GROUPS, { body: { name: group.name } })).status, 201, 'its name is free');

  const { data } = (await call<List<MessagingGroup>>('GET', `${GROUPS}?q=customer`)).body;
  const persona = `${GROUPS}/${data[0]!.id}`;
  t.equal(await refusal('DELETE', persona), CONFLICT);
  t.equal(await refusal('PATCH', persona, { body: { name: 'Help' } }), CONFLICT);
  t.equal(await refusal('PATCH', persona, { body: { name: 'Customer Service', members: [ada.id] } }), '200');
});

t.test('a group that is deleted while a case is assigned to it: one of the two', async (t) => {
  for (let round = 0; round < 5; round++) {
    const group = await makeGroup([]);
    const body = { assignee_id: group.id };
    const outcomes = await Promise.all([
      refusal('DELETE', `${GROUPS}/${group.id}`),
      refusal('PATCH', `${CONVERSATIONS}/${demo.conversations.case}`, { body }),
    ]);
    t.ok(
      [`${CONFLICT},200`, '200,404 resource_not_found assignee_id'].includes(outcomes.join()),
      outcomes.join(),
    );
  }
});

t.test('an entity can be read by its id', async (t) => {
  const { body } = await call<{ id: string }>('POST', '/v1/entities', {
    body: { name: 'SO-1', handle: 'one' },
  });
  t.strictSame((await call('GET', `/v1/entities/${body.id}`, { token: vera.access_token })).body, body);
  t.equal(await refusal('GET', `/v1/entities/${newId('entity')}`), '404 resource_not_found id');
});

async function replays(method: string, path: string, options: CallOptions = {}): Promise<void> {
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await call(method, path, { ...options, headers });
  const again = await call(method, path, { ...options, headers });
  t.strictSame([again.status, again.text], [200, first.text], `${method} ${path} again`);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
}

async function makeRole(permissions: readonly string[], name: string = randomUUID()): Promise<Role> {
  return (await call<Role>('POST', '/v1/roles', { body: { name, permissions } })).body;
}

async function makeGroup(members: readonly string[]): Promise<MessagingGroup> {
  return (await call<MessagingGroup>('POST', GROUPS, { body: { name: randomUUID(), members } })).body;
}

async function roleNamed(name: string): Promise<Role> {
  const { data } = (await call<List<Role>>('GET', `/v1/roles?limit=100&q=${name}`)).body;
  return data.find((role) => role.name === name)!;
}

async function adminRoleId(): Promise<string> {
  return (await roleNamed('admin')).id;
}

async function customerId(): Promise<string> {
  const { id } = await database.kysely
    .selectFrom('actors')
    .select('id')
    .where('customer', '=', true)
    .where('account_id', '=', demo.account_id)
    .executeTakeFirstOrThrow();
  return id;
}

function holds(what: string, condition: () => Promise<boolean>): Promise<unknown> {
  return until(condition, { what, timeoutMs: 60_000 });
}

interface Frame {
  readonly type: string;
  readonly event?: string;
  readonly data?: object;
  readonly reason?: string;
  readonly conversation_id?: string;
}

async function open(token: string) {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': VERSION,
    'Service-Account': demo.account_id,
  };
  const socket = new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers });
  t.teardown(() => socket.terminate());
  const frames: Frame[] = [];
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  const frame = (wanted: (frame: Frame) => boolean) =>
    until(() => frames.find(wanted), { what: 'a frame', timeoutMs: 60_000 });
  await frame(({ type }) => type === 'ready');
  return { frames, frame, closed, send: (value: object) => socket.send(JSON.stringify(value)) };
}
