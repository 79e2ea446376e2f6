import { setImmediate as nextTurn } from 'node:timers/promises';
import { FORMER_NAMES, VERSIONS } from '@parley/protocol/versions.ts';
import t from 'tap';
import { Idempotency } from '../../src/api/access/idempotency.ts';
import { createRateLimits } from '../../src/api/access/rate-limit.ts';
import { upgradeRoutes } from '../../src/edge/gateway/routes.ts';
import { AllowedOrigins } from '../../src/platform/http/origins.ts';
import { createLog } from '../../src/platform/log.ts';
import { openTestDatabase } from '../access/rows.ts';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { type Fixture, HEADER_LINES, HEADERS, serve } from './fixture.ts';

t.test('every answer has the common headers', async (t) => {
  const fixture = await serve(t);
  const created = await call(fixture, 'POST', '/v1/things/a%20b/notes?include[]=sender', {
    body: '{"text":"hi"}',
  });
  t.match(created, {
    status: 201,
    type: 'application/json',
    body: {
      params: { id: 'a b' },
      query: { 'include[]': ['sender'] },
      body: { text: 'hi' },
      version: '1.1.harbor',
      url: '/v1/things/a%20b/notes?include[]=sender',
    },
  });

  const refused = await call(fixture, 'GET', '/v1/nothing');
  t.same(refused.body, {
    error: {
      code: 'resource_not_found',
      type: 'invalid_request_error',
      message: 'There is no such endpoint.',
      param: null,
      doc_url: 'https://docs.example/api/errors#resource_not_found',
      is_transient: false,
      request_log_url: null,
    },
  });
  t.match(refused.headers.get('request-id'), /^req_[\w-]{8,}$/);
  t.not(refused.headers.get('request-id'), created.headers.get('request-id'));
});

t.test('every answer to a request by a former name of a version says that it is deprecated', async (t) => {
  const fixture = await serve(t);
  const path = '/v1/things/x/notes';
  const requests: [status: number, method: string, path: string, headers?: Record<string, string>][] = [
    [201, 'POST', path],
    [404, 'GET', '/v1/nothing'],
    [405, 'PATCH', path],
    [401, 'POST', path, { Authorization: 'Bearer nothing' }],
    [400, 'POST', `${path}?what=1`],
    [204, 'OPTIONS', path],
  ];
  for (const [status, method, path, headers] of requests) {
    const ask = async (version: string) => {
      const body = method === 'POST' ? { body: '{"text":"hi"}' } : {};
      const sent = { ...HEADERS, ...headers, 'Service-Version': version };
      const answer = await call(fixture, method, path, { ...body, headers: sent });
      t.equal(answer.status, status, `${method} ${path}`);
      return ['Deprecation', 'Sunset', 'Link'].map((name) => answer.headers.get(name));
    };
    for (const [former, version, since] of [
      ['1.2.harbor-preview.1', '1.2.harbor', '@1795392000'],
      ['1.3.harbor-preview.1', '1.3.harbor', '@1795651200'],
      ['1.4.harbor-preview.1', '1.4.harbor', '@1796083200'],
    ] as const) {
      const link = '</docs/access#former-names>; rel="deprecation"; type="text/html"';
      t.strictSame(await ask(former), [since, 'Wed, 30 Jun 2027 00:00:00 GMT', link]);
      t.strictSame(await ask(version), [null, null, null]);
    }
  }
});

