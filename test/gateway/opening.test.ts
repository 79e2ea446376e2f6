/** From a handshake to `ready`, and every way to fail (docs/realtime.md#opening). */

import type { IncomingMessage } from 'node:http';
import t from 'tap';
import { WebSocket } from 'ws';
import { createApiKey } from '../../src/core/accounts/keys/keys.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { until } from '../support/until.ts';
import { Client, Ground, refusal } from './fixture.ts';

const ORIGIN = 'https://app.example';
const ground = await Ground.start(t, {
  allowedOrigins: [ORIGIN],
  limits: { socketsPerActor: 3, authenticateMs: 3_000 },
});
const { demo, database } = ground;
const ada = demo.users.ada;
const query = { version: demo.service_version, account: demo.account_id };

t.test('sends hello, and ready to a caller that the handshake identifies', async (t) => {
  const client = await ground.ready();
  const [hello, ready] = client.frames;
  t.match(hello, {
    type: 'hello',
    connection_id: /^con_/,
    heartbeat_ms: 25_000,
    max_frame_bytes: 65_536,
  });
  t.ok(Math.abs(Date.parse(String(hello?.server_time)) - Date.now()) < 5_000);
  t.match(hello?.server_time, /\.\d{6}Z$/, 'with the decimals that times in resources have');
  t.equal(Object.keys(hello ?? {})[0], 'type');
  t.match(ready, { type: 'ready', actor: { id: ada.id, object: 'actor' }, account_id: demo.account_id });
  t.type(ready?.cursor, 'string');
  t.ok(Date.parse(String(ready?.expires_at)) > Date.now());
  client.close();
});

t.test('a key has no expiry, a customer may come', async (t) => {
  const key = await ground.ready(demo.api_key);
  t.equal((await key.frame('ready')).expires_at, null);
  key.close();
  const customer = await ground.ready(demo.customer.access_token);
  t.ok(await customer.frame('ready'));
  customer.close();
});

t.test('version and account may stand in the URL', async (t) => {
  const client = await ground.open({ Authorization: `Bearer ${ada.access_token}` }, query);
  t.ok(await client.frame('ready'));
  client.close();
});

t.test('a handshake by a former name of a version is answered with its deprecation', async (t) => {
  const former = '1.4.harbor-preview.1';
  const answerTo = (headers: Record<string, string>, search: Record<string, string> = {}) =>
    new Promise<IncomingMessage>((resolve) => {
      const url = `ws://127.0.0.1:${ground.port}/v1/realtime?${new URLSearchParams(search)}`;
      const socket = new WebSocket(url, { headers });
      socket.once('upgrade', (response) => {
        resolve(response);
        socket.once('message', () => socket.close());
      });
      socket.once('unexpected-response', (_, response) => {
        resolve(response);
        response.resume();
      });
      socket.on('error', () => undefined);
    });
  const asAda = ground.headers();
  const { 'Service-Version': _, ...unnamed } = asAda;
  const answers: [status: number, deprecation: string | undefined, answer: Promise<IncomingMessage>][] = [
    [101, '@1795392000', answerTo({ ...asAda, 'Service-Version': '1.2.harbor-preview.1' })],
    [101, '@1795651200', answerTo({ ...asAda, 'Service-Version': '1.3.harbor-preview.1' })],
    [101, '@1796083200', answerTo({ ...asAda, 'Service-Version': former })],
    [101, '@1796083200', answerTo({}, { ...query, version: former })],
    [401, '@1796083200', answerTo({ ...unnamed, Authorization: 'Bearer x' }, { version: former })],
    [101, undefined, answerTo(asAda)],
    [101, undefined, answerTo({ ...asAda, 'Service-Version': '1.4.harbor' })],
  ];
  for (const [status, deprecation, answer] of answers) {
    const { statusCode, headers } = await answer;
    t.equal(headers.sunset, deprecation && 'Wed, 30 Jun 2027 00:00:00 GMT');
    t.strictSame([statusCode, headers.deprecation], [status, deprecation]);
    t.equal(headers.link === undefined, deprecation === undefined);
  }
  const client = await ground.open({ ...asAda, 'Service-Version': former });
  t.ok(await client.frame('ready'), 'it works like any other');
  client.close();
  await until(async () => (await ground.metrics.socketsOpen.get()).values[0]?.value === 0, {
    what: 'an empty server',
  });
});

t.test('a frame may identify the caller', async (t) => {
  const named = await ground.open({}, query);
  named.send({ type: 'authenticate', id: 'a', token: ada.access_token });
  t.match(await named.frame('ready'), { actor: { id: ada.id } });
  t.strictSame(
    named.frames.map(({ type }) => type),
    ['hello', 'ready'],
    'ready in place of a reply',
  );
  t.match(await named.request('authenticate', { token: ada.access_token }), {
    ok: false,
    error: { code: 'resource_conflict' },
  });
  named.close();

  const bare = await ground.open();
  bare.send({ type: 'authenticate', id: 'a', token: demo.api_key, ...query });
  // Asked before it is answered: looked at behind it.
  bare.send({ type: 'unsubscribe', id: 'b', conversation_id: demo.conversations.group });
  t.match(await bare.frame(({ id }) => id === 'b'), { ok: true });
  t.strictSame(
    bare.frames.map(({ type }) => type),
    ['hello', 'ready', 'reply'],
  );
  bare.close();
});

