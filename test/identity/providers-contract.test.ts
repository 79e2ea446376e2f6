/** Identity providers (docs/contract.md#identity-providers) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { IdentityProvider } from '@parley/protocol/resources/identity-provider.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { closed, gatesOf, TIME } from '../accounts/fixture.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { signedWithSecret, TokenIssuer, timesNow } from '../support/token-issuer.ts';
import { AUDIENCE, provide } from './fixture.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { demo, database } = app;
const PATH = '/v1/identity-providers';
const BODY = {
  name: 'App',
  issuer: 'https://login.example.com/',
  audience: 'a',
  jwks_url: 'https://login.example.com/keys',
};

t.test('a provider: the resource, every field and no other, without its secret', async (t) => {
  const headers = { 'Idempotency-Key': randomUUID() };
  const { status, body: made, text } = await call<IdentityProvider>('POST', PATH, { headers, body: BODY });
  t.equal(status, 201, text);
  t.strictSame(made, {
    id: made.id,
    object: 'identity_provider',
    name: 'App',
    issuer: BODY.issuer,
    audience: ['a'],
    jwks_url: BODY.jwks_url,
    jwks: null,
    has_secret: false,
    algorithms: ['RS256', 'ES256', 'EdDSA'],
    claims: { subject: 'sub', name: 'name', email: 'email' },
    subject: 'own',
    person: 'team',
    provision: 'off',
    role_id: null,
    client_id: null,
    has_client_secret: false,
    created_by: made.created_by,
    created_at: made.created_at,
    updated_at: made.updated_at,
  });
  t.match([made.id, made.created_by, made.created_at], [/^idp_\w{24}$/, /^act_/, TIME]);
  const again = await call('POST', PATH, { headers, body: BODY });
  t.strictSame([again.text, again.headers.get('Idempotent-Replayed')], [text, 'true']);
  t.equal(await refusal('POST', PATH, { body: BODY }), '409 resource_exists issuer');
  t.strictSame((await call<IdentityProvider>('GET', `${PATH}/${made.id}`)).body, made);
  t.strictSame((await call<List<IdentityProvider>>('GET', `${PATH}?q=login.example`)).body.data, [made]);

  const change = { name: 'Other', audience: ['a', 'b'], claims: { subject: 'uid' }, secret: 's'.repeat(32) };
  const changed = await call<IdentityProvider>('PATCH', `${PATH}/${made.id}`, { body: change });
  t.match(changed.body, {
    name: 'Other',
    audience: ['a', 'b'],
    claims: { subject: 'uid', name: 'name', email: 'email' },
    jwks_url: null,
    jwks: null,
    has_secret: true,
    algorithms: ['HS256'],
  });
  t.notMatch(changed.text, 'ssss', 'the secret is not shown');
  t.equal(
    await refusal('PATCH', `${PATH}/${made.id}`, { body: { algorithms: ['RS256'] } }),
    '422 validation_failed algorithms[0]',
  );
  t.equal(
    await refusal('PATCH', `${PATH}/${made.id}`, { body: { provision: 'first_use' } }),
    '400 missing_field role_id',
  );
  t.equal((await call('DELETE', `${PATH}/${made.id}`)).status, 200);
  for (const method of ['GET', 'DELETE'])
    t.equal(await refusal(method, `${PATH}/${made.id}`), '404 resource_not_found id');
  t.equal(await refusal('PATCH', `${PATH}/${made.id}`, { body: { name: 'x' } }), '404 resource_not_found id');
  const audit = (await call<List<AuditEvent>>('GET', '/v1/account/audit?limit=50')).body.data;
  t.strictSame(
    audit
      .filter(({ details }) => details.identity_provider_id === made.id)
      .map(({ action }) => action)
      .reverse(),
    ['identity_provider.created', 'identity_provider.updated', 'identity_provider.deleted'],
  );
});

t.test('bodies that no schema accepts', async (t) => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ name: undefined }, '400 missing_field name'],
    [{ issuer: undefined }, '400 missing_field issuer'],
    [{ audience: undefined }, '400 missing_field audience'],
    [{ audience: [] }, '422 validation_failed audience'],
    [{ audience: 5 }, '400 invalid_format audience'],
    [{ audience: ['a', 'a'] }, '422 validation_failed audience[1]'],
    [{ algorithms: ['none'] }, '422 validation_failed algorithms[0]'],
    [{ algorithms: [] }, '422 validation_failed algorithms'],
    [{ secret: 'short', jwks_url: undefined }, '422 validation_failed secret'],
    [{ person: 'agent' }, '422 validation_failed person'],
    [{ provision: 'always' }, '422 validation_failed provision'],
    [{ subject: 'email' }, '422 validation_failed subject'],
    [{ claims: { roles: 'x' } }, '422 validation_failed claims.roles'],
    [{ jwks: { keys: [] }, jwks_url: undefined }, '422 validation_failed jwks.keys'],
    [{ more: 1 }, '422 validation_failed more'],
  ];
  for (const [more, expected] of wrong) {
    const refused = await refusal('POST', PATH, {
      body: { ...BODY, issuer: 'https://wrong.example', ...more },
    });
    t.equal(refused, expected, JSON.stringify(more));
  }
  t.equal(await refusal('PATCH', `${PATH}/idp_x`, { body: {} }), '422 validation_failed null');
  t.equal(
    await refusal('PATCH', `${PATH}/idp_x`, { body: { issuer: 'https://x.example' } }),
    '422 validation_failed issuer',
  );
});

t.test('admins alone', async (t) => {
  const provider = await provide(app, await TokenIssuer.start(t));
  const common = { permission: null, agents: false, version: NEWEST_VERSION } as const;
  for (const [method, path, body] of [
    ['POST', PATH, BODY],
    ['GET', PATH],
    ['GET', `${PATH}/${provider.id}`],
    ['PATCH', `${PATH}/${provider.id}`, { name: 'x' }],
    ['DELETE', `${PATH}/${provider.id}`],
  ] as const) {
    const gates = await gatesOf(app, { ...common, method, path, ...(body && { body }) });
    t.strictSame(gates, closed({ agents: false }), `${method} ${path}`);
  }
  const theirs = {
    token: demo.other_account.api_key,
    headers: { 'Service-Account': demo.other_account.account_id },
  };
  t.equal(await refusal('GET', `${PATH}/${provider.id}`, theirs), '404 resource_not_found id');
  const older = { headers: { 'Service-Version': '1.2.harbor' } };
  t.equal(await refusal('GET', PATH, older), '400 api_version_too_old Service-Version');
});

t.test('a provider gives no admin role unless an admin user says so, and its role stays', async (t) => {
  const [admin] = await database.kysely
    .selectFrom('roles')
    .select('id')
    .where('account_id', '=', demo.account_id)
    .where('type', '=', 'admin')
    .execute();
  const body = { ...BODY, issuer: 'https://admins.example', provision: 'first_use', role_id: admin!.id };
  t.equal(await refusal('POST', PATH, { body }), '403 insufficient_permissions null', 'an admin key');
  const token = demo.users.ada.access_token;
  const byUser = await call<IdentityProvider>('POST', PATH, { token, body });
  t.equal(byUser.status, 201, byUser.text);
  t.equal(
    await refusal('PATCH', `${PATH}/${byUser.body.id}`, { body: { role_id: admin!.id } }),
    '403 insufficient_permissions null',
  );
  t.equal(
    await refusal('POST', PATH, { body: { ...body, role_id: 'rol_x' } }),
    '404 resource_not_found role_id',
  );

  const accountId = demo.account_id;
  const role = await database.transaction((tx) =>
    createRole(tx, { accountId, name: 'Given', permissions: [] }),
  );
  const patched = await refusal('PATCH', `${PATH}/${byUser.body.id}`, { body: { role_id: role.id } });
  t.equal(patched, '200');
  t.equal(await refusal('DELETE', `/v1/roles/${role.id}`), '409 resource_conflict null');
});

t.test('20 providers, in pages', async (t) => {
  const { length: before } = (await call<List<IdentityProvider>>('GET', `${PATH}?limit=100`)).body.data;
  const bodies = Array.from({ length: 22 - before }, (_, n) => ({
    ...BODY,
    issuer: `https://n${n}.example`,
  }));
  const answers = await Promise.all(bodies.map((body) => call<IdentityProvider>('POST', PATH, { body })));
  t.equal(answers.filter(({ status }) => status === 201).length, 20 - before);
  const refused = answers.find(({ status }) => status === 403)?.body as unknown as { error: object };
  t.match(refused.error, { code: 'limit_exceeded', quota: { limit: 20, used: 20 } });
  const page = await call<List<IdentityProvider>>('GET', `${PATH}?limit=3`);
  t.strictSame([page.body.data.length, page.body.page_info.has_next_page], [3, true]);
  for (const { status, body } of answers) if (status === 201) await call('DELETE', `${PATH}/${body.id}`);
});

t.test('a key set of its own, and a shared secret', async (t) => {
  const issuer = await TokenIssuer.start(t);
  const accountId = demo.account_id;
  const role = await database.transaction((tx) =>
    createRole(tx, { accountId, name: 'Keys', permissions: [] }),
  );
  const more = { provision: 'first_use', role_id: role.id } as const;
  const { id } = await provide(app, issuer, { ...more, jwks: issuer.keySet as { keys: { kty: string }[] } });
  const claims = { iss: issuer.origin, aud: AUDIENCE, sub: 's' };
  t.equal((await call<Me>('GET', '/v1/me', { token: issuer.token(claims) })).status, 200);
  t.strictSame(issuer.asked, [], 'no one is asked');
  const secret = 'a secret of at least 32 characters';
  const changed = await call('PATCH', `${PATH}/${id}`, { body: { secret } });
  t.equal(changed.status, 200, changed.text);
  const token = signedWithSecret({ alg: 'HS256', typ: 'JWT' }, { ...claims, ...timesNow() }, secret);
  t.equal((await call<Me>('GET', '/v1/me', { token })).status, 200);
  // It begins as our own tokens do.
  const alike = signedWithSecret({ alg: 'HS256', typ: 'at+jwt' }, { ...claims, ...timesNow() }, secret);
  t.equal((await call<Me>('GET', '/v1/me', { token: alike })).status, 200);
  const forged = signedWithSecret(
    { alg: 'HS256' },
    { ...claims, ...timesNow() },
    'another secret of 32 characters..',
  );
  t.equal(await refusal('GET', '/v1/me', { token: forged }), '401 invalid_credentials null');
  t.equal(await refusal('GET', '/v1/me', { token: issuer.token(claims) }), '401 invalid_credentials null');
});
