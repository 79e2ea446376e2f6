/** Tokens and their refresh (docs/contract.md#tokens) over HTTP, on a whole server. */

import { hash, randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { PERMISSIONS } from '@parley/protocol/permissions.ts';
import type { Token } from '@parley/protocol/resources/token.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { createActor } from '../../src/core/accounts/actors/actors.ts';
import { purgeRefreshTokens } from '../../src/core/accounts/sessions/token-pairs.ts';
import { setActive } from '../../src/core/accounts/users/activation.ts';
import { type CallAnswer, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { closed, type Guarded, gatesOf, personWith } from './fixture.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const PATH = '/v1/auth/tokens';
const REFRESH = `${PATH}/refresh`;
const INVALID = '401 invalid_credentials refresh_token';

t.test('a pair: the resource, every field and no other', async (t) => {
  const beforeMs = Date.now();
  const { status, body } = await app.call<Token>('POST', PATH, { body: { user_id: grace.id } });
  t.equal(status, 201);
  const { access_token, refresh_token, expires_at } = body;
  t.strictSame(body, { object: 'token', access_token, refresh_token, expires_at });
  t.match(refresh_token, /^refresh_[\w-]{43}$/);
  const livesS = (Date.parse(expires_at) - beforeMs) / 1_000;
  t.ok(livesS > 890 && livesS < 910, 'the access token: 15 minutes');
  t.equal(await whoHolds(access_token), grace.id);

  const [row] = await rowsOf(grace.id);
  t.ok(row?.hash.equals(hashOf(refresh_token)), 'stored hashed');
  const livesDays = (Date.parse(row!.expires_at) - Date.parse(row!.created_at)) / 86_400_000;
  t.equal(Math.round(livesDays), 30);
});

t.test('refreshing: the next pair of the same actor, and each refresh token once', async (t) => {
  const first = await mint();
  const answer = await refresh(first.refresh_token);
  t.equal(answer.status, 201);
  const { access_token, refresh_token, expires_at } = answer.body;
  t.strictSame(answer.body, { object: 'token', access_token, refresh_token, expires_at });
  t.not(refresh_token, first.refresh_token);
  t.equal(await whoHolds(access_token), grace.id);
  t.equal(await whoHolds(first.access_token), grace.id, 'the access token before lives out its minutes');
  const third = await refreshed(refresh_token);
  t.equal(await whoHolds(third.access_token), grace.id);
});

t.test('a used refresh token that comes again ends its family, and no other', async (t) => {
  const [first, other] = [await mint(), await mint()];
  const second = await refreshed(first.refresh_token);
  const third = await refreshed(second.refresh_token);
  t.equal(refusalOf(await refusal(first.refresh_token)), INVALID, 'used');
  t.equal(refusalOf(await refusal(third.refresh_token)), INVALID, 'the newest of the family, though unused');
  t.equal(refusalOf(await refusal(second.refresh_token)), INVALID);
  t.equal((await refresh(other.refresh_token)).status, 201, 'another log-in of the same user');
});

t.test('it ends the access tokens of the family at once, and the sockets that they opened', async (t) => {
  const [first, other] = [await mint(), await mint()];
  const second = await refreshed(first.refresh_token);
  const ticketed = await app.call<{ ticket: string }>('POST', '/v1/realtime/tickets', {
    token: second.access_token,
    body: {},
  });
  const url = `${app.baseUrl.replace('http', 'ws')}/v1/realtime?version=1.1.harbor&account=${demo.account_id}`;
  const sockets = [
    await readySocket(url, second.access_token),
    await readySocket(`${url}&ticket=${ticketed.body.ticket}`),
  ];
  const untouched = await readySocket(url, other.access_token);
  t.equal(refusalOf(await refusal(first.refresh_token)), INVALID);
  t.strictSame(await Promise.all(sockets.map(({ closed }) => closed)), [4202, 4202]);
  for (const { access_token: token } of [first, second]) {
    const answer = await app.call('GET', '/v1/messaging/notifications', { token });
    t.equal(refusalOf(answer), '401 invalid_credentials null');
  }
  t.equal(await whoHolds(other.access_token), grace.id);
  t.equal(untouched.socket.readyState, WebSocket.OPEN);
  untouched.socket.close();
});

t.test('two uses at once: one pair, and the family ends', async (t) => {
  const { refresh_token } = await mint();
  const answers = await Promise.all([1, 2, 3, 4].map(() => refresh(refresh_token)));
  const won = answers.filter(({ status }) => status === 201);
  t.equal(won.length, 1);
  for (const answer of answers.filter((one) => one !== won[0])) t.equal(refusalOf(answer as never), INVALID);
  t.equal(refusalOf(await refusal(won[0]!.body.refresh_token)), INVALID, 'one of the two was a thief');
});

t.test('a copy that is used while the family is refreshed also revokes the pair being made', async (t) => {
  for (let round = 0; round < 5; round++) {
    const first = await mint();
    const second = await refreshed(first.refresh_token);
    const [stolen, next] = await Promise.all([refresh(first.refresh_token), refresh(second.refresh_token)]);
    t.equal(refusalOf(stolen as never), INVALID);
    if (next.status === 201)
      t.equal(refusalOf(await refusal(next.body.refresh_token)), INVALID, 'made before');
    else t.equal(refusalOf(next as never), INVALID, 'came after');
  }
});

t.test('tokens that are expired, unknown, or of a deactivated user', async (t) => {
  const old = await mint();
  await expire(old.refresh_token, '1 second');
  t.equal(refusalOf(await refusal(old.refresh_token)), '401 expired_token refresh_token');
  const person = await personWith(app, ['messaging:read']);
  const gone = await mint(person.id);
  await database.transaction((tx) => setActive(tx, person.id, false));
  t.equal(refusalOf(await refusal(gone.refresh_token)), INVALID, 'deactivated');

  const unknown = [`refresh_${'x'.repeat(43)}`, 'x', '', old.access_token, demo.api_key];
  const answers = [await refusal(gone.refresh_token), ...(await Promise.all(unknown.map(refusal)))];
  for (const answer of answers) t.equal(refusalOf(answer), INVALID);
  t.equal(new Set(answers.map(({ text }) => text)).size, 1, 'all of them in the same words');
  const asKey = await app.call('GET', '/v1/account', { token: (await mint()).refresh_token });
  t.equal(refusalOf(asKey), '401 invalid_credentials null', 'a refresh token opens nothing else');
});

t.test('refreshing needs no credential and no account, but a version', async (t) => {
  const nobody = { Authorization: undefined, 'Service-Account': undefined };
  const { refresh_token } = await mint();
  const open = await app.call<Token>('POST', REFRESH, { headers: nobody, body: { refresh_token } });
  t.equal(open.status, 201);
  const wrong = { Authorization: 'Bearer nonsense', 'Service-Account': 'acc_none' };
  const body = { refresh_token: open.body.refresh_token };
  const ignored = await app.call<Token>('POST', REFRESH, { headers: wrong, body });
  t.equal(ignored.status, 201, 'what is sent of them is not looked at');

  const next = { refresh_token: ignored.body.refresh_token };
  const cases: [headers: Record<string, string | undefined>, body: object, refusal: string][] = [
    [{ 'Service-Version': undefined }, next, '400 api_version_required Service-Version'],
    [{ 'Service-Version': '1.0.harbor' }, next, '400 api_version_too_old Service-Version'],
    [{}, {}, '400 missing_field refresh_token'],
    [{}, { refresh_token: null }, '400 missing_field refresh_token'],
    [{}, { refresh_token: 1 }, '400 invalid_format refresh_token'],
    [{}, { ...next, user_id: grace.id }, '422 validation_failed user_id'],
  ];
  for (const [headers, body, refusal] of cases) {
    const answer = await app.call('POST', REFRESH, { headers: { ...nobody, ...headers }, body });
    t.equal(refusalOf(answer), refusal);
  }
  t.equal(
    refusalOf(await app.call('POST', `${REFRESH}?user_id=1`, { body: next })),
    '400 parameter_unknown user_id',
  );
  t.equal(refusalOf(await app.call('GET', REFRESH)), '405 method_not_allowed null');
  t.equal((await refresh(next.refresh_token)).status, 201, 'and the token is as good as before');
});

t.test('an Idempotency-Key makes issuing tokens repeatable', async (t) => {
  const headers = { 'Idempotency-Key': randomUUID() };
  const minted = { body: { user_id: grace.id }, headers };
  const made = await app.call<Token>('POST', PATH, minted);
  const madeAgain = await app.call('POST', PATH, minted);
  t.strictSame([madeAgain.status, madeAgain.headers.get('Idempotent-Replayed')], [201, 'true']);
  t.equal(madeAgain.text, made.text);

  // A client that lost the answer repeats the request, which is no second use.
  const use = { body: { refresh_token: made.body.refresh_token }, headers };
  const [first, again] = [await app.call<Token>('POST', REFRESH, use), await app.call('POST', REFRESH, use)];
  t.strictSame([first.status, first.headers.get('Idempotent-Replayed')], [201, null]);
  t.strictSame([again.status, again.headers.get('Idempotent-Replayed')], [201, 'true']);
  t.equal(again.text, first.text);
  const other = await mint();
  const theirs = await app.call('POST', REFRESH, { body: { refresh_token: other.refresh_token }, headers });
  t.equal(theirs.status, 201, 'somebody else who chose the same key is not in its way');

  const stored = await database.kysely
    .selectFrom('idempotency_keys')
    .select(['response', 'encrypted'])
    .execute();
  t.ok(stored.length >= 3);
  t.ok(stored.every(({ encrypted }) => encrypted));
  t.notOk(stored.some(({ response }) => response?.includes('access_token')));

  // The refusal that ends a family is not stored for replays: it is derived from the row.
  t.equal(refusalOf(await refusal(made.body.refresh_token)), INVALID);
  t.equal(
    (await app.call('POST', REFRESH, use)).text,
    first.text,
    'the first answer to the key stays what it was',
  );
  t.equal(refusalOf(await refusal(first.body.refresh_token)), INVALID);
});

t.test('actors that tokens can be made for, and actors that they cannot', async (t) => {
  const admin = { body: { user_id: ada.id }, token: ada.access_token };
  t.equal((await app.call('POST', PATH, admin)).status, 201, 'oneself');
  const gone = await personWith(app, []);
  await database.transaction((tx) => setActive(tx, gone.id, false));
  const nobody: Record<string, string> = {
    absent: newId('actor'),
    deactivated: gone.id,
    'without a role': await withoutRole(),
    'a customer': await actorId({ customer: true }),
    'an agent': demo.agent.actor_id,
    'a key': await actorId({ type: 'api_key' }),
    'a group': await actorId({ type: 'group' }),
    "another account's": await theirs(),
  };
  const texts = new Set<string>();
  for (const [who, user_id] of Object.entries(nobody)) {
    const answer = await app.call('POST', PATH, { body: { user_id } });
    t.equal(refusalOf(answer), '404 resource_not_found user_id', who);
    texts.add(answer.text);
  }
  t.equal(texts.size, 1, 'byte for byte the same');
  const cases: [body: object, refusal: string][] = [
    [{}, '400 missing_field user_id'],
    [{ user_id: 1 }, '400 invalid_format user_id'],
    [{ user_id: 'a'.repeat(65) }, '422 validation_failed user_id'],
    [{ user_id: grace.id, ttl: 1 }, '422 validation_failed ttl'],
  ];
  for (const [body, refusal] of cases) {
    t.equal(refusalOf(await app.call('POST', PATH, { body })), refusal, JSON.stringify(body).slice(0, 60));
  }
});

t.test('callers cannot make tokens for a user with more permissions', async (t) => {
  const mints = async (token: string, user_id: string) => {
    const answer = await app.call('POST', PATH, { token, body: { user_id } });
    return answer.status === 201 ? 'made' : refusalOf(answer);
  };
  const forbidden = '403 insufficient_permissions null';
  const desk = await personWith(app, ['tokens:create', 'messaging:read']);
  t.equal(await mints(desk.token, vera.id), 'made');
  t.equal(await mints(desk.token, desk.id), 'made');
  t.equal(await mints(desk.token, grace.id), forbidden);
  t.equal(await mints(desk.token, ada.id), forbidden);
  const everything = await personWith(app, PERMISSIONS);
  t.equal(await mints(everything.token, grace.id), 'made');
  t.equal(await mints(everything.token, ada.id), forbidden, 'an admin holds more than all permissions');
});

t.test('issuing tokens requires its permission', async (t) => {
  const route: Guarded = { method: 'POST', path: PATH, body: {}, permission: 'tokens:create', agents: false };
  t.strictSame(await gatesOf(app, route), closed(route));
});

t.test('only tokens that expired long ago are deleted', async (t) => {
  const [fresh, recent, ancient] = [await mint(vera.id), await mint(vera.id), await mint(vera.id)];
  await expire(recent.refresh_token, '6 days');
  await expire(ancient.refresh_token, '8 days');
  t.equal(await purgeRefreshTokens(database), 1);
  t.equal(await purgeRefreshTokens(database), 0);
  t.equal(refusalOf(await refusal(ancient.refresh_token)), INVALID);
  t.equal(refusalOf(await refusal(recent.refresh_token)), '401 expired_token refresh_token');
  t.equal((await refresh(fresh.refresh_token)).status, 201);
});

async function mint(userId = grace.id): Promise<Token> {
  const { status, text, body } = await app.call<Token>('POST', PATH, { body: { user_id: userId } });
  if (status !== 201) throw new Error(text);
  return body;
}

function refresh(refreshToken: string): Promise<CallAnswer<Token>> {
  return app.call<Token>('POST', REFRESH, { body: { refresh_token: refreshToken } });
}

function refusal(refreshToken: string): Promise<CallAnswer<Refusal>> {
  return app.call('POST', REFRESH, { body: { refresh_token: refreshToken } });
}

async function refreshed(refreshToken: string): Promise<Token> {
  const { status, text, body } = await refresh(refreshToken);
  if (status !== 201) throw new Error(text);
  return body;
}

/** Whom the server takes the bearer for: the author of what it sends. */
async function whoHolds(token: string): Promise<string | undefined> {
  const path = `/v1/messaging/conversations/${demo.conversations.group}/messages?include[]=author`;
  const body = { body: 'It is me', client_message_id: randomUUID() };
  const answer = await app.call<{ author: { id: string } }>('POST', path, { token, body });
  return answer.body.author?.id;
}

function rowsOf(actorId: string) {
  return database.kysely.selectFrom('refresh_tokens').selectAll().where('actor_id', '=', actorId).execute();
}

async function expire(refreshToken: string, ago: string): Promise<void> {
  await database.query(
    {
      name: 'test-expire-refresh-token',
      text: 'UPDATE refresh_tokens SET expires_at = clock_timestamp() - $2::interval WHERE hash = $1',
    },
    hashOf(refreshToken),
    ago,
  );
}

function hashOf(refreshToken: string): Buffer {
  return hash('sha256', refreshToken, 'buffer');
}

async function withoutRole(): Promise<string> {
  const { id } = await personWith(app, []);
  await database.kysely.updateTable('actors').set({ role_id: null }).where('id', '=', id).execute();
  return id;
}

async function actorId(wanted: { customer?: true; type?: 'api_key' | 'group' }): Promise<string> {
  const { customer = false, type = 'user' } = wanted;
  const { id } = await database.kysely
    .selectFrom('actors')
    .select('id')
    .where('account_id', '=', demo.account_id)
    .where('type', '=', type)
    .where('customer', '=', customer)
    .limit(1)
    .executeTakeFirstOrThrow();
  return id;
}

/** A user of the other account. */
async function theirs(): Promise<string> {
  const account_id = demo.other_account.account_id;
  const { id } = await createActor(database, { account_id, type: 'user', name: 'Neighbour' });
  await database.kysely
    .insertInto('users')
    .values({ id, account_id, email: 'neighbour@example.com' })
    .execute();
  return id;
}

/** A socket that is past `ready`; `closed` resolves with its close code. */
async function readySocket(url: string, token?: string) {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const socket = new WebSocket(url, { headers });
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (data) => {
      if (JSON.parse(String(data)).type === 'ready') resolve();
    });
  });
  return { socket, closed };
}
