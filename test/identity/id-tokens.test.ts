/** Sign-in at a provider with arbitrary answers: only a proper ID token begins a session. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import t from 'tap';
import { startTestApp } from '../support/app.ts';
import { CookieJar } from '../support/oidc-provider.ts';
import { addProvider, callbackOf } from './sign-in-fixture.ts';

const COOKIE = '__Host-parley_session';
const CLIENT = 'parley';
const SECRET = 'a secret of at least thirty-two characters';
const NO_PROOF = '403 What the identity provider answered proves no sign-in.';

type Answer = (nonce: string) => Promise<object> | object;

const rsa = await generateKeyPair('RS256', { extractable: true });
const other = await generateKeyPair('RS256', { extractable: true });
const ec = await generateKeyPair('ES256', { extractable: true });
const keys = [
  { ...(await exportJWK(rsa.publicKey)), kid: 'rsa', alg: 'RS256', use: 'sig' },
  { ...(await exportJWK(ec.publicKey)), kid: 'ec', alg: 'ES256', use: 'sig' },
];

/** Answers of the token endpoint, by code. */
const answers = new Map<string, { readonly answer: Answer; readonly nonce: string }>();
/** Members of the discovery document that a test replaces. */
let discovered: Readonly<Record<string, unknown>> = {};
const server = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  const json = (body: unknown, status = 200, headers = {}) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
  if (request.url === '/.well-known/openid-configuration') {
    json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      ...discovered,
    });
  } else if (request.url === '/jwks') json({ keys });
  else if (request.url === '/userinfo') json({ sub: userinfoSub, name: 'Paula', email: 'paula@example.com' });
  else if (request.url === '/token') {
    const form = new URLSearchParams(text);
    const asked = answers.get(form.get('code') ?? '');
    if (form.get('client_secret') !== SECRET || form.get('code_verifier') === null || asked === undefined) {
      json({ error: 'invalid_grant' }, 400);
    } else json(await asked.answer(asked.nonce));
  } else json({}, 404);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
t.teardown(() => server.close());
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
let userinfoSub = 'paula';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
let id = await addProvider(app, issuer, { client_secret: SECRET });

/** Signs in with this answer to the code. Returns the status, and the sentence of a refusal. */
async function outcome(answer: Answer, query: Record<string, string> = {}): Promise<string> {
  const jar = new CookieJar();
  const begun = await jar.fetch(`${app.baseUrl}/v1/auth/sign-in?provider=${id}`);
  if (begun.status !== 302) return sentence(begun);
  const { searchParams } = new URL(begun.headers.get('Location')!);
  const code = crypto.randomUUID();
  answers.set(code, { answer, nonce: searchParams.get('nonce')! });
  const back = new URLSearchParams({ code, state: searchParams.get('state')!, ...query });
  const ended = await jar.fetch(`${callbackOf(app, id)}?${back}`);
  t.equal(
    jar.get(app.baseUrl, COOKIE) !== undefined,
    ended.status === 303,
    'a session exactly if it succeeds',
  );
  return ended.status === 303 ? '303' : sentence(ended);
}

async function sentence(answer: Response): Promise<string> {
  return `${answer.status} ${/<p role="alert">([^<]*)/.exec(await answer.text())?.[1]}`;
}

const now = () => Math.floor(Date.now() / 1_000);

/** Undefined leaves a claim out. */
type Changes = { readonly [Name in keyof JWTPayload]: JWTPayload[Name] | undefined };

function claims(nonce: string, more: Changes = {}): JWTPayload {
  const payload = { iss: issuer, aud: CLIENT, sub: 'paula', iat: now(), exp: now() + 300, nonce, ...more };
  return payload as JWTPayload;
}

/** An answer with an ID token that differs in these claims. */
function claiming(more: Changes, sign = signed): Answer {
  return async (nonce) => tokens(await sign(claims(nonce, more)));
}

const signed = (payload: JWTPayload) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'rsa' }).sign(rsa.privateKey);

function tokens(idToken: string | undefined): object {
  return { access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token: idToken };
}

t.test('a proper one, with the profile that the ID token lacks', async (t) => {
  t.equal(await outcome(claiming({})), '303');
  const people = await app.database.kysely
    .selectFrom('users')
    .innerJoin('actors', 'actors.id', 'users.id')
    .select(['actors.name', 'users.email'])
    .where('users.email', '=', 'paula@example.com')
    .execute();
  t.strictSame(people, [{ name: 'Paula', email: 'paula@example.com' }]);
  t.equal(
    await outcome(
      claiming({}, (payload) =>
        new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'ec' }).sign(ec.privateKey),
      ),
    ),
    '403 The ID token is signed in a way that this identity provider may not use.',
  );
});

t.test('no e-mail address joins a person that is there', async (t) => {
  const { email } = await app.database.kysely
    .selectFrom('users')
    .select('email')
    .where('id', '=', app.demo.users.ada.id)
    .executeTakeFirstOrThrow();
  t.equal(await outcome(claiming({ sub: 'ada', name: 'Ada', email, email_verified: true })), '303');
  const rows = await app.database.kysely
    .selectFrom('sign_ins')
    .select('actor_id')
    .where('subject', '=', 'ada')
    .execute();
  t.equal(rows.length, 1);
  t.not(rows[0]!.actor_id, app.demo.users.ada.id);
});

