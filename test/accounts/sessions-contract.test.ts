/** Sessions of users (docs/contract.md#sessions) over HTTP and on open sockets of two nodes. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Permission } from '@parley/protocol/permissions.ts';
import type { EndedSessions, Session } from '@parley/protocol/resources/session.ts';
import type { Token } from '@parley/protocol/resources/token.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { callsAt, startTestApp } from '../support/app.ts';
import { startNode } from '../support/node.ts';
import { startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { type Person, personWith, TIME, walk } from './fixture.ts';

const redis = await startRedis(t);
const VERSION = '1.2.harbor';
const app = await startTestApp(t, { REDIS_URL: redis.url });
const { call, refusal } = callsAt(app, VERSION);
const { demo } = app;
const other = await startNode(t, { databaseUrl: app.databaseUrl, redisUrl: redis.url });
const MINE = '/v1/me/sessions';
const ABSENT = '404 resource_not_found session_id';
const ENDED = '401 invalid_credentials null';

t.test('a session: the resource, every field and no other', async (t) => {
  const { person, token } = await signedIn();
  const page = await list(MINE, token.access_token);
  const [session] = page;
  t.strictSame(page, [
    {
      id: session!.id,
      object: 'session',
      user_id: person.id,
      is_current: true,
      last_used_at: session!.last_used_at,
      expires_at: session!.expires_at,
      created_at: session!.created_at,
    },
  ]);
  t.match(session!.id, /^ses_\w{24}$/);
  const byId = await call('GET', `${MINE}/${session!.id}`, { token: token.access_token });
  t.strictSame([byId.status, byId.body], [200, session]);
  const ofUser = await call('GET', `/v1/users/${person.id}/sessions/${session!.id}`);
  t.strictSame(ofUser.body, { ...session, is_current: false });
  t.equal(await refusal('GET', `${MINE}/${session!.id}`), ABSENT, 'it is not of the caller');
  for (const at of [session!.created_at, session!.last_used_at, session!.expires_at]) t.match(at, TIME);

  const next = await refresh(token);
  const [later] = await list(MINE, next.access_token);
  t.strictSame([later!.id, later!.created_at, later!.is_current], [session!.id, session!.created_at, true]);
  t.ok(later!.last_used_at > session!.last_used_at && later!.expires_at > session!.expires_at, 'used again');
  t.strictSame(await list(MINE, demo.api_key), [], 'a key has none');
});

t.test('lists in pages, the one that was used last first', async (t) => {
  const person = await personWith(app, []);
  const tokens: Token[] = [];
  for (let n = 0; n < 5; n++) tokens.push(await signIn(person));
  await refresh(tokens[0]!);
  const path = `/v1/users/${person.id}/sessions`;
  const ids = (await list(path)).map(({ id }) => id);
  t.strictSame(
    ids,
    (await list(MINE, tokens[1]!.access_token)).map(({ id }) => id),
  );
  const [current] = (await list(MINE, tokens[0]!.access_token)).filter(({ is_current }) => is_current);
  t.equal(current?.id, ids[0]);
  const walked = { ...app, call: (method: string, at: string) => call(method, at) } as unknown as typeof app;
  t.strictSame(await walk(walked, `${path}?limit=2`), { forth: ids, back: ids });
  t.equal(await refusal('GET', `${path}?limit=0`), '400 parameter_invalid limit');
  t.equal(await refusal('GET', `${path}?q=x`), '400 parameter_unknown q');
});

t.test('a session that is ended: its tokens, its tickets and its sockets, on every node', async (t) => {
  const { person, token } = await signedIn();
  const kept = await signIn(person);
  const [here, there, stays] = await Promise.all([
    open(app.baseUrl, token.access_token),
    open(other.baseUrl, token.access_token),
    open(other.baseUrl, kept.access_token),
  ]);
  const { body: ticket } = await call<{ ticket: string }>('POST', '/v1/realtime/tickets', {
    token: token.access_token,
    body: {},
  });
  const { id } = (await list(MINE, token.access_token)).find(({ is_current }) => is_current)!;
  const ended = await call<Session>('DELETE', `${MINE}/${id}`, { token: token.access_token });
  t.strictSame([ended.status, ended.body.id, ended.body.is_current], [200, id, true]);
  t.strictSame(await Promise.all([here.closed, there.closed]), [4202, 4202], 'sockets of both nodes');
  t.equal(await refusal('GET', '/v1/me', { token: token.access_token }), ENDED, 'the access token');
  const again = { body: { refresh_token: token.refresh_token } };
  t.equal(await refusal('POST', '/v1/auth/tokens/refresh', again), '401 invalid_credentials refresh_token');
  const late = new WebSocket(
    `${app.baseUrl.replace('http', 'ws')}/v1/realtime?ticket=${ticket.ticket}&version=${VERSION}&account=${demo.account_id}`,
  );
  t.equal(
    await new Promise((resolve) => late.on('error', () => resolve('refused'))),
    'refused',
    'its ticket',
  );
  t.equal(stays.socket.readyState, WebSocket.OPEN, 'another session of the same user goes on');
  t.equal((await list(MINE, kept.access_token)).length, 1);
  t.equal(await refusal('DELETE', `${MINE}/${id}`, { token: kept.access_token }), ABSENT, 'once');
});

t.test('a user that loses a permission loses what sockets of another node follow', async (t) => {
  const person = await personWith(app, ['messaging:read']);
  const { body } = await call<{ id: string }>('POST', '/v1/messaging/conversations', {
    body: { type: 'group', participants: [{ type: 'user', actor_id: person.id }] },
  });
  const { socket } = await open(other.baseUrl, person.token);
  const frames: { readonly type: string; readonly reason?: string }[] = [];
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  socket.send(JSON.stringify({ type: 'subscribe', id: '1', conversation_id: body.id }));
  const received = (type: string, reason?: string) =>
    until(() => frames.some((frame) => frame.type === type && frame.reason === reason), {
      what: type,
      timeoutMs: 60_000,
    });
  await received('caught_up');
  const { status } = await call('PATCH', `/v1/roles/${person.roleId}`, { body: { permissions: [] } });
  t.equal(status, 200);
  await received('resync', 'revoked');
});

t.test('all other sessions of the caller, and all of a user', async (t) => {
  const { person, token } = await signedIn();
  const others = [await signIn(person), await signIn(person)];
  const sockets = await Promise.all(others.map(({ access_token }) => open(other.baseUrl, access_token)));
  const options = { token: token.access_token, headers: { 'Idempotency-Key': randomUUID() } };
  const ended = await call<EndedSessions>('DELETE', MINE, options);
  t.strictSame(ended.body, { object: 'ended_sessions', count: 2 });
  t.strictSame(await Promise.all(sockets.map(({ closed }) => closed)), [4202, 4202]);
  const again = await call('DELETE', MINE, options);
  t.strictSame([again.text, again.headers.get('Idempotent-Replayed')], [ended.text, 'true']);
  t.equal((await list(MINE, token.access_token)).length, 1, 'its own stays');
  const all = await call<EndedSessions>('DELETE', `/v1/users/${person.id}/sessions`);
  t.strictSame(all.body, { object: 'ended_sessions', count: 1 });
  await until(async () => (await refusal('GET', '/v1/me', { token: token.access_token })) === ENDED, {
    what: 'the end of the token',
    timeoutMs: 60_000,
  });
  t.strictSame((await call<EndedSessions>('DELETE', `/v1/users/${person.id}/sessions`)).body.count, 0);
});

t.test('a refresh at the same moment makes no token that survives', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { token } = await signedIn();
    const [session] = await list(MINE, token.access_token);
    const [next] = await Promise.all([
      call<Token>('POST', '/v1/auth/tokens/refresh', { body: { refresh_token: token.refresh_token } }),
      call('DELETE', `/v1/users/${session!.user_id}/sessions/${session!.id}`),
    ]);
    if (next.status !== 201) continue;
    const survived = { body: { refresh_token: next.body.refresh_token } };
    t.equal(
      await refusal('POST', '/v1/auth/tokens/refresh', survived),
      '401 invalid_credentials refresh_token',
    );
  }
});

t.test('permissions: one’s own, and those of users with no more rights', async (t) => {
  const { person, token } = await signedIn(['messaging:read']);
  const path = `/v1/users/${person.id}/sessions`;
  const [session] = await list(path);
  const reader = { token: (await personWith(app, ['users:read'])).token };
  const manager = { token: (await personWith(app, ['users:update', 'messaging:read'])).token };
  const lesser = { token: (await personWith(app, ['users:update'])).token };
  const FORBIDDEN = '403 insufficient_permissions null';
  t.equal(await refusal('GET', path, reader), '200');
  t.equal(await refusal('GET', path, manager), FORBIDDEN);
  for (const at of [path, `${path}/${session!.id}`]) {
    t.equal(await refusal('DELETE', at, reader), FORBIDDEN);
    t.equal(await refusal('DELETE', at, lesser), FORBIDDEN, 'a user with more');
  }
  const stranger = await signedIn();
  const theirs = { token: stranger.token.access_token };
  t.equal(await refusal('DELETE', `${MINE}/${session!.id}`, theirs), ABSENT, "somebody else's");
  const wrong = `/v1/users/${stranger.person.id}/sessions/${session!.id}`;
  t.equal(await refusal('DELETE', wrong), ABSENT, 'of another user');
  for (const id of [newId('actor'), demo.agent.actor_id]) {
    t.equal(await refusal('GET', `/v1/users/${id}/sessions`), '404 resource_not_found id');
    t.equal(await refusal('DELETE', `/v1/users/${id}/sessions`), '404 resource_not_found id');
  }
  t.equal(await refusal('DELETE', `${path}/${session!.id}`, manager), '200');
  await until(async () => (await refusal('GET', '/v1/me', { token: token.access_token })) === ENDED, {
    what: 'the end of the session',
    timeoutMs: 60_000,
  });
  for (const [method, at] of [
    ['GET', MINE],
    ['DELETE', MINE],
    ['GET', path],
  ] as const) {
    t.equal(await refusal(method, at, { token: demo.customer.access_token }), FORBIDDEN, 'customers');
  }
});

async function signedIn(permissions: readonly Permission[] = []) {
  const person = await personWith(app, permissions);
  return { person, token: await signIn(person) };
}

async function signIn({ id }: Person): Promise<Token> {
  return (await call<Token>('POST', '/v1/auth/tokens', { body: { user_id: id } })).body;
}

async function refresh({ refresh_token }: Token): Promise<Token> {
  return (await call<Token>('POST', '/v1/auth/tokens/refresh', { body: { refresh_token } })).body;
}

async function list(path: string, token = demo.api_key): Promise<readonly Session[]> {
  return (await call<List<Session>>('GET', path, { token })).body.data;
}

async function open(baseUrl: string, token: string) {
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
