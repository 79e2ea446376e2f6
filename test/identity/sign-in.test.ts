/**
 * Sign-in at a real OpenID provider (docs/contract.md#sign-in): the session, and what is refused.
 */

import type { IdentityProvider } from '@parley/protocol/resources/identity-provider.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { callsAt } from '../support/app.ts';
import { CookieJar } from '../support/oidc-provider.ts';
import { until } from '../support/until.ts';
import {
  addProvider,
  callbackOf,
  openSocket,
  session,
  signIn,
  startSignIn,
  toCallback,
  tokenFrom,
  VERSION,
} from './sign-in-fixture.ts';

const fixture = await startSignIn(t);
const { app, id, client, provider } = fixture;
const { call, refusal } = callsAt(app, VERSION);
const { demo } = app;
const COOKIE = '__Host-parley_session';
const FLOW = '__Host-parley_sign_in';
const ORIGIN = new URL(app.baseUrl).origin;
const ENDED = '401 invalid_credentials null';

t.test('the first sign-in makes the person; the next one is the same person', async (t) => {
  const jar = new CookieJar();
  const back = await toCallback(fixture, jar, 'joan');
  const { searchParams } = new URL(back);
  t.strictSame([...searchParams.keys()].sort(), ['code', 'iss', 'state']);
  const answer = await jar.fetch(back);
  t.strictSame([answer.status, answer.headers.get('Location')], [303, '/docs']);
  t.equal(answer.headers.get('Cache-Control'), 'no-store');
  t.match(answer.headers.getSetCookie(), [
    /^__Host-parley_session=refresh_[\w-]{43}; Path=\/; Max-Age=2592000; Secure; HttpOnly; SameSite=Strict$/,
    /^__Host-parley_sign_in=; Path=\/; Max-Age=0; Secure; HttpOnly; SameSite=Lax$/,
  ]);
  const traded = await session(app, jar);
  t.equal(traded.headers.get('Cache-Control'), 'no-store');
  const token = await tokenFrom(traded);
  t.strictSame(Object.keys(token).sort(), ['access_token', 'account_id', 'expires_at', 'object', 'user_id']);
  const me = await call<{ user: { name: string; email: string } }>('GET', '/v1/me', {
    token: token.access_token,
  });
  t.match(me.body.user, { id: token.user_id, name: 'joan of the team', email: 'joan@example.com' });
  const again = await tokenFrom(await session(app, await signIn(fixture, 'joan')));
  t.equal(again.user_id, token.user_id);
  t.not((await tokenFrom(await session(app, await signIn(fixture, 'jim')))).user_id, token.user_id);
  const list = await call<{ data: { is_current: boolean }[] }>('GET', '/v1/me/sessions', {
    token: again.access_token,
  });
  t.strictSame(list.body.data.map(({ is_current }) => is_current).sort(), [false, true], 'two sessions');
});

t.test('what a callback must have: the browser, its state, a new code, its provider', async (t) => {
  const failed = async (url: string, jar: CookieJar) => {
    const answer = await jar.fetch(url);
    t.notOk(jar.get(app.baseUrl, COOKIE), 'no session');
    t.match(answer.headers.get('Content-Security-Policy'), "default-src 'self'");
    return [answer.status, /<p role="alert">([^<]*)/.exec(await answer.text())?.[1]];
  };
  const NOT_BEGUN = [
    400,
    'This sign-in did not begin in this browser, is over, or took longer than ten minutes.',
  ];
  const jar = new CookieJar();
  const back = await toCallback(fixture, jar, 'kim');
  t.strictSame(await failed(back, new CookieJar()), NOT_BEGUN, 'another browser, so a planted sign-in');
  const forged = new CookieJar();
  const sealed = jar.get(app.baseUrl, FLOW)!;
  const letter = sealed.at(-10) === 'A' ? 'B' : 'A';
  forged.set(app.baseUrl, FLOW, `${sealed.slice(0, -10)}${letter}${sealed.slice(-9)}`);
  t.strictSame(await failed(back, forged), NOT_BEGUN, 'a changed cookie');
  const other = await addProvider(app, 'http://127.0.0.1:9', { name: 'Other' });
  t.strictSame(await failed(back.replace(id, other), jar), NOT_BEGUN, 'the callback of another provider');

  const NO_PROOF = [403, 'What the identity provider answered proves no sign-in.'];
  const flow = jar.get(app.baseUrl, FLOW)!;
  const kept = (value = flow) => {
    const copy = new CookieJar();
    copy.set(app.baseUrl, FLOW, value);
    return copy;
  };
  const changed = (name: string, value: string) => {
    const url = new URL(back);
    url.searchParams.set(name, value);
    return url.href;
  };
  t.strictSame(await failed(changed('state', 'x'.repeat(43)), kept()), NO_PROOF, 'another state');
  t.strictSame(await failed(changed('iss', 'https://evil.example'), kept()), NO_PROOF, 'another issuer');
  t.strictSame(await failed(back.replace(/[?].*/, ''), kept()), NO_PROOF, 'nothing');
  const REFUSED = [403, 'The identity provider refused (invalid_grant).'];
  t.strictSame(await failed(changed('code', 'made-up'), kept()), REFUSED, 'another code');
  const denied = `${callbackOf(app, id)}?${new URLSearchParams({
    error: 'access_denied',
    state: new URL(back).searchParams.get('state')!,
    iss: provider.issuer,
  })}`;
  t.strictSame(await failed(denied, kept()), [403, 'The identity provider refused (access_denied).']);

  t.equal((await jar.fetch(back)).status, 303);
  t.notOk(jar.get(app.baseUrl, FLOW), 'the browser has nothing left to repeat it with');
  const replaying = new CookieJar();
  t.strictSame(await failed(back, replaying), NOT_BEGUN, 'a replay');
  t.strictSame(await failed(back, kept()), REFUSED, 'a replay with the cookie of before: the code was used');
  await app.database.kysely.deleteFrom('identity_providers').where('id', '=', other).execute();
});