t.test('an authenticate frame that fails is answered, then the socket is closed', async (t) => {
  const good = { token: ada.access_token, ...query };
  const cases: [string, object, string, number][] = [
    ['an unknown token', { ...good, token: 'x' }, 'invalid_credentials', 4202],
    ['an expired token', { ...good, token: await expiredToken() }, 'expired_token', 4202],
    ['another account', { ...good, account: demo.other_account.account_id }, 'resource_not_found', 4202],
    ['no account', { ...good, account: undefined }, 'parameter_missing', 4202],
    ['no version', { ...good, version: undefined }, 'api_version_required', 4401],
    ['an unknown version', { ...good, version: '9.harbor' }, 'api_version_invalid', 4401],
    ['an old version', { ...good, version: '1.0.harbor' }, 'api_version_too_old', 4401],
  ];
  for (const [name, fields, code, closeCode] of cases) {
    const client = await ground.open();
    t.match(await client.request('authenticate', fields), { ok: false, error: { code } }, name);
    t.equal((await client.closes()).code, closeCode, name);
  }
  for (const field of ['version', 'account']) {
    const client = await ground.open();
    t.match(await client.request('authenticate', { ...good, [field]: undefined }), {
      error: {
        param: field,
        message: new RegExp(`^The field ${field} of the authenticate frame is missing`),
      },
    });
    client.close();
  }
  const contradiction = await ground.open({}, query);
  const other = { token: ada.access_token, account: demo.other_account.account_id };
  t.match(await contradiction.request('authenticate', other), { error: { code: 'parameters_exclusive' } });
});

t.test('a frame that is malformed is no failure to authenticate', async (t) => {
  const client = await ground.open({}, query);
  t.match(await client.request('authenticate'), { error: { code: 'missing_field', param: 'token' } });
  t.match(await client.request('authenticate', { token: ada.access_token, x: 1 }), {
    error: { code: 'validation_failed', param: 'x' },
  });
  client.send({ type: 'authenticate', id: 'a', token: ada.access_token });
  t.ok(await client.frame('ready'));
  client.close();
});

t.test('a socket that sends nothing is closed in time', async (t) => {
  const client = await ground.open();
  t.equal((await client.closes()).code, 4201);
});

t.test('a handshake with a bad version, credential or account is answered over HTTP', async (t) => {
  const good = ground.headers();
  const without = (name: string) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
  const cases: [string, Record<string, string>, number, string, string | null | undefined][] = [
    ['no version', without('Service-Version'), 400, 'api_version_required', 'Service-Version'],
    ['an unknown version', { ...good, 'Service-Version': 'x' }, 400, 'api_version_invalid', undefined],
    ['an old version', { ...good, 'Service-Version': '1.0.harbor' }, 400, 'api_version_too_old', undefined],
    ['no account', without('Service-Account'), 400, 'parameter_missing', 'Service-Account'],
    [
      'another account',
      { ...good, 'Service-Account': demo.other_account.account_id },
      404,
      'resource_not_found',
      'Service-Account',
    ],
    ['another scheme', { ...good, Authorization: 'Basic abc' }, 401, 'invalid_credentials', undefined],
    ['no key of ours', ground.headers('parley_x'), 401, 'invalid_credentials', undefined],
    ['no token of ours', ground.headers('a.b.c'), 401, 'invalid_credentials', undefined],
    ['an expired token', ground.headers(await expiredToken()), 401, 'expired_token', undefined],
    ['an expired key', ground.headers(await key({ expired: true })), 401, 'api_key_expired', undefined],
    ['a revoked key', ground.headers(await key({ revoked: true })), 401, 'api_key_revoked', undefined],
    ['a ticket that is none', {}, 400, 'api_version_required', undefined],
  ];
  for (const [name, headers, status, code, param] of cases) {
    const answer = await refusal(ground, headers, name.includes('ticket') ? { ticket: 'x' } : {});
    t.match(answer, { status, error: { code, ...(param === undefined ? {} : { param }) } }, name);
    t.match(answer.error.doc_url, `https://docs.example/api/errors#${code}`, name);
  }
});

t.test('an account that does not pay is refused', async (t) => {
  const subscription = (value: 'active' | 'inactive') =>
    database.kysely
      .updateTable('accounts')
      .set({ subscription: value })
      .where('id', '=', demo.other_account.account_id)
      .execute();
  await subscription('inactive');
  const headers = {
    ...ground.headers(demo.other_account.api_key),
    'Service-Account': demo.other_account.account_id,
  };
  t.match(await refusal(ground, headers), { status: 402, error: { code: 'payment_required' } });
  await subscription('active');
});

