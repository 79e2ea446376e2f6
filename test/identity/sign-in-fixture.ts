import { newId } from '@parley/protocol/ids.ts';
import type { IdentityProvider } from '@parley/protocol/resources/identity-provider.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { WebSocket } from 'ws';
import { callsAt, startTestApp, type TestApp } from '../support/app.ts';
import { CookieJar, type OidcProvider, prepareOidcProvider } from '../support/oidc-provider.ts';
import type { Teardown } from '../support/teardown.ts';

export interface SignInFixture {
  readonly app: TestApp;
  readonly provider: OidcProvider;
  /** Of the identity provider. */
  readonly id: string;
  /** Of the demo account. */
  readonly client: { readonly id: string; readonly secret: string };
}

export async function startSignIn(
  t: Teardown,
  env: Readonly<Record<string, string>> = {},
): Promise<SignInFixture> {
  const provider = await prepareOidcProvider(t);
  const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1', ...env });
  const client = { id: 'parley', secret: 'a secret of the client that only both know' };
  const { body, text } = await callsAt(app, NEWEST_VERSION).call<IdentityProvider>(
    'POST',
    '/v1/identity-providers',
    {
      body: {
        name: 'Staff',
        issuer: provider.issuer,
        audience: 'https://chat.example.com',
        jwks_url: `${provider.issuer}/jwks`,
        provision: 'first_use',
        role_id: await roleOf(app),
        client_id: client.id,
        client_secret: client.secret,
      },
    },
  );
  const { id } = body;
  if (id === undefined) throw new Error(text);
  await provider.start([
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [callbackOf(app, id)],
      backchannel_logout_uri: `${app.baseUrl}/v1/auth/backchannel-logout`,
      backchannel_logout_session_required: true,
    },
  ]);
  return { app, provider, id, client };
}

/** Adds a provider to which nobody can be sent, whose address no request could name. */
export async function addProvider(
  app: TestApp,
  issuer: string,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const id = newId('identityProvider');
  const { account_id, users } = app.demo;
  const row = { id, account_id, name: 'Staff', issuer, audience: ['unused'], jwks_url: `${issuer}/jwks` };
  await app.database.kysely
    .insertInto('identity_providers')
    .values({
      ...row,
      algorithms: ['RS256'],
      provision: 'first_use',
      role_id: await roleOf(app),
      client_id: 'parley',
      client_secret: 'a secret',
      created_by: users.ada.id,
      ...changes,
    })
    .execute();
  return id;
}

/** Returns the id of the role of members. */
async function roleOf({ database, demo }: TestApp): Promise<string> {
  const { role_id } = await database.kysely
    .selectFrom('actors')
    .select('role_id')
    .where('id', '=', demo.users.grace.id)
    .executeTakeFirstOrThrow();
  return role_id!;
}

export function callbackOf({ baseUrl }: TestApp, id: string): string {
  return `${baseUrl}/v1/auth/sign-in/callback/${id}`;
}

/** Goes from the begin of a sign-in to the address at which the browser comes back. */
export function toCallback({ app, id }: SignInFixture, jar: CookieJar, login: string): Promise<string> {
  const begin = `${app.baseUrl}/v1/auth/sign-in?${new URLSearchParams({ provider: id, return_to: '/docs' })}`;
  return jar.follow(begin, login, (url) => url.href.startsWith(callbackOf(app, id)));
}

/** Signs a person in. Returns the browser. */
export async function signIn(fixture: SignInFixture, login: string): Promise<CookieJar> {
  const jar = new CookieJar();
  await jar.fetch(await toCallback(fixture, jar, login));
  return jar;
}

/** Opens a live socket. `closed` resolves with the code of its end. */
export async function openSocket(t: Teardown, { baseUrl, demo }: TestApp, token: string) {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': VERSION,
    'Service-Account': demo.account_id,
  };
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/realtime`, { headers });
  t.teardown(() => socket.terminate());
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  await new Promise((resolve) => {
    socket.on('message', (data) => JSON.parse(String(data)).type === 'ready' && resolve(undefined));
  });
  return { socket, closed };
}

export const VERSION = '1.2.harbor';

export interface SessionToken {
  readonly access_token: string;
  readonly account_id: string;
  readonly user_id: string;
}

/** Calls the endpoint of the session as a page of the server does. */
export function session(
  { baseUrl }: TestApp,
  jar: CookieJar,
  method = 'POST',
  headers: Record<string, string> = { Origin: new URL(baseUrl).origin },
): Promise<Response> {
  return jar.fetch(`${baseUrl}/v1/auth/session`, { method, headers });
}

export async function tokenFrom(response: Response): Promise<SessionToken> {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as SessionToken;
}