t.test('a sign-in begins here alone, and ends on a page of this server', async (t) => {
  const begin = (query: Record<string, string>, headers: Record<string, string> = {}) =>
    new CookieJar().fetch(`${app.baseUrl}/v1/auth/sign-in?${new URLSearchParams(query)}`, { headers });
  const found = await begin({ provider: id });
  const to = new URL(found.headers.get('Location')!);
  t.strictSame([found.status, to.origin], [302, provider.issuer]);
  t.match(Object.fromEntries(to.searchParams), {
    client_id: client.id,
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: callbackOf(app, id),
    scope: 'openid profile email',
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
  });
  for (const returnTo of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/a/..//evil.example',
    'docs',
    `/${'x'.repeat(600)}`,
  ]) {
    t.equal((await begin({ provider: id, return_to: returnTo })).status, 400, returnTo.slice(0, 30));
  }
  for (const site of ['cross-site', 'same-site']) {
    const answer = await begin({ provider: id }, { 'Sec-Fetch-Site': site });
    t.strictSame([answer.status, answer.headers.get('Location')], [200, null], `${site}: the choices first`);
    t.match(await answer.text(), `href="/v1/auth/sign-in?provider=${id}&amp;return_to=%2Fdocs"`);
  }
  t.equal((await begin({ provider: id }, { 'Sec-Fetch-Site': 'same-origin' })).status, 302);
  t.equal((await begin({ provider: 'idp_none' })).status, 404);
  t.match(await (await begin({ account: demo.account_id })).text(), 'Sign in with Staff');
  t.equal((await begin({ account: 'acc_none' })).status, 404);
  const away = await addProvider(app, 'http://127.0.0.1:9', { name: 'Away' });
  t.equal((await begin({ provider: away })).status, 502, 'a provider that is not there');
  const inside = await addProvider(app, 'http://10.0.0.1', { name: 'Inside' });
  t.equal((await begin({ provider: inside })).status, 502, 'an address that may not be asked');
  await app.database.kysely.deleteFrom('identity_providers').where('id', 'in', [away, inside]).execute();
});

t.test('the list for pages: of one account, and of no other one', async (t) => {
  const names = async (query = '') => {
    const answer = await fetch(`${app.baseUrl}/v1/auth/sign-in/providers${query}`);
    return ((await answer.json()) as { data: { name: string }[] }).data.map(({ name }) => name);
  };
  t.strictSame(await names(), ['Staff']);
  t.strictSame(await names(`?account=${demo.account_id}`), ['Staff']);
  t.strictSame(await names('?account=acc_none'), []);
  const stranger = 'acc_stranger';
  await app.database.kysely.insertInto('accounts').values({ id: stranger, name: 'Strangers' }).execute();
  const theirs = await addProvider(app, provider.issuer, { name: 'Theirs', account_id: stranger });
  t.strictSame(await names(), [], 'of several accounts, none says that it is here');
  t.strictSame(await names(`?account=${stranger}`), ['Theirs']);
  for (const changes of [{ client_id: null }, { person: 'customer' as const }]) {
    await app.database.kysely
      .updateTable('identity_providers')
      .set(changes)
      .where('id', '=', theirs)
      .execute();
    t.strictSame(await names(`?account=${stranger}`), [], JSON.stringify(changes));
    await app.database.kysely
      .updateTable('identity_providers')
      .set({ client_id: client.id })
      .where('id', '=', theirs)
      .execute();
  }
  await app.database.kysely.deleteFrom('identity_providers').where('id', '=', theirs).execute();
});

