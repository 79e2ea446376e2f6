import { pino } from 'pino';
import t from 'tap';
import { createRateLimits } from '../../src/api/access/rate-limit.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { type Fixture, type FixtureOptions, HEADERS, serve } from './fixture.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The fixture, and the lines that it logs. */
async function serveLogging(t: Teardown, level: string, options: FixtureOptions = {}) {
  const lines: Line[] = [];
  const log = pino({ level, base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  const fixture = await serve(t, { log, ...options });
  return { fixture, lines };
}

async function call(fixture: Fixture, method: string, path: string, more: RequestInit = {}) {
  const response = await fetch(fixture.url + path, { method, headers: HEADERS, ...more });
  const text = await response.text();
  return { status: response.status, id: response.headers.get('request-id'), text };
}

t.test('a change is one line at info, with the template of its path', async (t) => {
  const { fixture, lines } = await serveLogging(t, 'info');
  const { id } = await call(fixture, 'POST', '/v1/things/secret-id/notes?include[]=sender', {
    body: '{"text":"a private text"}',
  });
  await until(() => lines.length === 1, { what: 'the line' });
  const { time, ms, ...line } = lines[0]!;
  t.same(line, {
    level: 30,
    method: 'POST',
    route: '/v1/things/:id/notes',
    status: 201,
    request_id: id,
    actor_id: 'act_1',
    account_id: 'acc_1',
    msg: 'request completed',
  });
  t.type(time, 'number');
  t.type(ms, 'number');
});

t.test('a refusal is logged with its code and caller, without the content of the request', async (t) => {
  const { fixture, lines } = await serveLogging(t, 'info');
  const unknown = await call(fixture, 'GET', '/v1/secret-path?token=secret-value');
  const unauthenticated = await call(fixture, 'GET', '/v1/things/secret-id', {
    headers: { ...HEADERS, Authorization: 'Bearer secret-token' },
  });
  const invalid = await call(fixture, 'POST', '/v1/things/secret-id/notes?secret=secret-value', {
    body: '{"secret_field":"secret-value"}',
  });
  await until(() => lines.length === 3, { what: 'the lines' });
  t.match(lines, [
    {
      level: 30,
      method: 'GET',
      route: 'none',
      status: 404,
      request_id: unknown.id,
      error_code: 'resource_not_found',
    },
    {
      route: '/v1/things/:id',
      status: 401,
      request_id: unauthenticated.id,
      error_code: 'invalid_credentials',
    },
    {
      route: '/v1/things/:id/notes',
      status: 400,
      request_id: invalid.id,
      error_code: 'parameter_unknown',
      actor_id: 'act_1',
    },
  ]);
  t.notMatch(JSON.stringify(lines), /secret|token/);
  t.notOk('actor_id' in lines[1]!, 'the caller was not known yet');
});

t.test('reads are logged at debug', async (t) => {
  const quiet = await serveLogging(t, 'info');
  await call(quiet.fixture, 'GET', '/v1/things/1');
  await call(quiet.fixture, 'HEAD', '/v1/things/1');
  await call(quiet.fixture, 'GET', '/healthz');
  await call(quiet.fixture, 'DELETE', '/v1/things/1');
  await until(() => quiet.lines.length > 0, { what: 'the line of the change' });
  t.match(quiet.lines, [{ method: 'DELETE', status: 202 }]);
  t.equal(quiet.lines.length, 1);

  const verbose = await serveLogging(t, 'debug');
  await call(verbose.fixture, 'GET', '/v1/things/1');
  await call(verbose.fixture, 'GET', '/docs/guide');
  await until(() => verbose.lines.length === 2, { what: 'the lines' });
  t.match(verbose.lines, [
    { level: 20, method: 'GET', route: '/v1/things/:id', status: 200, actor_id: 'act_1' },
    { level: 20, method: 'GET', route: '/docs/*', status: 200 },
  ]);
});

t.test('a failure is one line with its cause and the same fields', async (t) => {
  const { fixture, lines } = await serveLogging(t, 'info');
  const failed = await call(fixture, 'POST', '/v1/broken');
  const unavailable = await call(fixture, 'POST', '/v1/database');
  t.same([failed.status, unavailable.status], [500, 503]);
  await until(() => lines.length === 2, { what: 'the lines' });
  t.match(lines, [
    {
      level: 50,
      msg: 'answered internal_error',
      request_id: failed.id,
      actor_id: 'act_1',
      account_id: 'acc_1',
      method: 'POST',
      route: '/v1/broken',
      status: 500,
      ms: Number,
      error_code: 'internal_error',
      err: { message: 'the secret reason', stack: String },
    },
    { level: 40, msg: 'answered service_unavailable', request_id: unavailable.id, status: 503, err: {} },
  ]);
});

t.test('without a level nothing is written, and the API answers all the same', async (t) => {
  const { fixture, lines } = await serveLogging(t, 'silent');
  t.equal((await call(fixture, 'POST', '/v1/broken')).status, 500);
  t.equal((await call(fixture, 'POST', '/v1/things/1/notes', { body: '{"text":"x"}' })).status, 201);
  t.same(lines, []);
});

t.test('the link to the log of a request', async (t) => {
  const linkOf = async (requestLogUrl: string | null) => {
    const fixture = await serve(t, { requestLogUrl });
    const { text, id } = await call(fixture, 'GET', '/v1/nothing');
    return { url: JSON.parse(text).error.request_log_url, id };
  };
  const behind = await linkOf('https://logs.example/requests');
  t.equal(behind.url, `https://logs.example/requests/${behind.id}`);
  const inside = await linkOf('https://logs.example/search?query={request_id}&range=1h');
  t.equal(inside.url, `https://logs.example/search?query=${inside.id}&range=1h`);
  t.equal((await linkOf(null)).url, null);
});

t.test('each error links to the log of its own request', async (t) => {
  const { credentials } = createRateLimits({ requests: 1, seconds: 60 });
  const fixture = await serve(t, { requestLogUrl: 'https://logs.example', limiter: credentials });
  for (const [method, path] of [
    ['PUT', '/healthz'],
    ['PUT', '/v1/things/1'],
    ['POST', '/v1/broken'],
    ['GET', '/v1/things/1'],
  ] as const) {
    const { text, id, status } = await call(fixture, method, path);
    t.equal(
      JSON.parse(text).error.request_log_url,
      `https://logs.example/${id}`,
      `${method} ${path}: ${status}`,
    );
  }
});
