/**
 * Back-channel logout (docs/contract.md#sign-in), by a real OpenID provider and by tokens signed
 * like its own.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { nanoid } from 'nanoid';
import t from 'tap';
import { callsAt } from '../support/app.ts';
import type { CookieJar } from '../support/oidc-provider.ts';
import { until } from '../support/until.ts';
import {
  addProvider,
  openSocket,
  session,
  signIn,
  startSignIn,
  tokenFrom,
  VERSION,
} from './sign-in-fixture.ts';

const fixture = await startSignIn(t);
const { app, client, provider } = fixture;
const { refusal } = callsAt(app, VERSION);
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const ENDED = '401 invalid_credentials null';

/** A person in one browser, with a live socket. */
async function live(login: string) {
  const jar = await signIn(fixture, login);
  const { access_token: token, user_id: user } = await tokenFrom(await session(app, jar));
  return { jar, token, user, ...(await openSocket(t, app, token)) };
}

function claims(more: JWTPayload = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1_000);
  return {
    iss: provider.issuer,
    aud: client.id,
    iat: now,
    exp: now + 120,
    jti: nanoid(),
    events: { [EVENT]: {} },
    ...more,
  };
}

async function logOut(token: string, init: RequestInit = {}) {
  const answer = await fetch(`${app.baseUrl}/v1/auth/backchannel-logout`, {
    method: 'POST',
    body: new URLSearchParams({ logout_token: token }),
    ...init,
  });
  const text = await answer.text();
  if (answer.status === 503) return '503 ';
  const { error = '', error_description: why = '' } = text === '' ? {} : JSON.parse(text);
  t.equal(answer.headers.get('Cache-Control'), 'no-store');
  return `${answer.status} ${error} ${why}`.trim();
}

/** Leaves the provider in this browser, which then tells its clients. */
async function leaveProvider(jar: CookieJar): Promise<void> {
  const form = await jar.fetch(`${provider.issuer}/session/end`);
  const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(await form.text()) ?? [];
  const body = new URLSearchParams({ xsrf, logout: 'yes' });
  await jar.fetch(`${provider.issuer}/session/end/confirm`, { method: 'POST', body });
}

t.test('a logout at the provider ends that session alone, and its sockets', async (t) => {
  const [here, there, other] = [await live('joan'), await live('joan'), await live('jim')];
  t.equal(here.user, there.user);
  await leaveProvider(here.jar);
  t.equal(await here.closed, 4202);
  t.equal(await refusal('GET', '/v1/me', { token: here.token }), ENDED);
  t.equal((await session(app, here.jar)).status, 401);
  for (const { jar, socket } of [there, other]) {
    t.equal((await session(app, jar)).status, 200, 'the other browser, and the other person');
    t.equal(socket.readyState, socket.OPEN);
  }
  const audit = await app.database.kysely
    .selectFrom('audit_events')
    .select(['actor_id', 'details'])
    .where('action', '=', 'sessions.ended')
    .execute();
  t.match(audit, [{ actor_id: null, details: { user_id: here.user, count: 1 } }], 'the provider ended it');
  const back = await live('joan');
  t.equal(back.user, here.user, 'nothing is in the way of a new sign-in');
  t.equal((await session(app, back.jar)).status, 200);
});

t.test('without a session of the provider, all of the subject', async (t) => {
  const people = [await live('kim'), await live('kim')];
  const other = await live('lee');
  t.equal(await logOut(await provider.sign(claims({ sub: 'kim' }), { typ: 'logout+jwt' })), '200');
  t.strictSame(await Promise.all(people.map(({ closed }) => closed)), [4202, 4202]);
  t.equal((await session(app, other.jar)).status, 200);
  t.equal(await logOut(await provider.sign(claims({ sub: 'kim' }))), '200', 'nothing to end is no failure');
  const [back] = [await live('kim')];
  t.equal((await session(app, back.jar)).status, 200);
});