t.test('the cookie: one endpoint reads it, for pages of this server', async (t) => {
  const jar = await signIn(fixture, 'lee');
  const cookie = jar.header(app.baseUrl);
  const headers = { Cookie: cookie, Origin: ORIGIN, Authorization: undefined };
  for (const [method, path] of [
    ['GET', '/v1/me'],
    ['POST', '/v1/realtime/tickets'],
    ['DELETE', '/v1/me/sessions'],
  ] as const) {
    t.equal(await refusal(method, path, { headers }), '401 invalid_credentials Authorization', path);
  }
  const socket = new WebSocket(
    `${app.baseUrl.replace('http', 'ws')}/v1/realtime?version=${VERSION}&account=${demo.account_id}`,
    { headers: { Cookie: cookie } },
  );
  const first = await new Promise((resolve) =>
    socket.on('message', (data) => resolve(JSON.parse(String(data)))),
  );
  t.match(first, { type: 'hello' }, 'a socket waits for its first frame to authenticate it');
  socket.close();

  for (const method of ['POST', 'DELETE']) {
    for (const origin of [
      undefined,
      'null',
      'http://evil.example',
      `${ORIGIN}0`,
      ORIGIN.replace('http', 'https'),
    ]) {
      const answer = await session(app, jar, method, origin === undefined ? {} : { Origin: origin });
      const { error } = (await answer.json()) as { error: { code: string; param: string } };
      t.strictSame(
        [answer.status, error.code, error.param],
        [403, 'insufficient_permissions', 'Origin'],
        `${origin}`,
      );
    }
  }
  t.equal((await session(app, new CookieJar())).status, 204, 'no cookie');
  const made = new CookieJar();
  made.set(app.baseUrl, COOKIE, `refresh_${'x'.repeat(43)}`);
  t.equal((await session(app, made)).status, 401, 'a made-up one');
  const { body: pair } = await call<{ refresh_token: string }>('POST', '/v1/auth/tokens', {
    body: { user_id: demo.users.ada.id },
  });
  made.set(app.baseUrl, COOKIE, pair.refresh_token);
  t.equal((await session(app, made)).status, 401, 'of a session that began in another way');
  const wrong = await jar.fetch(`${app.baseUrl}/v1/auth/session`);
  t.strictSame([wrong.status, wrong.headers.get('Allow')], [405, 'POST, PUT, DELETE']);

  const { access_token: token } = await tokenFrom(await session(app, jar));
  const live = await openSocket(t, app, token);
  const left = await session(app, jar, 'DELETE');
  t.equal(left.status, 204);
  t.notOk(jar.get(app.baseUrl, COOKIE), 'the browser forgets it');
  t.equal(await live.closed, 4202);
  t.equal(await refusal('GET', '/v1/me', { token }), ENDED);
  made.set(app.baseUrl, COOKIE, cookie.split('=')[1]!);
  t.equal((await session(app, made)).status, 401, 'the cookie of before is worth nothing');
});

t.test('a cookie that is sent twice, and one that was copied', async (t) => {
  const jar = await signIn(fixture, 'mo');
  const first = jar.get(app.baseUrl, COOKIE)!;
  const withCookie = (value: string) => {
    const one = new CookieJar();
    one.set(app.baseUrl, COOKIE, value);
    return one;
  };
  const tabs = [1, 2, 3].map(() => withCookie(first));
  const answers = await Promise.all(tabs.map(async (tab) => tokenFrom(await session(app, tab))));
  const nexts = new Set(tabs.map((tab) => tab.get(app.baseUrl, COOKIE)));
  t.equal(nexts.size, 1, 'tabs that begin at once share the next cookie');
  t.notOk(nexts.has(first));
  const next = withCookie([...nexts][0]!);
  const { access_token: token } = await tokenFrom(await session(app, next));
  t.equal((await session(app, withCookie(first))).status, 401, 'late, it gets nothing');
  t.equal((await call('GET', '/v1/me', { token })).status, 200, 'and ends nothing');
  await app.database.kysely
    .updateTable('refresh_tokens')
    .set({ used_at: new Date(Date.now() - 120_000).toISOString() })
    .where('actor_id', '=', answers[0]!.user_id)
    .where('used_at', 'is not', null)
    .execute();
  t.equal((await session(app, withCookie(first))).status, 401);
  await until(async () => (await refusal('GET', '/v1/me', { token })) === ENDED, {
    what: 'the end of the copied session',
    timeoutMs: 60_000,
  });
  t.equal((await session(app, next)).status, 401, 'after a minute it was copied: the session has ended');
});