t.test('the order of the checks: of two that fail, the earlier one answers', async (t) => {
  const fixture = await serve(t);

  // Each request fails its own check and every one that comes later.
  const path = '/v1/things/x/notes?what=1';
  const bad = { ...HEADERS, Authorization: 'Bearer unpaid', 'Service-Account': 'acc_2' };
  const steps: [
    what: string,
    refusal: string,
    method: string,
    path: string,
    headers: Record<string, string>,
  ][] = [
    ['route', '404 resource_not_found null', 'PUT', '/v1/thingz', {}],
    ['method', '405 method_not_allowed null', 'PUT', path, {}],
    ['version', '400 api_version_required Service-Version', 'POST', path, {}],
    ['version', '400 api_version_invalid Service-Version', 'POST', path, { 'Service-Version': '9' }],
    ['credential', '401 invalid_credentials null', 'POST', path, { 'Service-Version': '1.0.harbor' }],
    ['account', '400 parameter_missing Service-Account', 'POST', path, without(bad, 'Service-Account')],
    ['account', '404 resource_not_found Service-Account', 'POST', path, bad],
    ['subscription', '402 payment_required null', 'POST', path, { ...bad, 'Service-Account': 'acc_1' }],
    [
      'permission',
      '403 insufficient_permissions null',
      'POST',
      path,
      { ...HEADERS, Authorization: 'Bearer reader' },
    ],
    [
      'permission',
      '403 insufficient_permissions null',
      'POST',
      path,
      { ...HEADERS, Authorization: 'Bearer customer' },
    ],
    ['query', '400 parameter_unknown what', 'POST', path, HEADERS],
    ['body', '400 missing_field text', 'POST', '/v1/things/x/notes', HEADERS],
  ];
  for (const [what, expected, method, url, headers] of steps) {
    for (const body of ['{}', `{"x":"${'y'.repeat(100_000)}"}`]) {
      const { status, body: answer } = await call(fixture, method, url, {
        headers,
        body: what === 'body' ? '{}' : body,
      });
      t.equal(`${status} ${answer.error.code} ${answer.error.param}`, expected, what);
    }
  }
  t.same(fixture.handled, []);
});

