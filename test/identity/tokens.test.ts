/**
 * Tokens of identity providers as credentials (docs/contract.md#identity-providers), on two nodes.
 */

import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import {
  ACCESS_TOKEN_TYPE,
  type ExchangedToken,
  JWT_TYPE,
  type RealtimeTicket,
  TOKEN_EXCHANGE,
} from '@parley/protocol/resources/token.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { personWith } from '../accounts/fixture.ts';
import { StreamClient } from '../support/answer-clients.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { startNode } from '../support/node.ts';
import { startRedis } from '../support/redis.ts';
import { type Claims, TokenIssuer } from '../support/token-issuer.ts';
import { until } from '../support/until.ts';
import { AUDIENCE, provide } from './fixture.ts';

const redis = await startRedis(t);
const app = await startTestApp(t, { REDIS_URL: redis.url, PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { demo, database } = app;
const other = await startNode(t, {
  databaseUrl: app.databaseUrl,
  redisUrl: redis.url,
  env: { PARLEY_FETCH_ALLOW: '127.0.0.1' },
});
const { call: callElsewhere } = callsAt({ ...app, baseUrl: other.baseUrl }, NEWEST_VERSION);
const INVALID = '401 invalid_credentials null';
const role = await database.transaction((tx) =>
  createRole(tx, {
    accountId: demo.account_id,
    name: 'Provided',
    permissions: ['messaging:read', 'messaging:create'],
  }),
);
const team = { provision: 'first_use', role_id: role.id } as const;

t.test('a user comes by a token: over REST, a frame, a ticket, a stream and a poll', async (t) => {
  const { issuer } = await provided(t, team);
  const token = issuer.token({ ...of(issuer, 'u-1'), name: ' Grace\nHopper ', email: 'Grace@Navy.example' });
  const me = await call<Me>('GET', '/v1/me', { token });
  t.equal(me.status, 200, me.text);
  const { user, permissions } = me.body;
  t.strictSame(
    [user?.name, user?.email, user?.role_id, permissions],
    ['Grace Hopper', 'grace@navy.example', role.id, ['messaging:read', 'messaging:create']],
  );
  const again = issuer.token({ ...of(issuer, 'u-1'), name: 'Another' }, { key: issuer.keys[1]! });
  t.equal((await call<Me>('GET', '/v1/me', { token: again })).body.user?.id, user?.id, 'issuer and subject');
  t.equal((await call<Me>('GET', '/v1/me', { token: again })).body.user?.name, 'Grace Hopper');

  t.equal((await framed(token)).actor?.id, user?.id, 'an authenticate frame');
  const refusedFrame = await framed(token, '');
  t.equal(refusedFrame.error?.param, 'account', 'a frame names the account');
  t.equal((await framed(token, demo.other_account.account_id)).error?.code, 'invalid_credentials');
  const upgraded = await greeted(
    new WebSocket(`${socketUrl(app.baseUrl)}?account=${demo.account_id}&version=${NEWEST_VERSION}`, {
      headers: { Authorization: `Bearer ${token}` },
    }),
  );
  t.equal(upgraded.actor?.id, user?.id, 'an upgrade with ?account=');
  const { body } = await call<RealtimeTicket>('POST', '/v1/realtime/tickets', { token, body: {} });
  const ticketed = await greeted(
    new WebSocket(`${socketUrl(other.baseUrl)}?ticket=${body.ticket}&version=${NEWEST_VERSION}`),
  );
  t.equal(ticketed.actor?.id, user?.id, 'a ticket, on another node');
  const polled = await call('POST', '/v1/realtime/poll', { token, body: { wait_ms: 0 } });
  t.equal(polled.status, 200, polled.text);
  const stream = streamOf(token);
  t.match(await stream.frame('ready'), { actor: { id: user?.id } });
  stream.close();
});

t.test('what is refused says what is wrong', async (t) => {
  const { issuer } = await provided(t, team);
  const nowS = Math.floor(Date.now() / 1_000);
  const ask = async (claims: Claims, headers: Record<string, string | undefined> = {}) => {
    const { status, body } = await call('GET', '/v1/me', {
      token: issuer.token({ ...of(issuer, 'x'), ...claims }),
      headers,
    });
    return `${status} ${body.error?.code} ${body.error?.message}`;
  };
  t.match(await ask({ exp: nowS - 70 }), /^401 expired_token The token has expired/);
  t.match(await ask({ aud: 'x' }), /^401 invalid_credentials The token is for another audience/);
  t.match(await ask({ iat: nowS + 90 }), /^401 invalid_credentials The token is not valid yet/);
  t.match(await ask({ iss: 'https://x.example' }), /^401 .* no identity provider with the issuer/);
  t.match(await ask({}, { 'Service-Account': undefined }), /^400 parameter_missing/);
  t.match(
    await ask({}, { 'Service-Account': demo.other_account.account_id }),
    /^401 .* no identity provider/,
  );
});

t.test('each of two accounts has its own provider of an issuer, with its own audience', async (t) => {
  const { issuer } = await provided(t, team);
  const theirs = { 'Service-Account': demo.other_account.account_id };
  const made = await call('POST', '/v1/identity-providers', {
    token: demo.other_account.api_key,
    headers: theirs,
    body: {
      name: 'Theirs',
      issuer: issuer.origin,
      audience: ['theirs'],
      jwks_url: issuer.keysUrl,
      person: 'customer',
      provision: 'first_use',
    },
  });
  t.equal(made.status, 201, made.text);
  const [ours, others] = [issuer.token(of(issuer, 'p')), issuer.token({ ...of(issuer, 'p'), aud: 'theirs' })];
  const list = '/v1/messaging/conversations';
  t.strictSame(
    [
      await refusal('GET', list, { token: ours }),
      await refusal('GET', list, { token: others, headers: theirs }),
      await refusal('GET', list, { token: others }),
      await refusal('GET', list, { token: ours, headers: theirs }),
    ],
    ['200', '200', INVALID, INVALID],
  );
});

t.test('an e-mail address joins no one', async (t) => {
  const person = await personWith(app, []);
  const [known] = await database.kysely
    .selectFrom('users')
    .select('email')
    .where('id', '=', person.id)
    .execute();
  const { issuer } = await provided(t, team);
  const me = await call<Me>('GET', '/v1/me', {
    token: issuer.token({ ...of(issuer, 'e'), email: known!.email }),
  });
  t.not(me.body.user?.id, person.id);
  t.equal(me.body.user?.email, null);
  const addressWith = async (email_verified: unknown, n: number) => {
    const claims = { ...of(issuer, `verified-${n}`), email: `new-${n}@navy.example` };
    const token = issuer.token(email_verified === undefined ? claims : { ...claims, email_verified });
    return (await call<Me>('GET', '/v1/me', { token })).body.user?.email;
  };
  for (const [n, value] of [undefined, true, 'true'].entries()) {
    t.equal(await addressWith(value, n), `new-${n}@navy.example`, String(value));
  }
  const others = [false, 'false', 'True', 'yes', '', 1, 0, null, [true], { verified: true }];
  for (const [n, value] of others.entries()) {
    t.equal(await addressWith(value, 100 + n), null, JSON.stringify(value));
  }
  const { issuer: shop } = await provided(t, { person: 'customer', provision: 'first_use' });
  const token = shop.token({ ...of(shop, 'g'), email: 'c@example.com' });
  t.equal(await refusal('GET', '/v1/messaging/conversations', { token }), '200');
  const handles = await database.kysely
    .selectFrom('actors')
    .select('handle')
    .where('handle', '=', 'c@example.com')
    .execute();
  t.strictSame(handles, [], 'mail does not find a customer by what its token says');
});

t.test('one row under 50 at once, by tokens and by the external id', async (t) => {
  for (const subject of ['own', 'external_id'] as const) {
    const { issuer } = await provided(t, { ...team, subject });
    const tokens = Array.from({ length: 50 }, (_, n) =>
      issuer.token({ ...of(issuer, `many-${subject}`), jti: String(n) }),
    );
    const put = (_: string, n: number) =>
      (n % 2 === 0 ? call : callElsewhere)<User>('PUT', `/v1/users/ext:many-${subject}`, {
        body: { name: 'Put', email: 'put@navy.example', role_id: role.id },
      });
    const [answers, puts = []] = await Promise.all([
      Promise.all(tokens.map((token) => call<Me>('GET', '/v1/me', { token }))),
      subject === 'external_id' ? Promise.all(tokens.map(put)) : undefined,
    ]);
    t.strictSame([...new Set(answers.map(({ status }) => status))], [200]);
    t.equal(new Set(answers.map(({ body }) => body.actor.id)).size, 1, subject);
    const rows = await database.kysely
      .selectFrom('actors')
      .select('id')
      .where('external_id', '=', `many-${subject}`)
      .execute();
    t.equal(rows.length, subject === 'own' ? 0 : 1);
    for (const { status, body, text } of puts) {
      t.ok(status === 200 || status === 201, `${status} ${text}`);
      t.match(body, { id: rows[0]!.id, email: 'put@navy.example' }, 'a user without an address gets it');
    }
  }
});

t.test('with provision off, only people who are there come', async (t) => {
  const person = await personWith(app, ['messaging:read']);
  await database.kysely
    .updateTable('actors')
    .set({ external_id: 'there' })
    .where('id', '=', person.id)
    .execute();
  const { issuer } = await provided(t, { subject: 'external_id' });
  const me = await call<Me>('GET', '/v1/me', { token: issuer.token(of(issuer, 'there')) });
  t.equal(me.body.user?.id, person.id);
  t.equal(await refusal('GET', '/v1/me', { token: issuer.token(of(issuer, 'absent')) }), INVALID);
});

t.test(
  'rights end within a second: the person, the provider, its keys, all that was signed in with',
  async (t) => {
    const ways: Readonly<Record<string, (userId: string, providerId: string) => Promise<string>>> = {
      'a deactivated person': (id) => refusal('POST', `/v1/users/${id}/actions/deactivate`),
      'an erased person': (id) =>
        refusal('POST', `/v1/users/${id}/actions/erase`, { body: { messages: 'keep' } }),
      'ended sessions': (id) => refusal('POST', `/v1/users/${id}/actions/end-sessions`),
      'a deleted provider': (_, id) => refusal('DELETE', `/v1/identity-providers/${id}`),
      'another audience': (_, id) =>
        refusal('PATCH', `/v1/identity-providers/${id}`, { body: { audience: 'x' } }),
    };
    for (const [name, end] of Object.entries(ways)) {
      const { issuer, provider } = await provided(t, team);
      const token = issuer.token(of(issuer, 'ending'));
      const { body } = await call<Me>('GET', '/v1/me', { token });
      const exchanged = await exchange(token);
      t.equal(exchanged.status, 201, exchanged.text);
      const ticket = (await call<RealtimeTicket>('POST', '/v1/realtime/tickets', { token, body: {} })).body
        .ticket;
      const headers = { Authorization: `Bearer ${token}` };
      const sockets = [app, other].map(
        ({ baseUrl }) =>
          new WebSocket(`${socketUrl(baseUrl)}?account=${demo.account_id}&version=${NEWEST_VERSION}`, {
            headers,
          }),
      );
      const byTicket = new WebSocket(`${socketUrl(app.baseUrl)}?ticket=${ticket}&version=${NEWEST_VERSION}`);
      await Promise.all([...sockets, byTicket].map(greeted));
      const later = (await call<RealtimeTicket>('POST', '/v1/realtime/tickets', { token, body: {} })).body
        .ticket;
      const closed = [...sockets, byTicket].map((socket) => new Promise((done) => socket.on('close', done)));
      t.ok(['200', '201'].includes(await end(body.user!.id, provider.id)), name);
      t.strictSame(await Promise.all(closed), [4202, 4202, 4202], `${name}: sockets`);
      for (const credential of [token, exchanged.body.access_token]) {
        await until(async () => (await refusal('GET', '/v1/me', { token: credential })) === INVALID, {
          what: name,
        });
      }
      const late = new WebSocket(`${socketUrl(app.baseUrl)}?ticket=${later}&version=${NEWEST_VERSION}`);
      t.equal(
        await new Promise((done) => late.on('unexpected-response', (_, { statusCode }) => done(statusCode))),
        401,
      );
      // A token of a second that has not come yet.
      const nowS = Math.floor(Date.now() / 1_000);
      const next = issuer.token({ ...of(issuer, 'ending'), iat: nowS + 30, exp: nowS + 600 });
      t.equal(
        await refusal('GET', '/v1/me', { token: next }),
        name === 'ended sessions' ? '200' : INVALID,
        name,
      );
    }
  },
);

t.test('an erased person stays refused, also one that no token had shown', async (t) => {
  const { issuer, provider } = await provided(t, { ...team, subject: 'external_id' });
  const person = await personWith(app, []);
  await database.kysely
    .updateTable('actors')
    .set({ external_id: 'never-came' })
    .where('id', '=', person.id)
    .execute();
  t.equal(
    await refusal('POST', `/v1/users/${person.id}/actions/erase`, { body: { messages: 'keep' } }),
    '201',
  );
  const [row] = await database.kysely
    .selectFrom('actors')
    .select('external_id')
    .where('id', '=', person.id)
    .execute();
  t.equal(row?.external_id, null);
  const token = issuer.token(of(issuer, 'never-came'));
  t.equal(await refusal('GET', '/v1/me', { token }), INVALID);
  await call('DELETE', `/v1/identity-providers/${provider.id}`);
  await provide(app, issuer, { ...team, subject: 'external_id' });
  t.equal(await refusal('GET', '/v1/me', { token }), INVALID, 'by a new provider of the issuer too');
});

t.test('exchange (RFC 8693)', async (t) => {
  const { issuer } = await provided(t, team);
  const nowS = Math.floor(Date.now() / 1_000);
  const made = await exchange(issuer.token({ ...of(issuer, 'x'), exp: nowS + 100 }));
  const { access_token, expires_in, expires_at, ...rest } = made.body;
  t.strictSame(rest, {
    object: 'exchanged_token',
    issued_token_type: ACCESS_TOKEN_TYPE,
    token_type: 'Bearer',
  });
  t.ok(expires_in <= 100 && Date.parse(expires_at) <= (nowS + 100) * 1_000, 'no later than the token');
  t.equal(await refusal('GET', '/v1/me', { token: access_token }), '200');
  t.ok((await exchange(issuer.token(of(issuer, 'x')))).body.expires_in <= 900);
  const refused = async (more: object, headers = {}) =>
    refusal('POST', '/v1/auth/tokens', {
      headers: { Authorization: undefined, ...headers },
      body: { grant_type: TOKEN_EXCHANGE, subject_token_type: JWT_TYPE, subject_token: 'a.b.c', ...more },
    });
  t.equal(await refused({}), '401 invalid_credentials subject_token');
  t.equal(await refused({ subject_token: demo.api_key }), '401 invalid_credentials subject_token');
  t.equal(
    await refused({ subject_token: demo.users.ada.access_token }),
    '401 invalid_credentials subject_token',
  );
  for (const pastS of [0, 30, 99]) {
    const token = issuer.token({ ...of(issuer, 'x'), exp: nowS - pastS });
    t.equal(await refused({ subject_token: token }), '401 expired_token subject_token', `${pastS} s ago`);
  }
  t.equal(await refused({}, { 'Service-Account': undefined }), '400 parameter_missing Service-Account');
  t.equal(await refused({ subject_token_type: 'x' }), '422 validation_failed subject_token_type');
  const headers = { Authorization: undefined };
  t.equal(
    await refusal('POST', '/v1/auth/tokens', { headers, body: {} }),
    '401 invalid_credentials Authorization',
  );
  t.equal(
    await refusal('POST', '/v1/auth/tokens', { headers, body: { user_id: demo.users.ada.id } }),
    '401 invalid_credentials Authorization',
  );
  t.equal(
    await refusal('POST', '/v1/auth/tokens', {
      headers: { ...headers, 'Service-Version': '1.2.harbor' },
      body: {},
    }),
    '401 invalid_credentials Authorization',
  );
});

t.test('a customer follows all its cases, opens up to five, and finds nothing of the team', async (t) => {
  const { issuer } = await provided(t, { person: 'customer', provision: 'first_use' });
  const token = issuer.token({ ...of(issuer, 'buyer'), name: 'Buyer' });
  const open = (more: object = {}, as = token) =>
    call<Conversation>('POST', '/v1/messaging/conversations?include[]=participants', {
      token: as,
      body: { type: 'group', audience: 'customer', title: 'Broken', ...more },
    });
  const first = await open();
  t.equal(first.status, 201, first.text);
  const { participants, audience, workflow_status, assignee } = first.body;
  t.match(participants, [{ type: 'customer', role: 'member', actor: { name: 'Buyer' } }]);
  t.strictSame([participants!.length, audience, workflow_status, assignee], [1, 'customer', null, null]);
  const actorId = participants![0]!.actor_id!;
  const ofTeam = await call<Conversation>('POST', '/v1/messaging/conversations', {
    body: { type: 'group', audience: 'customer', participants: [{ type: 'customer', actor_id: actorId }] },
  });
  const listed = await call<{ data: Conversation[] }>('GET', '/v1/messaging/conversations', { token });
  t.strictSame(inAnyOrder(listed.body.data.map(({ id }) => id)), inAnyOrder([first.body.id, ofTeam.body.id]));
  const stream = streamOf(token, {
    subscribe: [first, ofTeam].map(({ body }) => ({ conversation_id: body.id })),
  });
  await stream.frame('ready');
  for (const { body } of [first, ofTeam]) {
    await until(
      () =>
        stream.frames.some(
          ({ type, conversation_id }) => type === 'caught_up' && conversation_id === body.id,
        ),
      { what: 'the subscription' },
    );
    const path = `/v1/messaging/conversations/${body.id}/messages`;
    const message = {
      body: 'ahoy',
      client_message_id: `m-${body.id}`,
      audience: 'customer',
      channel: 'message',
    };
    const sent = await call('POST', path, { body: message });
    t.equal(sent.status, 201, sent.text);
    t.equal(
      (await call('POST', path, { token, body: { body: 'thanks', client_message_id: `c-${body.id}` } }))
        .status,
      201,
    );
  }
  for (const { body } of [first, ofTeam]) {
    const received = () =>
      stream.frames.filter(
        ({ event, conversation_id }) => event === 'message.created' && conversation_id === body.id,
      );
    await until(() => received().length === 2, {
      what: () => `two messages; got ${JSON.stringify(stream.frames)}`,
    });
  }
  stream.close();

  const twins = await Promise.all(Array.from({ length: 6 }, () => open()));
  t.strictSame(twins.map(({ status }) => status).sort(), [201, 201, 201, 403, 403, 403]);
  const full = twins.find(({ status }) => status === 403)!.body as unknown as {
    error: { code: string; quota: object };
  };
  t.match(full.error, { code: 'limit_exceeded', quota: { limit: 5, used: 5, reset_at: null } });
  const resolved = await call('PATCH', `/v1/messaging/conversations/${first.body.id}`, {
    body: { workflow_status: 'resolved' },
  });
  t.equal(resolved.status, 200, resolved.text);
  t.equal((await open()).status, 201, 'one that is resolved leaves room');

  const opening = async (more: object, as = token) =>
    refusal('POST', '/v1/messaging/conversations', {
      token: as,
      body: { type: 'group', audience: 'customer', ...more },
    });
  const direct = {
    type: 'direct_message',
    audience: undefined,
    participants: [{ type: 'user', actor_id: demo.users.ada.id }],
  };
  const withAda = { participants: [{ type: 'user', actor_id: demo.users.ada.id }] };
  t.strictSame(
    [
      await opening(direct),
      await opening({ audience: 'internal' }),
      await opening({ audience: undefined }),
      await opening(withAda),
      await opening({ group_id: 'grp_x' }),
      await opening({ topic: { type: 'entity', id: 'x' } }),
      await opening({ inbox_id: 'inb_x' }),
      await opening({}, demo.customer.access_token),
    ],
    [
      '422 validation_failed type',
      '422 validation_failed audience',
      '422 validation_failed audience',
      '422 validation_failed participants',
      '422 validation_failed group_id',
      '422 validation_failed topic',
      '422 validation_failed inbox_id',
      '403 insufficient_permissions null',
    ],
  );
  const FORBIDDEN = '403 insufficient_permissions null';
  for (const path of [
    '/v1/messaging/people',
    '/v1/users',
    '/v1/me',
    '/v1/messaging/notifications',
    '/v1/identity-providers',
  ]) {
    t.equal(await refusal('GET', path, { token }), FORBIDDEN, path);
  }
  t.equal(
    await refusal('GET', `/v1/messaging/conversations/${demo.conversations.group}`, { token }),
    '404 resource_not_found id',
  );
  const ended = await refusal('POST', `/v1/users/${actorId}/actions/end-sessions`);
  t.equal(ended, '200', 'the sessions of a customer end too');
  await until(async () => (await refusal('GET', '/v1/messaging/conversations', { token })) === INVALID, {
    what: 'the end',
  });
});

t.test('keys that cannot be read: 503 until they were, a day of the last ones after that', async (t) => {
  const issuer = await TokenIssuer.start(t);
  issuer.answer = { status: 500 };
  await provide(app, issuer, team);
  const token = issuer.token(of(issuer, 'k'));
  t.equal(await refusal('GET', '/v1/me', { token }), '503 service_unavailable null');
  issuer.answer = undefined;
  await until(async () => (await refusal('GET', '/v1/me', { token })) === '200', { what: 'the keys' });
  const rotated = issuer.addKey('second');
  t.equal(
    await refusal('GET', '/v1/me', { token: issuer.token(of(issuer, 'k'), { key: rotated }) }),
    INVALID,
  );
  t.ok(issuer.asked.length <= 3, 'an unknown key is asked for at most every 30 seconds');
});

t.test('a cached token costs no look-up', async (t) => {
  const { issuer } = await provided(t, team);
  const token = issuer.token(of(issuer, 'c'));
  t.equal(await refusal('GET', '/v1/me', { token }), '200');
  const { length: before } = issuer.asked;
  for (let n = 0; n < 20; n++) await refusal('GET', '/v1/me', { token });
  t.equal(issuer.asked.length, before);
});

async function provided(t: Tap, more: Parameters<typeof provide>[2]) {
  const issuer = await TokenIssuer.start(t);
  return { issuer, provider: await provide(app, issuer, more) };
}

type Tap = Parameters<typeof TokenIssuer.start>[0];

function of({ origin }: TokenIssuer, sub: string): { iss: string; aud: string; sub: string } {
  return { iss: origin, aud: AUDIENCE, sub };
}

function exchange(token: string) {
  const body = { grant_type: TOKEN_EXCHANGE, subject_token: token, subject_token_type: JWT_TYPE };
  return call<ExchangedToken>('POST', '/v1/auth/tokens', { headers: { Authorization: undefined }, body });
}

function streamOf(token: string, body: object = {}): StreamClient {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': NEWEST_VERSION,
    'Service-Account': demo.account_id,
    'Content-Type': 'application/json',
  };
  return new StreamClient({ baseUrl: app.baseUrl, headers }, body);
}

function socketUrl(baseUrl: string): string {
  return `${baseUrl.replace('http', 'ws')}/v1/realtime`;
}

interface Greeting {
  readonly actor?: { readonly id: string };
  readonly error?: { readonly code: string; readonly param: string | null };
}

/** Returns `ready`, or the refusal of a frame. */
function greeted(socket: WebSocket): Promise<Greeting> {
  // The server waits for sockets that stay open.
  t.teardown(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data));
      if (frame.type === 'ready' || frame.ok === false) resolve(frame);
    });
  });
}

function framed(token: string, account: string | undefined = demo.account_id): Promise<Greeting> {
  const socket = new WebSocket(socketUrl(app.baseUrl));
  const frame = {
    type: 'authenticate',
    id: 'a',
    token,
    account: account || undefined,
    version: NEWEST_VERSION,
  };
  socket.on('open', () => socket.send(JSON.stringify(frame)));
  return greeted(socket);
}
