/** `/` and `/demo`: their content, and the callers that get the credentials of the demo account. */

import { readdirSync, readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { connect } from '../../src/contract/client/index.ts';
import {
  isLoopbackAddress,
  isLoopbackHost,
  isLoopbackOrigin,
} from '../../src/platform/http/connection/origins.ts';
import { startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { demo } = app;
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
    '/demo',
    '/metrics',
    '/readyz',
    'npm run -s tail',
  ]) {
    t.match(text, part);
  }
  t.match(text, demo.api_key, 'the command to send has the key of the demo account');
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

t.test('the demo page, and all that it loads, from this server', async (t) => {
  const { status, headers, text } = await call(app.baseUrl, 'GET', '/demo');
  t.equal(status, 200);
  t.match(headers['content-security-policy'], "frame-ancestors 'none'");
  t.notMatch(text, /parley_|<script(?![^>]*src=)|style=|https?:/, 'no key, nothing inline, no other host');
  const directory = join(import.meta.dirname, '../../src/edge/console/assets');
  const names = readdirSync(directory);
  t.ok(names.includes('demo.js'));
  for (const name of names) {
    const { status, headers } = await call(app.baseUrl, 'GET', `/demo/assets/${name}`);
    t.equal(status, 200, name);
    if (!name.endsWith('.js')) continue;
    t.equal(headers['content-type'], 'text/javascript; charset=utf-8');
    const source = readFileSync(join(directory, name), 'utf8');
    for (const [, specifier = ''] of source.matchAll(/^import .* from '([^']+)';$/gm)) {
      const { pathname } = new URL(specifier, `${app.baseUrl}/demo/assets/${name}`);
      t.equal((await call(app.baseUrl, 'GET', pathname)).status, 200, `${name} imports ${pathname}`);
    }
  }
  for (const path of ['/demo', '/demo/session']) {
    const method = path === '/demo' ? 'GET' : 'POST';
    const answer = await call(app.baseUrl, method, path, {
      Host: 'evil.example',
      Origin: 'http://evil.example',
    });
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
    const { status, text } = await call(app.baseUrl, 'POST', '/demo/session', headers);
    t.equal(status, 403, JSON.stringify(headers));
    t.match(JSON.parse(text), { error: { code: 'insufficient_permissions', param: 'Origin' } });
  }
  const session = await sessionOf(app.baseUrl);
  t.equal(session.headers['cache-control'], 'no-store');
  t.notMatch(session.text, /parley_/, 'no key');
  const { people } = session;
  t.strictSame(Object.keys(people), ['ada', 'grace', 'carl']);
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

t.test('an approval, as the demo page has it', async (t) => {
  const { people, agent, conversations } = await sessionOf(app.baseUrl);
  const { ada } = people;
  const client = connect({ url: app.baseUrl, account: demo.account_id, token: ada.token });
  t.teardown(() => client.close());
  const waiting: string[] = [];
  client.on('agent_run.updated', ({ id, status }) => {
    if (status === 'awaiting_approval') waiting.push(id);
  });
  const said: { readonly body: string | null; readonly attachments: readonly object[] | null }[] = [];
  client.subscribe(conversations.group, { onMessage() {}, onUpdate: (message) => said.push(message) });
  await until(() => client.state === 'live', { what: 'live', timeoutMs: 60_000 });
  await client.send(conversations.group, `@${agent.slug} Create a summary.`);
  const id = await until(() => waiting[0], { what: 'a run that waits', timeoutMs: 60_000 });

  const run = await app.call<Run>('GET', `/v1/ai/runs/${id}?include[]=actions`, { token: ada.token });
  const [action] = run.body.actions;
  t.match(action, {
    tool: 'create_artifact',
    status: 'pending_review',
    arguments: { filename: 'summary.md' },
  });
  await app.call('POST', `/v1/ai/runs/${id}/actions/continue`, {
    token: ada.token,
    body: { decisions: [{ action_id: action!.id, approve: true }] },
  });
  const end = await until(() => said.find(({ body }) => body?.endsWith('was carried out.')), {
    what: 'the end of the answer',
    timeoutMs: 60_000,
  });
  t.match(end.attachments, [{ filename: 'summary.md' }]);
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
      ['GET', '/demo'],
      ['GET', '/demo/assets/demo.js'],
      ['POST', '/demo/session'],
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

interface Run {
  readonly actions: readonly { readonly id: string }[];
}

interface Session {
  readonly people: Readonly<
    Record<'ada' | 'grace' | 'carl', { readonly id: string; readonly token: string }>
  >;
  readonly agent: { readonly slug: string };
  readonly conversations: { readonly group: string };
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