t.test('a session of the provider is named with its subject, alone, or wrongly', async (t) => {
  const person = await live('mo');
  const { sid } = await app.database.kysely
    .selectFrom('sign_ins')
    .select('sid')
    .where('actor_id', '=', person.user)
    .executeTakeFirstOrThrow();
  t.ok(sid);
  for (const target of [{ sid: 'another' }, { sub: 'mo', sid: 'another' }, { sub: 'nan', sid: sid! }]) {
    t.equal(await logOut(await provider.sign(claims(target))), '200', JSON.stringify(target));
  }
  t.equal((await session(app, person.jar)).status, 200, 'none of these is this session');
  t.equal(await logOut(await provider.sign(claims({ sid: sid! }))), '200');
  t.equal(await person.closed, 4202);

  const unnamed = await live('mo');
  await app.database.kysely
    .updateTable('sign_ins')
    .set({ sid: null })
    .where('actor_id', '=', unnamed.user)
    .execute();
  t.equal(await logOut(await provider.sign(claims({ sub: 'mo', sid: 'another' }))), '200');
  t.equal(await unnamed.closed, 4202, 'it may be any session, as the provider did not say which');
});

t.test('what a logout token must be', async (t) => {
  const person = await live('nan');
  const NOT_VALID = '400 invalid_request The logout token is not valid.';
  const now = Math.floor(Date.now() / 1_000);
  const sub = 'nan';
  const signed = (payload: JWTPayload, header?: Record<string, string>) => provider.sign(payload, header);
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const foreign = (payload: JWTPayload, header: object = {}) =>
    new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'first', ...header }).sign(privateKey);
  const jwk = await exportJWK(publicKey);
  const replayed = await signed(claims({ sub: 'somebody else' }));
  t.equal(await logOut(replayed), '200');
  const cases: Readonly<Record<string, readonly [string, string]>> = {
    'a second time': [replayed, '400 invalid_request This logout token was used before.'],
    'another audience': [
      await signed(claims({ sub, aud: 'other' })),
      '400 invalid_request There is no such client of this issuer.',
    ],
    'no audience': [
      await signed(claims({ sub, aud: undefined! })),
      '400 invalid_request There is no such client of this issuer.',
    ],
    'another issuer': [
      await signed(claims({ sub, iss: `${provider.issuer}/` })),
      '400 invalid_request There is no such client of this issuer.',
    ],
    'no signature': [new UnsecuredJWT(claims({ sub })).encode(), NOT_VALID],
    'another key': [await foreign(claims({ sub })), NOT_VALID],
    'its own key': [await foreign(claims({ sub }), { jwk }), NOT_VALID],
    'a shared secret': [
      await new SignJWT(claims({ sub }))
        .setProtectedHeader({ alg: 'HS256', kid: 'first' })
        .sign(Buffer.from(client.secret)),
      NOT_VALID,
    ],
    'three minutes old': [
      await signed(claims({ sub, iat: now - 180 })),
      '400 invalid_request The logout token was not issued just now.',
    ],
    'of the future': [
      await signed(claims({ sub, iat: now + 600 })),
      '400 invalid_request The logout token was not issued just now.',
    ],
    expired: [await signed(claims({ sub, exp: now - 100 })), NOT_VALID],
    'no time': [await signed(claims({ sub, iat: undefined! })), NOT_VALID],
    'no id': [await signed(claims({ sub, jti: undefined! })), NOT_VALID],
    'an empty id': [
      await signed(claims({ sub, jti: '' })),
      '400 invalid_request The logout token has no id.',
    ],
    'a nonce': [
      await signed(claims({ sub, nonce: 'n' })),
      '400 invalid_request A logout token has no nonce.',
    ],
    'no events': [await signed(claims({ sub, events: undefined })), NOT_VALID],
    'another event': [
      await signed(claims({ sub, events: { other: {} } })),
      '400 invalid_request The token is no logout.',
    ],
    'an event that is no object': [
      await signed(claims({ sub, events: { [EVENT]: true } })),
      '400 invalid_request The token is no logout.',
    ],
    'another type': [
      await signed(claims({ sub }), { typ: 'at+jwt' }),
      '400 invalid_request The token is of another type.',
    ],
    'no target': [
      await signed(claims()),
      '400 invalid_request The logout token names neither a subject nor a session.',
    ],
    'a target that is null': [
      await signed(claims({ sub: null as never, sid: null })),
      '400 invalid_request The logout token names neither a subject nor a session.',
    ],
    'a session that is no text': [
      await signed(claims({ sub, sid: 7 })),
      '400 invalid_request The logout token names neither a subject nor a session.',
    ],
    'an ID token': [
      await signed({ iss: provider.issuer, aud: client.id, sub, iat: now, exp: now + 60, nonce: 'n' }),
      NOT_VALID,
    ],
    'no token': ['', '400 invalid_request The logout token cannot be read.'],
    'three words': ['a.b.c', '400 invalid_request The logout token cannot be read.'],
  };
  for (const [what, [token, expected]] of Object.entries(cases)) t.equal(await logOut(token), expected, what);
  const good = await signed(claims({ sub: 'somebody else' }));
  t.equal(
    await logOut('', {
      body: JSON.stringify({ logout_token: good }),
      headers: { 'Content-Type': 'application/json' },
    }),
    '400 invalid_request Send the Content-Type application/x-www-form-urlencoded.',
  );
  const twice = new URLSearchParams([
    ['logout_token', good],
    ['logout_token', good],
  ]);
  t.equal(await logOut('', { body: twice }), '400 invalid_request Send one logout_token.');
  t.equal(await logOut('x'.repeat(40_000)), '400 invalid_request Send at most 32768 bytes.');
  t.equal((await session(app, person.jar)).status, 200, 'none of them ended a session');

  t.comment('the keys of one account end no sessions of another one');
  const stranger = 'acc_stranger';
  await app.database.kysely.insertInto('accounts').values({ id: stranger, name: 'Strangers' }).execute();
  const keys = { keys: [{ ...jwk, kid: 'first', alg: 'RS256' }] };
  await addProvider(app, provider.issuer, {
    account_id: stranger,
    jwks: JSON.stringify(keys),
    jwks_url: null,
  });
  t.equal(await logOut(await foreign(claims({ sub }))), '200', 'it is a token for that account');
  t.equal((await session(app, person.jar)).status, 200);
  t.equal(await logOut(await signed(claims({ sub }))), '200');
  t.equal(await person.closed, 4202);
});

