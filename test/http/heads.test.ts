/** The head of a request: its maximum length, its bytes, the forms of its target. */

import { request } from 'node:http';
import t from 'tap';
import { upgradeRoutes } from '../../src/edge/gateway/routes.ts';
import { AllowedOrigins } from '../../src/platform/http/origins.ts';
import { MAX_HEAD_BYTES } from '../../src/platform/http/request-head.ts';
import { startNginx } from '../support/nginx.ts';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { HEADER_LINES, HEADERS, serve } from './fixture.ts';

t.jobs = 4;

t.test('a head of 16 KiB is served, a longer one is refused with the envelope', async (t) => {
  const { port, handled } = await serve(t);
  const line = 'GET /v1/things/long HTTP/1.1\r\n';
  const withHead = (bytes: number) => {
    const head = `${line}Host: a\r\n${HEADER_LINES}X-Cookie: `;
    return `${head}${'c'.repeat(bytes - head.length)}\r\n\r\n`;
  };
  const fits = new RawClient(port).send(withHead(MAX_HEAD_BYTES - 100));
  await answered(fits);
  t.same(fits.statuses, [200]);
  fits.destroy();

  for (const bytes of [MAX_HEAD_BYTES + 100, 30_000, 60_000]) {
    const client = new RawClient(port).send(withHead(bytes));
    await client.closed;
    t.same(client.statuses, [431], `${bytes} bytes`);
    t.same(client.codes, ['invalid_format']);
    t.match(client.received, /\r\nRequest-Id: req_/);
  }
  const target = new RawClient(port).send(`GET /v1/things/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await target.closed;
  t.same(target.statuses, [431], 'the target counts');
  const many = Array.from({ length: 95 }, (_, i) => `X-${i}: ${'v'.repeat(180)}\r\n`).join('');
  const small = new RawClient(port).send(`${line}Host: a\r\n${HEADER_LINES}${many}\r\n`);
  await small.closed;
  t.same(small.statuses, [431], 'many headers count together');
  t.same(handled, ['GET long']);
});

t.test('a query with a hundred sender ids fits the head of a request', async (t) => {
  const { url } = await serve(t);
  const ids = Array.from({ length: 100 }, () => `sender_ids%5B%5D=act_${'x'.repeat(21)}`).join('&');
  const response = await fetch(`${url}/v1/things/x?${ids}`, { headers: HEADERS });
  t.equal(response.status, 400, 'this endpoint has no such parameter, and says so');
  t.match(await response.json(), { error: { code: 'parameter_unknown' } });
});

t.test('no answer names the library', async (t) => {
  const { url } = await serve(t);
  for (const path of ['/v1/things/x', '/v1/nothing', '/healthz']) {
    const { headers } = await fetch(url + path, { headers: HEADERS });
    t.equal(headers.get('uwebsockets'), null, path);
    t.equal(headers.get('server'), null, path);
  }
});

// Documented limits (src/platform/http/DECISIONS.md#heads-above-16-kib): these answers are the
// library's own, without the envelope.
t.test('requests that the library answers itself', async (t) => {
  const { port, handled } = await serve(t);
  const statuses = async (text: string) => {
    const client = new RawClient(port).send(text);
    await client.closed;
    t.match(client.received, /<h1>/, 'HTML');
    return client.statuses;
  };
  const head = `Host: a\r\n${HEADER_LINES}`;
  t.same(await statuses(`GET / HTTP/1.1\r\n${head}X: ${'b'.repeat(70_000)}\r\n\r\n`), [431], 'over 64 KiB');
  t.same(await statuses(`GET / HTTP/1.0\r\n${head}\r\n`), [505], 'HTTP/1.0');
  t.same(await statuses(`GET http://a/v1/things/x HTTP/1.1\r\n${head}\r\n`), [505], 'an absolute target');
  t.same(handled, []);

  // A proxy turns an absolute target into the usual one.
  const proxy = await startNginx(t, { upstreamPort: port });
  const client = new RawClient(proxy.port).send(`GET http://a/v1/things/x HTTP/1.1\r\n${head}\r\n`);
  await answered(client);
  t.same(client.statuses, [200]);
  client.destroy();
  t.same(handled, ['GET x']);
});

t.test('an Idempotency-Key loses bytes beyond ASCII at its end', async (t) => {
  const keys: string[] = [];
  const { port } = await serve(t, {
    idempotency: {
      begin: async (_scope, key) => {
        keys.push(key);
        throw new Error('enough was seen');
      },
    },
  });
  const post = (to: number, key: string) =>
    new RawClient(to).send(
      `POST /v1/things/x/notes HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}Idempotency-Key: ${key}\r\n` +
        'Connection: close\r\nContent-Length: 12\r\n\r\n{"text":"x"}',
    );
  // Documented limit (src/platform/http/DECISIONS.md#bytes-behind-a-header): the library cuts these
  // bytes off the end of every header's value.
  for (const end of ['\xe9', '\xc3\xa9', '\xff']) await post(port, `ordre-${end}`).closed;
  t.same(keys, ['ordre-', 'ordre-', 'ordre-']);

  // nginx passes the bytes on as they are.
  const proxy = await startNginx(t, { upstreamPort: port });
  await post(proxy.port, 'ordre-\xe9').closed;
  t.same(keys.at(-1), 'ordre-');
});

t.test('GET /v1/realtime without an upgrade is answered 426', async (t) => {
  const { port } = await serve(t, { publicRoutes: upgradeRoutes(new AllowedOrigins([])) });
  const { status, headers, body } = await get(port, '/v1/realtime');
  t.equal(status, 426);
  t.equal(headers.upgrade, 'websocket');
  t.match(headers.connection, /upgrade/i);
  t.match(headers['request-id'], /^req_/);
  t.match(JSON.parse(body), { error: { code: 'invalid_format', type: 'invalid_request_error' } });
});

/** fetch hides `Connection`. */
function get(port: number, path: string) {
  return new Promise<{
    status: number | undefined;
    headers: Record<string, string | string[] | undefined>;
    body: string;
  }>((resolve, reject) => {
    const sent = request({ port, path, agent: false }, (response) => {
      let body = '';
      response.on('data', (data) => {
        body += data;
      });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function answered(client: RawClient): Promise<void> {
  await until(() => client.statuses.length > 0, { what: 'an answer' });
}
