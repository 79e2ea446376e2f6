/** API keys (docs/contract.md#api-keys) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import { PERMISSIONS } from '@parley/protocol/permissions.ts';
import type { ApiKey, NewApiKey } from '@parley/protocol/resources/api-key.ts';
import type { Role } from '@parley/protocol/resources/role.ts';
import t from 'tap';
import { borrowTestApp, refusalOf } from '../support/app.ts';
import { closed, type Guarded, gatesOf, personWith, TIME, walk } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const PATH = '/v1/api-keys';
const viewer = await roleNamed('viewer');
const HOUR_MS = 3_600_000;

t.test('a key: the resource with its secret, once; every field and no other', async (t) => {
  const expires = new Date(Date.now() + HOUR_MS).toISOString();
  const made = await create({ name: 'Warehouse', role_id: viewer.id, expires_at: expires });
  const { key, ...shown } = made;
  t.match(key, /^parley_[0-9A-Za-z]{38}$/);
  t.strictSame(shown, {
    id: made.id,
    object: 'api_key',
    name: 'Warehouse',
    redacted: `parley_…${key.slice(-4)}`,
    actor_id: made.actor_id,
    role: null,
    status: 'active',
    revoked_at: null,
    expires_at: made.expires_at,
    created_at: made.created_at,
    updated_at: made.updated_at,
  });
  t.match([made.id, made.actor_id], [/^key_\w{24}$/, /^act_\w{24}$/]);
  t.match([made.created_at, made.expires_at], [TIME, TIME]);
  t.equal(Date.parse(made.expires_at!), Date.parse(expires));

  t.strictSame(await onlyOf('q=warehouse'), shown, 'the list never shows the secret');
  t.strictSame(await onlyOf('q=WAREHOUSE&include[]=role'), { ...shown, role: viewer });
  const newest = { headers: { 'Service-Version': '1.2.harbor' } };
  const byId = await app.call('GET', `${PATH}/${made.id}?include[]=role`, newest);
  t.strictSame(byId.body, { ...shown, role: viewer, role_id: viewer.id });
  t.equal((await notifications(key)).status, 200, 'it opens the account');
  const send = `/v1/messaging/conversations/${demo.conversations.group}/messages`;
  const refused = await app.call('POST', send, { token: key, body: {} });
  t.equal(refusalOf(refused), '403 insufficient_permissions null', 'as far as its role goes');

  const { role, expires_at } = await create({ name: 'Forever', role_id: viewer.id }, '?include[]=role');
  t.strictSame([role, expires_at], [viewer, null]);
});

t.test('a key that is over', async (t) => {
  const { key, ...made } = await create({ name: 'Brief', role_id: viewer.id });
  await database.kysely
    .updateTable('api_keys')
    .set({ expires_at: new Date(Date.now() - 1_000).toISOString() })
    .where('id', '=', made.id)
    .execute();
  t.equal(refusalOf(await notifications(key)), '401 api_key_expired null');
  const shown = await onlyOf('q=brief');
  t.strictSame(shown, { ...made, status: 'expired', expires_at: shown.expires_at });
  t.equal(await refusalTo(`${PATH}/${made.id}/actions/rotate`), '409 resource_conflict null');
});

t.test('revoking: at once and for good, twice is once', async (t) => {
  const { key, ...made } = await create({ name: 'Lost', role_id: viewer.id });
  t.equal((await notifications(key)).status, 200, 'the node knows it');
  const revoked = await app.call<ApiKey>('POST', `${PATH}/${made.id}/actions/revoke`);
  t.equal(refusalOf(await notifications(key)), '401 api_key_revoked null');
  t.equal(revoked.status, 200);
  const { revoked_at, updated_at } = revoked.body;
  t.strictSame(revoked.body, { ...made, status: 'revoked', revoked_at, updated_at });
  t.match(revoked_at, TIME);
  t.ok(updated_at > made.updated_at);

  const again = await app.call<ApiKey>('POST', `${PATH}/${made.id}/actions/revoke?include[]=role`, {
    body: {},
  });
  t.strictSame([again.status, again.body], [200, { ...revoked.body, role: viewer }]);
  t.equal(await refusalTo(`${PATH}/${made.id}/actions/rotate`), '409 resource_conflict null');
});

t.test('rotating: another secret of the same actor', async (t) => {
  const expires_at = new Date(Date.now() + HOUR_MS).toISOString();
  const { key, ...old } = await create({ name: 'Turning', role_id: viewer.id, expires_at });
  t.equal((await notifications(key)).status, 200, 'the node knows it');
  const rotated = await app.call<NewApiKey>('POST', `${PATH}/${old.id}/actions/rotate?include[]=role`);
  t.equal(refusalOf(await notifications(key)), '401 api_key_revoked null', 'the old one, at once');
  t.equal(rotated.status, 201);
  const { key: next, ...shown } = rotated.body;
  t.equal((await notifications(next)).status, 200);
  t.strictSame(shown, {
    ...old,
    id: shown.id,
    redacted: `parley_…${next.slice(-4)}`,
    role: viewer,
    created_at: shown.created_at,
    updated_at: shown.updated_at,
  });
  t.not(shown.id, old.id, 'a key of its own');

  const { data } = (await app.call<List<ApiKey>>('GET', `${PATH}?q=turning`)).body;
  t.strictSame(
    data.map(({ id, status }) => [id, status]),
    [
      [shown.id, 'active'],
      [old.id, 'revoked'],
    ],
  );
  const actor = await database.kysely
    .selectFrom('actors')
    .select(['handle', 'role_id'])
    .where('id', '=', old.actor_id)
    .executeTakeFirst();
  t.strictSame(actor, { handle: shown.redacted, role_id: viewer.id }, 'shown with what it has now');
});

t.test('of two concurrent rotations of an API key one succeeds', async (t) => {
  const { id, actor_id } = await create({ name: 'Race', role_id: viewer.id });
  const answers = await Promise.all([1, 2, 3].map(() => app.call('POST', `${PATH}/${id}/actions/rotate`)));
  const outcomes = answers.map((answer) => (answer.status === 201 ? 'made' : refusalOf(answer)));
  t.strictSame(outcomes.sort(), ['409 resource_conflict null', '409 resource_conflict null', 'made']);
  const valid = await database.kysely
    .selectFrom('api_keys')
    .select('id')
    .where('actor_id', '=', actor_id)
    .where('revoked_at', 'is', null)
    .execute();
  t.equal(valid.length, 1);
});

t.test('lists: in pages, both ways, newest first, one account each', async (t) => {
  const made: string[] = [];
  for (let n = 0; n < 5; n++) made.unshift((await create({ name: `Pager ${n}`, role_id: viewer.id })).id);
  t.strictSame(await walk(app, `${PATH}?q=pager&limit=2`), { forth: made, back: made });
  const other = demo.other_account;
  const theirs = await app.call<List<ApiKey>>('GET', PATH, {
    token: other.api_key,
    headers: { 'Service-Account': other.account_id },
  });
  t.strictSame(
    theirs.body.data.map(({ redacted }) => redacted),
    [`parley_…${other.api_key.slice(-4)}`],
  );
  const wrong: [query: string, refusal: string][] = [
    ['limit=0', '400 parameter_invalid limit'],
    ['cursor=x', '400 parameter_invalid cursor'],
    ['include[]=key', '400 parameter_invalid include[]'],
    ['status=active', '400 parameter_unknown status'],
  ];
  for (const [query, refusal] of wrong) {
    t.equal(refusalOf(await app.call('GET', `${PATH}?${query}`)), refusal, query);
  }
});

t.test('invalid bodies for an API key are refused', async (t) => {
  const foreign = await theirs('roles');
  const cases: [change: object, refusal: string][] = [
    [{ name: undefined }, '400 missing_field name'],
    [{ role_id: undefined }, '400 missing_field role_id'],
    [{ name: '' }, '422 validation_failed name'],
    [{ name: 'n'.repeat(201) }, '422 validation_failed name'],
    [{ role_id: 'rol_none' }, '404 resource_not_found role_id'],
    [{ role_id: foreign }, '404 resource_not_found role_id'],
    [{ expires_at: 'tomorrow' }, '400 invalid_format expires_at'],
    [{ expires_at: '2030-01-01T00:00:00' }, '400 invalid_format expires_at'],
    [{ expires_at: 2_000_000_000 }, '400 invalid_format expires_at'],
    [{ expires_at: new Date(Date.now() - 1_000).toISOString() }, '422 validation_failed expires_at'],
    [{ key: 'parley_mine' }, '422 validation_failed key'],
  ];
  for (const [change, refusal] of cases) {
    const body = { name: 'Key', role_id: viewer.id, ...change };
    t.equal(await refusalTo(PATH, body), refusal, JSON.stringify(change).slice(0, 100));
  }
  const { expires_at } = await create({ name: 'Key', role_id: viewer.id, expires_at: null });
  t.equal(expires_at, null, 'null counts as absent');
});

t.test("another account's key answers like an absent one, byte for byte", async (t) => {
  const absent = newId('apiKey');
  const foreign = await theirs('api_keys');
  for (const action of ['revoke', 'rotate']) {
    const [one, two] = await Promise.all(
      [absent, foreign].map((id) => app.call('POST', `${PATH}/${id}/actions/${action}`)),
    );
    t.equal(refusalOf(one!), '404 resource_not_found id', action);
    t.equal(two!.text.replaceAll(foreign, absent), one!.text, action);
    const body = { expires_at: null };
    t.equal(await refusalTo(`${PATH}/${absent}/actions/${action}`, body), '422 validation_failed expires_at');
  }
  const { revoked_at } = await database.kysely
    .selectFrom('api_keys')
    .select('revoked_at')
    .where('id', '=', foreign)
    .executeTakeFirstOrThrow();
  t.equal(revoked_at, null);
});

t.test('again with the same Idempotency-Key: the very secret, which is not stored readable', async (t) => {
  const { id } = await create({ name: 'To rotate', role_id: viewer.id });
  const requests: [path: string, body: object][] = [
    [PATH, { name: 'Once', role_id: viewer.id }],
    [`${PATH}/${id}/actions/rotate`, {}],
  ];
  for (const [path, body] of requests) {
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await app.call<NewApiKey>('POST', path, { body, headers });
    const again = await app.call('POST', path, { body, headers });
    t.strictSame([first.status, first.headers.get('Idempotent-Replayed')], [201, null], path);
    t.strictSame([again.status, again.headers.get('Idempotent-Replayed')], [201, 'true'], path);
    t.equal(again.text, first.text, path);
    const earlier = { ...headers, 'Service-Version': '1.1.harbor' };
    const inOlderForm = await app.call<NewApiKey>('POST', path, { body, headers: earlier });
    t.equal(inOlderForm.headers.get('Idempotent-Replayed'), 'true');
    t.equal(inOlderForm.body.key, first.body.key, 'also in the form of an earlier version');
    const stored = await database.kysely
      .selectFrom('idempotency_keys')
      .select(['response', 'encrypted'])
      .where('account_id', '=', app.demo.account_id)
      .execute();
    t.ok(
      stored.every(({ encrypted }) => encrypted),
      path,
    );
    t.notOk(
      stored.some(({ response }) => response?.includes(first.body.key)),
      path,
    );
  }
  const revoke = `${PATH}/${id}/actions/revoke`;
  const headers = { 'Idempotency-Key': randomUUID() };
  const [first, again] = [
    await app.call('POST', revoke, { headers }),
    await app.call('POST', revoke, { headers }),
  ];
  t.strictSame([again.text, again.headers.get('Idempotent-Replayed')], [first.text, 'true']);
});

t.test('only admins are permitted, whatever other roles hold', async (t) => {
  const guarded: Guarded[] = [
    { method: 'GET', path: PATH, permission: null, agents: false },
    { method: 'POST', path: PATH, body: {}, permission: null, agents: false },
    { method: 'POST', path: `${PATH}/x/actions/revoke`, permission: null, agents: false },
    { method: 'POST', path: `${PATH}/x/actions/rotate`, permission: null, agents: false },
  ];
  for (const route of guarded) {
    t.strictSame(await gatesOf(app, route), closed(route), `${route.method} ${route.path}`);
  }
  const trusted = await personWith(app, PERMISSIONS);
  await database.kysely
    .updateTable('roles')
    .set({ permissions: [...PERMISSIONS, 'api_keys:read', 'api_keys:create', 'api_keys:update'] })
    .where('id', '=', trusted.roleId)
    .execute();
  const answer = await app.call('GET', PATH, { token: trusted.token });
  t.equal(refusalOf(answer), '403 insufficient_permissions null', 'also where it stands in the role');
  t.equal((await app.call('GET', PATH, { token: demo.users.ada.access_token })).status, 200);
});

async function create(body: object, query = ''): Promise<NewApiKey> {
  const { status, text, body: made } = await app.call<NewApiKey>('POST', `${PATH}${query}`, { body });
  if (status !== 201) throw new Error(text);
  return made;
}

function notifications(token: string) {
  return app.call('GET', '/v1/messaging/notifications', { token });
}

async function refusalTo(path: string, body?: object): Promise<string> {
  return refusalOf(await app.call('POST', path, { body }));
}

async function onlyOf(query: string): Promise<ApiKey> {
  const { data } = (await app.call<List<ApiKey>>('GET', `${PATH}?${query}`)).body;
  if (data.length !== 1) throw new Error(`${query}: ${data.length}`);
  return data[0]!;
}

async function roleNamed(name: string): Promise<Role> {
  return (await app.call<List<Role>>('GET', `/v1/roles?q=${name}`)).body.data[0]!;
}

/** The id of one of the other account's. */
async function theirs(table: 'roles' | 'api_keys'): Promise<string> {
  const { id } = await database.kysely
    .selectFrom(table)
    .select('id')
    .where('account_id', '=', demo.other_account.account_id)
    .limit(1)
    .executeTakeFirstOrThrow();
  return id;
}