t.test('keys and tokens in the URL are refused, whatever they are called', async (t) => {
  for (const [name, value] of [
    ['token', ada.access_token],
    ['access_token', 'x'],
    ['api_key', demo.api_key],
    ['authorization', 'Bearer x'],
    ['ticket', demo.api_key],
    ['ticket', ada.access_token],
    ['x', demo.api_key],
  ] as const) {
    const answer = await refusal(ground, {}, { ...query, [name]: value });
    t.match(answer, { status: 401, error: { code: 'invalid_credentials', param: name } }, name);
  }
});

t.test('parameters that are unknown, doubled or contradict a header are refused', async (t) => {
  t.match(await refusal(ground, ground.headers(), { colour: 'red' }), {
    error: { code: 'parameter_unknown', param: 'colour' },
  });
  t.match(await refusal(ground, ground.headers(), { account: '' }), { error: { code: 'parameter_invalid' } });
  t.match(await refusal(ground, ground.headers(), { version: '1.0.harbor' }), {
    error: { code: 'parameters_exclusive', param: 'version' },
  });
  t.match(await refusal(ground, ground.headers(), { ticket: 'ticket_x' }), {
    error: { code: 'parameters_exclusive', param: 'ticket' },
  });
  const same = await ground.open(ground.headers(), query);
  t.ok(await same.frame('ready'), 'the same in both is no contradiction');
  same.close();
});

t.test('pages of other origins are refused', async (t) => {
  const from = (origin: string) => ({ ...ground.headers(), Origin: origin });
  for (const origin of [
    'https://evil.example',
    'null',
    `${ORIGIN}.evil.example`,
    `${ORIGIN}:8443`,
    'http://app.example',
  ]) {
    const answer = await refusal(ground, from(origin));
    t.match(answer, { status: 403, error: { code: 'insufficient_permissions', param: 'Origin' } }, origin);
  }
  for (const origin of [ORIGIN, `http://127.0.0.1:${ground.port}`]) {
    const client = await ground.open(from(origin));
    t.ok(await client.frame('ready'), origin);
    client.close();
  }
});

t.test('an actor has so many sockets', async (t) => {
  await until(async () => (await ground.metrics.socketsOpen.get()).values[0]?.value === 0, {
    what: 'an empty server',
  });
  const clients = [await ground.ready(), await ground.ready(), await ground.ready()];
  t.match(await refusal(ground, ground.headers()), {
    status: 403,
    error: { code: 'limit_exceeded', quota: { limit: 3, used: 3, reset_at: null } },
  });
  const late = await ground.open({}, query);
  t.match(await late.request('authenticate', { token: ada.access_token }), {
    error: { code: 'limit_exceeded' },
  });
  const { code, reason } = await late.closes();
  t.equal(code, 4100);
  t.ok(JSON.parse(reason).retry_after_ms > 0);
  const grace = await ground.ready(demo.users.grace.access_token);
  clients[0]?.close();
  await clients[0]?.closes();
  await until(async () => (await ground.metrics.socketsOpen.get()).values[0]?.value === 3, {
    what: 'a free place',
  });
  const next = await ground.ready();
  for (const client of [...clients, grace, next]) client.close();
});

t.test('a client that leaves while it is looked up does no harm', async (t) => {
  for (let i = 0; i < 20; i++) {
    const socket = new WebSocket(ground.url(), { headers: ground.headers(await key({})) });
    socket.on('error', () => undefined);
    if (i % 2 === 0) socket.once('upgrade', () => socket.terminate());
    else setImmediate(() => socket.terminate());
  }
  const client = await ground.ready();
  t.ok(client);
  client.close();
});

t.test('no subprotocol is agreed on, none is echoed', async (t) => {
  const socket = new WebSocket(ground.url(), ['x, y'.slice(0, 1)], { headers: ground.headers() });
  const client = new Client(socket);
  await until(() => client.closed, { what: 'the library to refuse' });
  t.equal(socket.protocol, '');
});

async function expiredToken(): Promise<string> {
  const { token } = await ground.tokens.issueAccess({
    accountId: demo.account_id,
    actorId: ada.id,
    ttlS: -10,
  });
  return token;
}

async function key({ expired = false, revoked = false }): Promise<string> {
  return database.transaction(async (tx) => {
    const role = await findRole(tx, demo.account_id, 'admin');
    const { key, apiKey } = await createApiKey(tx, {
      accountId: demo.account_id,
      name: 'Test',
      roleId: role.id,
      ...(expired ? { expiresAt: new Date(Date.now() - 1_000).toISOString() } : {}),
    });
    if (revoked) {
      await tx.kysely
        .updateTable('api_keys')
        .set({ revoked_at: new Date().toISOString() })
        .where('id', '=', apiKey.id)
        .execute();
    }
    return key;
  });
}