t.test('keys of another account that cannot be read stop no logout', async (t) => {
  const broken = createServer((request, response) => {
    if (request.url === '/hangs') return;
    response.writeHead(request.url === '/fails' ? 500 : 200).end('no key set');
  });
  await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    broken.closeAllConnections();
    broken.close();
  });
  const { port } = broken.address() as AddressInfo;
  // In the order of their ids, before and behind that of the session.
  for (const prefix of ['000000', 'zzzzzz']) {
    for (const path of ['fails', 'garbage', 'hangs']) {
      const [id, account_id] = [`idp_${prefix}${path}`, `acc_${prefix}${path}`];
      await app.database.kysely.insertInto('accounts').values({ id: account_id, name: path }).execute();
      await addProvider(app, provider.issuer, {
        id,
        account_id,
        jwks_url: `http://127.0.0.1:${port}/${path}`,
      });
    }
  }
  const person = await live('nell');
  t.equal(await logOut(await provider.sign(claims({ sub: 'nell' }))), '200');
  t.equal(await person.closed, 4202);
  t.equal((await session(app, person.jar)).status, 401);
  const { privateKey } = await generateKeyPair('RS256');
  const foreign = await new SignJWT(claims({ sub: 'nell' }))
    .setProtectedHeader({ alg: 'RS256', kid: 'first' })
    .sign(privateKey);
  t.match(await logOut(foreign), /^503 /, 'nobody accepted it, and not all could be asked');
  await app.database.kysely.deleteFrom('identity_providers').where('id', '!=', fixture.id).execute();
});

t.test('a provider that is removed takes its sessions with it', async (t) => {
  const person = await live('oz');
  const { status } = await callsAt(app, '1.3.harbor').call('DELETE', `/v1/identity-providers/${fixture.id}`);
  t.equal(status, 200);
  t.equal(await person.closed, 4202);
  await until(async () => (await refusal('GET', '/v1/me', { token: person.token })) === ENDED, {
    what: 'the end of its token',
    timeoutMs: 60_000,
  });
  t.equal((await session(app, person.jar)).status, 401);
  const answer = await fetch(`${app.baseUrl}/v1/auth/sign-in?provider=${fixture.id}`);
  t.equal(answer.status, 404);
});