t.test('hostile ID tokens', async (t) => {
  const tampered = async (nonce: string) => {
    const [head, , signature] = (await signed(claims(nonce))).split('.');
    const body = Buffer.from(JSON.stringify(claims(nonce, { sub: 'root' }))).toString('base64url');
    return tokens(`${head}.${body}.${signature}`);
  };
  const cases: Readonly<Record<string, Answer>> = {
    'another nonce': claiming({ nonce: 'another' }),
    'no nonce': claiming({ nonce: undefined }),
    'another issuer': claiming({ iss: 'https://evil.example' }),
    'an issuer with a slash more': claiming({ iss: `${issuer}/` }),
    'another audience': claiming({ aud: 'other' }),
    'another party': claiming({ aud: [CLIENT, 'other'], azp: 'other' }),
    'several audiences without a party': claiming({ aud: [CLIENT, 'other'] }),
    expired: claiming({ exp: now() - 120 }),
    'no end': claiming({ exp: undefined }),
    'no time': claiming({ iat: undefined }),
    'not valid yet': claiming({ nbf: now() + 600 }),
    'no subject': claiming({ sub: undefined }),
    'no signature': claiming({}, async (payload) => new UnsecuredJWT(payload).encode()),
    'another key': claiming({}, (payload) =>
      new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'rsa' }).sign(other.privateKey),
    ),
    'an unknown key': claiming({}, (payload) =>
      new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'evil' }).sign(other.privateKey),
    ),
    'its own key': claiming({}, async (payload) =>
      new SignJWT(payload)
        .setProtectedHeader({ alg: 'RS256', jwk: await exportJWK(other.publicKey) })
        .sign(other.privateKey),
    ),
    'the secret of the client as the key': claiming({}, (payload) =>
      new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(SECRET)),
    ),
    'the public key as a secret': claiming({}, async (payload) =>
      new SignJWT(payload)
        .setProtectedHeader({ alg: 'HS256', kid: 'rsa' })
        .sign(Buffer.from(JSON.stringify(keys[0]))),
    ),
    'changed afterwards': tampered,
    'no ID token': () => tokens(undefined),
    'an ID token that is none': () => tokens('x.y.z'),
    'no access token': async (nonce) => ({ id_token: await signed(claims(nonce)) }),
  };
  for (const [what, answer] of Object.entries(cases)) t.equal(await outcome(answer), NO_PROOF, what);
  t.equal(await outcome(claiming({ iat: now() + 3_600 })), '403 The ID token is not valid yet.');
  t.equal(await outcome(claiming({ iat: now() + 30 })), '303', 'a clock that is ahead by less than a minute');
  t.equal(await outcome(claiming({ events: {} })), '403 A token about events is no sign-in.');
  const BAD_SUBJECT = '403 Staff knows you, but you have no access here. Ask an admin.';
  for (const sub of ['x'.repeat(256), 'a\u0000b', 'a\nb']) {
    t.equal(await outcome(claiming({ sub, name: 'N', email: 'n@example.com' })), BAD_SUBJECT);
  }
  t.equal(
    await outcome(claiming({}), { iss: 'https://evil.example' }),
    NO_PROOF,
    'another issuer in the address',
  );
  userinfoSub = 'somebody';
  t.equal(await outcome(claiming({ sub: 'paul' })), NO_PROOF, 'the profile of another person');
  userinfoSub = 'paula';
});

t.test('discovery documents that lead elsewhere', async (t) => {
  const UNREACHED = '502 Staff cannot be reached, or is not set up for this server.';
  const cases: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'another issuer': { issuer: 'https://evil.example' },
    'no authorization endpoint': { authorization_endpoint: undefined },
    'one that is a script': { authorization_endpoint: 'javascript:alert(1)' },
  };
  for (const [what, document] of Object.entries(cases)) {
    discovered = document;
    await app.database.kysely.deleteFrom('identity_providers').where('id', '=', id).execute();
    id = await addProvider(app, issuer, { client_secret: SECRET });
    t.equal(await outcome(claiming({})), UNREACHED, what);
  }
  discovered = { token_endpoint: 'http://10.0.0.1/token', jwks_uri: 'http://169.254.169.254/keys' };
  await app.database.kysely.deleteFrom('identity_providers').where('id', '=', id).execute();
  id = await addProvider(app, issuer, { client_secret: SECRET });
  t.equal(await outcome(claiming({})), UNREACHED, 'addresses that may not be asked');
});

t.test('a provider that makes no persons, and persons by their external id', async (t) => {
  discovered = {};
  await app.database.kysely.deleteFrom('identity_providers').where('id', '=', id).execute();
  id = await addProvider(app, issuer, { client_secret: SECRET, provision: 'off', role_id: null });
  t.equal(
    await outcome(claiming({ sub: 'new' })),
    '403 Staff knows you, but you have no access here. Ask an admin.',
  );
  t.equal(await outcome(claiming({})), '303', 'a person of before');
  await app.database.kysely.deleteFrom('identity_providers').where('id', '=', id).execute();
  id = await addProvider(app, issuer, {
    client_secret: SECRET,
    provision: 'off',
    role_id: null,
    subject: 'external_id',
  });
  const { ada } = app.demo.users;
  await app.database.kysely
    .updateTable('actors')
    .set({ external_id: 'ada-7' })
    .where('id', '=', ada.id)
    .execute();
  t.equal(await outcome(claiming({ sub: 'ada-7' })), '303');
  const [row] = await app.database.kysely
    .selectFrom('sign_ins')
    .select('actor_id')
    .where('subject', '=', 'ada-7')
    .execute();
  t.equal(row!.actor_id, ada.id);
});
