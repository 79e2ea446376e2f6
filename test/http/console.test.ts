/** `/` and `/demo/`: their content, and the callers that get credentials of the demo account. */

import { type IncomingHttpHeaders, request } from 'node:http';
import type { List } from '@parley/protocol/lists.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { isLoopbackAddress, isLoopbackHost, isLoopbackOrigin } from '../../src/platform/http/origins.ts';
import { callsAt, startTestApp } from '../support/app.ts';

const app = await startTestApp(t);
const { demo } = app;
const api = callsAt(app, NEWEST_VERSION);
const host = new URL(app.baseUrl).host;
const DEV = 'http://localhost:5173';

t.test('the welcome page: the running server, links, commands to paste', async (t) => {
  const { status, headers, text } = await call(app.baseUrl, 'GET', '/');
  t.equal(status, 200);
  t.equal(headers['content-type'], 'text/html; charset=utf-8');
  t.equal(headers['cache-control'], 'no-store');
  t.equal(headers['cross-origin-resource-policy'], 'same-origin');
  t.match(headers['content-security-policy'], "default-src 'self'");
  for (const part of [
    'PostgreSQL',
    'memory',
    '/console/',
    '/docs',
    '/demo/shop',
    '/readyz',
    'npm run -s tail',
  ]) {
    t.match(text, part);
  }
  t.match(text, 'demo.json', 'the command to send reads the key of the demo account');
  t.notOk(text.includes(demo.api_key));
  t.notMatch(text, /<script|style=/, 'nothing inline');
  for (const [, path = ''] of text.matchAll(/href="([^"#]+)"/g)) {
    t.equal((await call(app.baseUrl, 'GET', path)).status, 200, path);
  }
});

t.test('no key and no place of anything, for a page that is not of this server', async (t) => {
  for (const headers of [
    { Host: 'evil.example' },
    { Host: `evil.example:${new URL(app.baseUrl).port}` },
    { Origin: DEV },
    { Origin: 'null' },
    { Origin: `http://127.0.0.1.evil.example` },
  ]) {
    const { status, text } = await call(app.baseUrl, 'GET', '/', headers);
    t.equal(status, 200);
    t.notMatch(text, /parley_|acc_|cnv_|PostgreSQL/, JSON.stringify(headers));
  }
});

t.test('the sample shop: the widget of its site, and all that it loads', async (t) => {
  const { status, headers, text } = await call(app.baseUrl, 'GET', '/demo/shop');
  t.equal(status, 200);
  t.equal(headers['cache-control'], 'no-store');
  t.match(headers['content-security-policy'], "frame-ancestors 'none'");
  t.notMatch(text, /parley_|<script(?![^>]*src=)|style=|https?:/, 'no key, nothing inline, no other host');
  for (const [, path = ''] of text.matchAll(/(?:href|src)="([^"#]+)"/g)) {
    t.equal((await call(app.baseUrl, 'GET', path)).status, 200, path);
  }
  const [, widget] = /data-widget="(\w+)"/.exec(text)!;
  t.match(text, `data-account="${demo.account_id}"`);
  const byName = await call(app.baseUrl, 'GET', '/demo/shop', {
    Host: host.replace('127.0.0.1', 'LocalHost'),
  });
  t.match(byName.text, `data-widget="${widget}"`, 'one widget, however the page is reached');
  const { body } = await api.call<WidgetPublic>('GET', `/v1/widgets/${widget}/public`);
  t.match(body, { sites: [app.baseUrl.replace('127.0.0.1', 'localhost'), app.baseUrl], identifies: true });

  const { text: signed } = await call(app.baseUrl, 'POST', '/demo/shop/token', { Origin: app.baseUrl });
  const { token } = JSON.parse(signed) as { token: string };
  const cases = await api.call<List<Conversation>>('GET', '/v1/messaging/conversations', { token });
  t.match(cases.body.data, [{ id: demo.conversations.case }], 'its token names the customer');
  const elsewhere = { Host: 'evil.example', Origin: 'http://evil.example' };
  for (const [method, path] of [
    ['GET', '/demo/shop'],
    ['POST', '/demo/shop/token'],
    ['POST', '/demo/session'],
  ] as const) {
    const answer = await call(app.baseUrl, method, path, elsewhere);
    t.match(JSON.parse(answer.text), { error: { code: 'resource_not_found' } }, `${path} of another name`);
  }
  const { status: wrong, headers: allowed } = await call(app.baseUrl, 'GET', '/demo/session');
  t.match([wrong, allowed.allow], [405, 'POST']);
});

t.test('tokens of the demo people: fifteen minutes, for the page of this server alone', async (t) => {
  for (const headers of [
    {},
    { Origin: DEV },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://127.0.0.1:1' },
    { Origin: app.baseUrl, Host: host.replace('127.0.0.1', 'localhost') },
  ]) {
    for (const path of ['/demo/session', '/demo/shop/token']) {
      const { status, text } = await call(app.baseUrl, 'POST', path, headers);
      t.equal(status, 403, `${path} ${JSON.stringify(headers)}`);
      t.match(JSON.parse(text), { error: { code: 'insufficient_permissions', param: 'Origin' } });
    }
  }
  const session = await sessionOf(app.baseUrl);
  t.equal(session.headers['cache-control'], 'no-store');
  t.notMatch(session.text, /parley_/, 'no key');
  const { people } = session;
  t.strictSame(Object.keys(people), ['ada', 'grace']);
  for (const { id, token } of Object.values(people)) {
    const { sub, exp, iat } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
    t.equal(sub, id);
    t.equal(exp - Math.floor(iat), 15 * 60);
  }
});

t.test('pages of every port of this machine may call and connect', async (t) => {
  const preflight = { Origin: DEV, 'Access-Control-Request-Method': 'POST' };
  const path = `/v1/messaging/conversations/${demo.conversations.group}/messages`;
  const allowed = await call(app.baseUrl, 'OPTIONS', path, preflight);
  t.equal(allowed.headers['access-control-allow-origin'], DEV);
  const refused = await call(app.baseUrl, 'OPTIONS', path, {
    ...preflight,
    Origin: 'http://localhost.evil.example',
  });
  t.equal(refused.headers['access-control-allow-origin'], undefined);
  t.equal(await upgradeFrom(app.baseUrl, DEV), 101);
  t.equal(await upgradeFrom(app.baseUrl, 'http://localhost.evil.example'), 403);
});

t.test('without the demo account, or where others may come from elsewhere', async (t) => {
  for (const env of [{ HOST: '0.0.0.0' }, { PARLEY_PUBLIC_URL: 'https://chat.example' }] as Readonly<
    Record<string, string>
  >[]) {
    const other = await startTestApp(t, env);
    const base = `http://127.0.0.1:${new URL(other.baseUrl).port}`;
    const welcome = await call(base, 'GET', '/');
    t.equal(welcome.status, 200);
    t.notMatch(welcome.text, /parley_|acc_|\/demo|PostgreSQL/, JSON.stringify(env));
    for (const [method, path] of [
      ['GET', '/demo/shop'],
      ['GET', '/demo/shop.js'],
      ['POST', '/demo/session'],
      ['POST', '/demo/shop/token'],
    ] as const) {
      const { status, text } = await call(base, method, path, { Origin: base });
      t.equal(status, 404, `${method} ${path} ${JSON.stringify(env)}`);
      t.match(JSON.parse(text), { error: { code: 'resource_not_found' } });
    }
    t.equal(await upgradeFrom(base, DEV), 403);
  }
});

t.test('addresses that count as this machine', async (t) => {
  for (const address of ['127.0.0.1', '127.8.0.1', 'localhost', '::1'])
    t.ok(isLoopbackAddress(address), address);
  for (const address of ['0.0.0.0', '::', '10.0.0.1', 'localhost.example'])
    t.notOk(isLoopbackAddress(address));
  for (const header of ['localhost', 'LocalHost:80', '127.0.0.1:8080', '[::1]:8080'])
    t.ok(isLoopbackHost(header));
  for (const header of ['127.0.0.1.example', 'xlocalhost', 'localhost:80:80', '', undefined]) {
    t.notOk(isLoopbackHost(header), String(header));
  }
  t.ok(isLoopbackOrigin('https://[::1]:5173'));
  for (const origin of [
    'null',
    'ftp://localhost',
    'http://localhost:80/x',
    'http://localhost://x',
    'localhost',
  ]) {
    t.notOk(isLoopbackOrigin(origin), origin);
  }
});

interface Session {
  readonly people: Readonly<Record<'ada' | 'grace', { readonly id: string; readonly token: string }>>;
}

async function sessionOf(base: string) {
  const { status, headers, text } = await call(base, 'POST', '/demo/session', { Origin: base });
  t.equal(status, 200);
  return { headers, text, ...(JSON.parse(text) as Session) };
}

/** By Node's own client: unlike fetch it sends any Host and Origin. */
function call(base: string, method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
    const outgoing = request(new URL(path, base), { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    outgoing.on('error', reject).end();
  });
}

/** The status with which an upgrade request of a page is answered. */
function upgradeFrom(base: string, origin: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${base}/v1/realtime?version=1.1.harbor&account=${demo.account_id}`, {
      headers: {
        Origin: origin,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
    });
    outgoing.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response.statusCode);
    });
    outgoing.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    outgoing.on('error', reject).end();
  });
}