t.test('rate limits: after the subscription and before the permission; addresses before all', async (t) => {
  const limits = createRateLimits({ requests: 2, seconds: 60 });
  const { credentials: limiter, addresses: addressLimiter } = limits;
  const fixture = await serve(t, {
    limiter: { limit: 2, consume: (key) => limiter.consume(key) },
    addressLimiter,
  });
  const reader = { ...HEADERS, Authorization: 'Bearer reader' };
  const url = '/v1/things/x/notes';

  const first = await call(fixture, 'GET', '/v1/things/x', { headers: HEADERS });
  t.same(rateOf(first.headers), ['2', '1', '60']);
  t.equal((await call(fixture, 'POST', url, { headers: reader })).status, 403, 'the same key, refused later');
  const refused = await call(fixture, 'POST', url, { headers: reader });
  t.match(refused, { status: 429, body: { error: { code: 'rate_limit_exceeded', is_transient: true } } });
  t.ok(Number(refused.headers.get('retry-after')) > 0);
  t.same(rateOf(refused.headers), ['2', '0', refused.headers.get('retry-after')]);
  const unpaid = { ...HEADERS, Authorization: 'Bearer unpaid' };
  t.equal((await call(fixture, 'POST', url, { headers: unpaid })).status, 402);

  t.equal((await call(fixture, 'GET', '/v1/thingz')).status, 404);
  for (let i = 0; i < 15; i++) await call(fixture, 'GET', '/v1/thingz');
  const early = await call(fixture, 'PUT', '/v1/thingz');
  t.match(early, { status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
  t.equal((await call(fixture, 'GET', '/healthz')).status, 200, 'probes are not counted');
});

t.test('the pipeline reads the Service-Version', async (t) => {
  const fixture = await serve(t);
  const get = (path: string, version: string) =>
    call(fixture, 'GET', path, { headers: { ...HEADERS, 'Service-Version': version } });
  const invalid = await get('/v1/things/x', '1.1.bay');
  t.match(invalid, { status: 400, body: { error: { code: 'api_version_invalid' } } });
  t.equal(invalid.body.error.message, `Supported versions are ${VERSIONS.join(', ')}.`);
  for (const version of [...VERSIONS, ...FORMER_NAMES.keys()]) {
    t.equal((await get('/v1/things/x', version)).status, 200);
  }
  t.match(await get('/v1/newer', '1.1.harbor'), {
    status: 400,
    body: { error: { code: 'api_version_too_old' } },
  });
  t.equal((await get('/v1/newer', '1.2.harbor')).status, 200);
  t.equal((await get('/v1/newer', '')).body.error.code, 'api_version_required');
});

t.test('the pipeline finds a route by its path and method', async (t) => {
  const fixture = await serve(t);
  const get = async (path: string) => {
    const { status, body } = await call(fixture, 'GET', path);
    return status === 200 ? (body.id ?? body) : status;
  };
  t.equal(await get('/v1/things/abc'), 'abc');
  t.equal(await get('/v1/things/a%2Fb%C3%A9'), 'a/bé');
  t.same(await get('/v1/things/special'), { special: true });
  for (const path of [
    '/',
    '/v1',
    '/v1/things',
    '/v1/things/',
    '/v1/things/a/',
    '/v1/things/a/b',
    '//v1/things/a',
  ]) {
    t.equal(await get(path), 404, path);
  }
  for (const id of ['%', '%zz', '%ff', '%00', '%ED%A0%80']) {
    const { status, body } = await call(fixture, 'GET', `/v1/things/${id}`);
    t.strictSame([status, body.error.code, body.error.param], [400, 'invalid_format', null], id);
  }

  const wrong = await call(fixture, 'PATCH', '/v1/things/a');
  t.equal(wrong.status, 405);
  t.equal(wrong.headers.get('allow'), 'GET, DELETE, HEAD, OPTIONS');
  const deleted = await call(fixture, 'DELETE', '/v1/things/a', { body: '{}' });
  t.match(deleted, { status: 202, body: { id: 'a' } }, 'an Answer has its own status and bytes');
  t.equal((await call(fixture, 'DELETE', '/v1/things/a', { body: '{"x":1}' })).body.error.param, 'x');

  const head = await call(fixture, 'HEAD', '/v1/things/abc');
  t.equal(head.status, 200);
  t.equal(head.headers.get('content-length'), String('{"id":"abc"}'.length));
  t.equal(head.text, '');
});

t.test('customers may call what is open to them alone', async (t) => {
  const fixture = await serve(t);
  const headers = { ...HEADERS, Authorization: 'Bearer customer' };
  t.equal((await call(fixture, 'GET', '/v1/things/a', { headers })).status, 200);
  t.equal((await call(fixture, 'DELETE', '/v1/things/a', { headers })).status, 403);
  t.equal(
    (
      await call(fixture, 'DELETE', '/v1/things/a', {
        headers: { ...HEADERS, Authorization: 'Bearer reader' },
      })
    ).status,
    202,
    'where no permission is asked, everybody else may',
  );
});

t.test('a caller that has to be looked up, with a body in chunks', async (t) => {
  const fixture = await serve(t);
  const lines = HEADER_LINES.replace('known', 'looked_up');
  for (const size of [10, 3_000, 200_000]) {
    const body = JSON.stringify({ text: 'é'.repeat(size / 2) });
    const client = new RawClient(fixture.port);
    t.teardown(() => client.destroy());
    client.send(
      `POST /v1/things/x/notes HTTP/1.1\r\nHost: a\r\n${lines}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
    );
    const bytes = Buffer.from(body);
    for (let at = 0; at < bytes.length; at += 1_001) {
      await new Promise((resolve) => client.socket.write(bytes.subarray(at, at + 1_001), resolve));
    }
    await until(() => client.statuses.length === 1 && client.received.endsWith('}'), { what: 'the answer' });
    const text = Buffer.from(client.received.split('\r\n\r\n')[1]!, 'latin1').toString();
    t.equal(JSON.parse(text).body.text.length, size / 2);
  }
});

t.test('a body of a type that is not JSON in UTF-8', async (t) => {
  const fixture = await serve(t);
  const post = async (type: string, body = '{"text":"a"}', path = '/v1/things/x/notes') => {
    const { 'Content-Type': _, ...others } = HEADERS;
    const headers = type === '' ? others : { ...others, 'Content-Type': type };
    return call(fixture, 'POST', path, { headers, body: Buffer.from(body) });
  };
  for (const type of [
    '',
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json; charset=utf8',
    'application/merge-patch+json',
  ]) {
    t.equal((await post(type)).status, 201, type);
  }
  fixture.handled.length = 0;
  for (const type of [
    'text/plain',
    'text/plain;charset=UTF-8',
    'text/json',
    'application/jsonp',
    'application/json, text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'image/png',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
  ]) {
    const { status, headers, body } = await post(type);
    t.strictSame([status, body.error.code, body.error.param], [415, 'invalid_format', 'Content-Type'], type);
    t.equal(headers.get('connection'), 'close', 'a proxy may have framed it differently');
  }
  t.equal((await post('text/plain', '{"text"')).status, 415, 'its type is checked before the body is read');
  const queried = await post('text/plain', '{"text":"a"}', '/v1/things/x/notes?what=1');
  t.equal(queried.body.error.code, 'parameter_unknown', 'and after the query');
  t.equal((await post('text/plain', '')).body.error.code, 'missing_field', 'no body has no type');
  t.strictSame(fixture.handled, []);
});

t.test('the pipeline refuses a body that is no JSON object', async (t) => {
  const fixture = await serve(t);
  const post = async (body: string | Buffer) => {
    const { status, body: answer } = await call(fixture, 'POST', '/v1/things/x/notes', { body });
    return `${status} ${answer.error.code} ${answer.error.param}`;
  };
  t.equal(await post('{"text":"a"'), '400 invalid_format null');
  t.equal(await post('[]'), '400 invalid_format null');
  t.equal(await post(Buffer.from([0x7b, 0xff, 0x7d])), '400 invalid_format null');
  t.equal(await post(Buffer.from('{"text":"\xed\xa0\x80"}', 'latin1')), '400 invalid_format null');
  t.equal(await post('{"text":"\\u0000"}'), '400 invalid_format text');
  t.equal(await post('{"text":5}'), '400 invalid_format text');
  t.equal(await post('{"text":"a","more":1}'), '422 validation_failed more');
  t.equal(await post(''), '400 missing_field text');
  t.equal(await post(`{"text":${'['.repeat(100_000)}`), '400 invalid_format null');
  t.equal(await post(' '.repeat(256 * 1024 + 1)), '413 validation_failed null');
  t.equal(await post(' '.repeat(256 * 1024)), '400 invalid_format null');
  t.same(fixture.handled, []);
  const whole = `{"text":"${'a'.repeat(256 * 1024 - 11)}"}`;
  t.equal((await call(fixture, 'POST', '/v1/things/x/notes', { body: whole })).status, 201, '256 KiB');
});

t.test('thrown values, as the caller sees them', async (t) => {
  const fixture = await serve(t);
  const cases: [path: string, status: number, code: string, retryAfter: string | null][] = [
    ['/v1/broken', 500, 'internal_error', null],
    ['/v1/database', 503, 'service_unavailable', '1'],
    ['/v1/engine', 503, 'service_unavailable', '1'],
    ['/v1/gone', 410, 'resource_gone', null],
  ];
  for (const [path, status, code, retryAfter] of cases) {
    const answer = await call(fixture, 'POST', path);
    t.match(answer, { status, body: { error: { code } } });
    t.equal(answer.headers.get('retry-after'), retryAfter);
    t.notMatch(answer.text, /secret|Postgres/);
  }
  const refused = await call(fixture, 'POST', '/v1/waits', { headers: {} });
  t.equal(refused.status, 400);
  const unknown = await call(fixture, 'POST', '/v1/waits', { headers: { ...HEADERS, Authorization: '' } });
  t.equal(unknown.headers.get('www-authenticate'), 'Bearer');
});

t.test('public routes need no credential', async (t) => {
  const fixture = await serve(t);
  const health = await call(fixture, 'GET', '/healthz', { headers: {} });
  t.match(health, { status: 200, type: 'application/json', body: { status: 'up' } });
  const docs = await fetch(`${fixture.url}/docs/a/b.js`);
  t.equal(await docs.text(), '/docs/a/b.js');
  t.equal(docs.headers.get('content-type'), 'text/plain');
  t.equal((await call(fixture, 'GET', '/docs', { headers: {} })).status, 404);
  t.equal((await call(fixture, 'POST', '/healthz', { headers: {} })).status, 405);
});

t.test('pages of allowed origins may call; others get no CORS headers', async (t) => {
  const fixture = await serve(t, { origins: new AllowedOrigins(['https://app.example']) });
  const preflight = (origin: string) =>
    fetch(`${fixture.url}/v1/things/a`, {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'DELETE' },
    });
  const allowed = await preflight('https://app.example');
  t.equal(allowed.status, 204);
  t.equal(allowed.headers.get('content-length'), null);
  t.equal(allowed.headers.get('access-control-allow-origin'), 'https://app.example');
  t.match(allowed.headers.get('access-control-allow-methods'), 'DELETE');
  for (const header of ['Service-Account', 'Traceparent']) {
    t.match(allowed.headers.get('access-control-allow-headers'), header);
  }
  const other = await preflight('https://evil.example');
  t.equal(other.headers.get('access-control-allow-origin'), null);
  t.equal(other.headers.get('access-control-allow-methods'), null);

  const answer = await fetch(`${fixture.url}/v1/things/a`, {
    headers: { ...HEADERS, Origin: 'https://app.example' },
  });
  t.equal(answer.headers.get('access-control-allow-origin'), 'https://app.example');
  t.match(answer.headers.get('access-control-expose-headers'), 'Request-Id');
  t.equal(answer.headers.get('vary'), 'Origin');
});

t.test(
  'a refused origin is logged once, and a hundred at most; the address of sockets says why',
  async (t) => {
    const lines: string[] = [];
    const log = createLog('warn', { write: (line: string) => void lines.push(line) });
    const origins = new AllowedOrigins(['https://app.example'], { log });
    const fixture = await serve(t, { origins, publicRoutes: upgradeRoutes(origins) });
    const preflight = (origin: string) =>
      fetch(`${fixture.url}/v1/things/a`, {
        method: 'OPTIONS',
        headers: { Origin: origin, 'Access-Control-Request-Method': 'GET' },
      });
    for (const origin of ['https://evil.example', 'https://evil.example', 'https://app.example']) {
      await preflight(origin);
    }
    t.match(
      lines.map((line) => JSON.parse(line)),
      [{ origin: 'https://evil.example', msg: /PARLEY_ALLOWED_ORIGINS/ }],
    );
    for (let n = 0; n < 200; n++) await preflight(`https://${n}.example`);
    t.equal(lines.length, 100);

    const ask = (origin: string) => fetch(`${fixture.url}/v1/realtime`, { headers: { Origin: origin } });
    const refused = await ask('https://evil.example');
    t.match([refused.status, refused.headers.get('access-control-allow-origin')], [403, '*']);
    t.match(await refused.json(), {
      error: {
        code: 'insufficient_permissions',
        param: 'Origin',
        message: /evil\.example .*ALLOWED_ORIGINS/,
      },
    });
    for (const origin of ['https://app.example', fixture.url]) t.equal((await ask(origin)).status, 426);
  },
);

t.test('the pipeline handles an Idempotency-Key', async (t) => {
  const fixture = await serve(t, { idempotency: new Idempotency({ database: await openTestDatabase(t) }) });
  const post = (path: string, key: string, body: string) =>
    call(fixture, 'POST', path, { headers: { ...HEADERS, 'Idempotency-Key': key }, body });
  const url = '/v1/things/x/notes';

  const first = await post(url, 'a', '{"text":"hi","at":null}');
  const again = await post(url, 'a', '{ "text": "hi" }');
  t.equal(first.status, 201);
  t.equal(first.headers.get('idempotent-replayed'), null);
  t.equal(again.status, 201);
  t.equal(again.text, first.text, 'byte for byte');
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  t.not(again.headers.get('request-id'), first.headers.get('request-id'));
  t.same(fixture.handled, ['POST x']);

  t.match(await post(url, 'a', '{"text":"ho"}'), {
    status: 422,
    body: { error: { code: 'validation_failed', type: 'idempotency_error' } },
  });
  t.equal((await post('/v1/things/y/notes', 'a', '{"text":"hi"}')).headers.get('idempotent-replayed'), null);
  t.equal((await post(url, '', '{"text":"hi"}')).body.error.param, 'Idempotency-Key');
  t.equal((await post(url, 'b', '{"text":5}')).status, 400, 'a bad body does not take the key');
  t.equal((await post(url, 'b', '{"text":"hi"}')).status, 201);

  for (const [path, replayed] of [
    ['/v1/gone', 'true'],
    ['/v1/refused', null],
    ['/v1/broken', null],
  ] as const) {
    const refused = await post(path, 'c', '');
    const twice = await post(path, 'c', '');
    t.equal(twice.status, refused.status, path);
    t.equal(twice.headers.get('idempotent-replayed'), replayed, path);
  }

  const running = post('/v1/waits', 'd', '');
  await until(() => fixture.handled.includes('POST waits'), { what: 'the first is at work' });
  t.match(await post('/v1/waits', 'd', ''), {
    status: 409,
    body: { error: { code: 'idempotency_in_progress' } },
  });
  fixture.open();
  t.same((await running).body, { waited: true });
  t.equal((await post('/v1/waits', 'd', '')).headers.get('idempotent-replayed'), 'true');
});

t.test('a graceful end: what is in flight is finished, nothing new is taken', async (t) => {
  const fixture = await serve(t);
  const idle = new RawClient(fixture.port);
  t.teardown(() => idle.destroy());
  idle.send(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
  await until(() => idle.statuses.length === 1, { what: 'an idle connection' });
  const running = call(fixture, 'POST', '/v1/waits');
  await until(() => fixture.handled.length === 1, { what: 'a request in flight' });

  const drained = fixture.server.drain(10_000);
  t.equal(fixture.server.pending, 1);
  await nextTurn();
  await t.rejects(fetch(`${fixture.url}/healthz`), 'no new connections');
  idle.send(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
  await idle.closed;
  t.same(idle.statuses, [200, 200]);
  t.match(idle.received, /Connection: close/);
  fixture.open();
  t.equal((await running).headers.get('connection'), 'close');
  await drained;
  t.equal(fixture.server.pending, 0);
});

t.test('an end waits for a connection that is kept open, which may bring a last request', async (t) => {
  const fixture = await serve(t);
  const kept = new RawClient(fixture.port);
  t.teardown(() => kept.destroy());
  kept.send(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
  await until(() => kept.statuses.length === 1, { what: 'a connection that is kept' });

  let isOver = false;
  const drained = fixture.server.drain(60_000, 60_000).then(() => {
    isOver = true;
  });
  await nextTurn();
  await t.rejects(fetch(`${fixture.url}/healthz`), 'no new connections');
  t.equal(isOver, false);
  kept.send(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
  await kept.closed;
  await drained;
  t.same(kept.statuses, [200, 200]);
});

t.test('an end that is not waited for forever', async (t) => {
  const fixture = await serve(t);
  const running = call(fixture, 'POST', '/v1/waits').catch(() => 'cut');
  await until(() => fixture.handled.length === 1, { what: 'a request in flight' });
  await fixture.server.drain(20);
  fixture.server.close();
  t.equal(await running, 'cut');
  fixture.open();
  t.equal(fixture.server.pending, 0);
});

t.test('a port that is taken, and an address of another machine', async (t) => {
  const fixture = await serve(t);
  const another = await serve(t);
  await t.rejects(another.server.listen({ host: '127.0.0.1', port: fixture.port }), {
    message: `cannot listen on 127.0.0.1:${fixture.port}: listen EADDRINUSE: address already in use 127.0.0.1:${fixture.port}`,
  });
  await t.rejects(another.server.listen({ host: '203.0.113.7', port: 0 }), {
    message: /^cannot listen on 203\.0\.113\.7:0: .*address not available/,
  });
});

t.test('metrics count by pattern, never by path', async (t) => {
  const fixture = await serve(t);
  await call(fixture, 'GET', '/v1/things/a');
  await call(fixture, 'GET', '/v1/things/b');
  await call(fixture, 'GET', '/v1/nowhere/c');
  const text = await fixture.metrics.registry.metrics();
  t.match(text, 'parley_http_requests_total{method="GET",route="/v1/things/:id",status="200"} 2');
  t.match(text, 'parley_http_requests_total{method="GET",route="none",status="404"} 1');
  t.match(text, 'parley_http_request_duration_seconds_count{method="GET",route="/v1/things/:id"} 2');
  t.match(text, 'parley_http_refusals_total{code="resource_not_found"} 1');
  await call(fixture, 'REPORT', '/v1/things/a');
  const after = await fixture.metrics.registry.metrics();
  t.match(after, 'parley_http_requests_total{method="other"');
  t.notMatch(after, 'REPORT', 'a method is a word of the caller too');
});

interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly type: string | null;
  readonly text: string;
  readonly body: ReturnType<typeof JSON.parse>;
}

async function call(
  { url }: Fixture,
  method: string,
  path: string,
  { headers = HEADERS, body }: { headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<Called> {
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: body as string }),
  });
  const text = await response.text();
  const type = response.headers.get('content-type');
  const isJson = type === 'application/json' && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    type,
    text,
    body: isJson ? JSON.parse(text) : {},
  };
}

function without(headers: Readonly<Record<string, string>>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name));
}

function rateOf(headers: Headers): (string | null)[] {
  return ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`));
}