t.test('a person who was deactivated, and one who was erased', async (t) => {
  const jar = await signIn(fixture, 'nan');
  const { user_id: user, access_token: token } = await tokenFrom(await session(app, jar));
  const status = async () => {
    const other = new CookieJar();
    const answer = await other.fetch(await toCallback(fixture, other, 'nan'));
    return [answer.status, other.get(app.baseUrl, COOKIE) === undefined];
  };
  await call('POST', `/v1/users/${user}/actions/deactivate`);
  t.equal((await session(app, jar)).status, 401);
  t.equal(await refusal('GET', '/v1/me', { token }), ENDED);
  t.strictSame(await status(), [403, true]);
  await call('POST', `/v1/users/${user}/actions/activate`);
  t.equal((await session(app, jar)).status, 401, 'the session of before stays ended');
  t.strictSame(await status(), [303, false]);
  const erasure = await call('POST', `/v1/users/${user}/actions/erase`, { body: { messages: 'keep' } });
  t.equal(erasure.status, 201);
  await until(async () => (await status())[0] === 403, { what: 'the erasure', timeoutMs: 60_000 });
  t.strictSame(
    await app.database.kysely.selectFrom('sign_ins').selectAll().where('actor_id', '=', user).execute(),
    [],
  );
});

t.test('the client of a provider: written, never shown, for the team and public keys alone', async (t) => {
  const newest = callsAt(app, NEWEST_VERSION);
  const path = `/v1/identity-providers/${id}`;
  const shown = await newest.call<IdentityProvider>('GET', path);
  t.match(shown.body, { client_id: client.id, has_client_secret: true });
  t.notMatch(shown.text, client.secret);
  const body = {
    name: 'New',
    issuer: 'https://new.example',
    audience: 'a',
    jwks_url: 'https://new.example/keys',
    client_id: 'c',
    client_secret: 's',
  };
  const refused = (changes: object) =>
    newest.refusal('POST', '/v1/identity-providers', { body: { ...body, ...changes } });
  t.equal(await refused({ client_id: undefined }), '400 missing_field client_id');
  t.equal(await refused({ client_id: '' }), '422 validation_failed client_id');
  t.equal(await refused({ client_id: 7 }), '400 invalid_format client_id');
  t.equal(await refused({ client_secret: 'x'.repeat(1_025) }), '422 validation_failed client_secret');
  t.equal(await refused({ person: 'customer' }), '422 validation_failed client_id');
  t.equal(
    await refused({ jwks_url: undefined, secret: 'x'.repeat(32) }),
    '422 validation_failed client_id',
    'ID tokens have public keys',
  );
  const made = await newest.call<IdentityProvider>('POST', '/v1/identity-providers', { body });
  const at = `/v1/identity-providers/${made.body.id}`;
  t.match([made.status, made.body.client_id, made.body.has_client_secret], [201, 'c', true]);
  const patched = async (changes: object) => {
    const answer = await newest.call<IdentityProvider>('PATCH', at, { body: changes });
    return [answer.status, answer.body.client_id, answer.body.has_client_secret];
  };
  t.strictSame(await patched({ client_secret: null }), [200, 'c', false], 'a public client');
  t.strictSame(await patched({ client_id: 'd', client_secret: 't' }), [200, 'd', true]);
  t.strictSame(await patched({ client_id: null }), [200, null, false], 'without the client, no secret');
  t.equal(await newest.refusal('PATCH', at, { body: { client_secret: 't' } }), '400 missing_field client_id');
  await newest.call('DELETE', at);
});

t.test('the limit of an address', async (t) => {
  const limited = await startSignIn(t, { PARLEY_RATE_LIMIT: '1/60' });
  const ask = async () => (await session(limited.app, new CookieJar())).status;
  const statuses: number[] = [];
  while (statuses.length < 11 && statuses.at(-1) !== 429) statuses.push(await ask());
  t.match([statuses[0], statuses.at(-1)], [204, 429], 'ten requests a minute, with those of the fixture');
  for (const path of ['sign-in', 'sign-in/providers', `sign-in/callback/${limited.id}`]) {
    t.equal((await fetch(`${limited.app.baseUrl}/v1/auth/${path}`)).status, 429, path);
  }
  const logout = await fetch(`${limited.app.baseUrl}/v1/auth/backchannel-logout`, { method: 'POST' });
  t.equal(logout.status, 429);
});
