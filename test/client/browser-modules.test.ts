/** The SDK as a page gets it from a server: plain JavaScript, all of it, and it works. */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const ORIGIN = 'https://app.example';
const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: ORIGIN });
const { account_id, api_key, conversations } = app.demo;
const entry = `${app.baseUrl}/v1/client.js`;

t.test('in nothing but what browsers have, it brings what is sent', async (t) => {
  const args = ['--experimental-vm-modules', join(import.meta.dirname, 'page-child.ts')];
  const page = spawn(process.execPath, [...args, entry, api_key, account_id, conversations.group]);
  t.teardown(() => page.kill('SIGKILL'));
  const lines: Record<string, unknown>[] = [];
  let errors = '';
  page.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  createInterface({ input: page.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  const said = (name: string, value?: unknown) =>
    until(() => lines.find((line) => name in line && (value === undefined || line[name] === value)), {
      what: `${name} from the page, which said ${JSON.stringify(lines)} ${errors}`,
    });

  await said('state', 'live');
  for (const body of ['ahoy', 'aye']) {
    await app.call('POST', `/v1/messaging/conversations/${conversations.group}/messages`, {
      body: { body, client_message_id: body },
    });
  }
  await said('body', 'aye');
  t.strictSame(
    lines.filter(({ body }) => body !== undefined),
    [
      { sequence: 1, body: 'ahoy' },
      { sequence: 2, body: 'aye' },
    ],
  );
  const { modules } = (await said('modules')) as { modules: string[] };
  t.ok(modules.length > 15, `${modules.length} modules`);
  for (const url of modules) t.match(new URL(url).pathname, /^\/v1\/(client|protocol)(\/[\w-]+)*\.js$/);
});

t.test('each module: the headers that a browser needs', async (t) => {
  const path = '/v1/client/client.js';
  const response = await fetch(app.baseUrl + path, { headers: { Origin: ORIGIN } });
  const text = await response.text();
  t.equal(response.headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.equal(
    response.headers.get('access-control-allow-origin'),
    ORIGIN,
    'modules are always fetched with CORS',
  );
  t.notMatch(text, /\.ts'/, 'imports lead to JavaScript');
  t.notMatch(text, /: Client\b/, 'no types');

  const tag = response.headers.get('etag') ?? '';
  t.equal(response.headers.get('cache-control'), 'no-cache');
  const again = await fetch(app.baseUrl + path, { headers: { 'If-None-Match': tag } });
  t.equal(again.status, 304);
  const strange = await fetch(app.baseUrl + path, { headers: { Origin: 'https://strange.example' } });
  t.equal(strange.headers.get('access-control-allow-origin'), null);
  await strange.body?.cancel();
});

t.test('nothing else of these directories', async (t) => {
  for (const path of [
    '/v1/client/index.ts',
    '/v1/protocol/validation.js',
    '/v1/client/',
    '/v1/protocol/commands.js',
  ]) {
    const response = await fetch(app.baseUrl + path);
    const { error } = (await response.json()) as { error: { code: string } };
    t.match(
      [response.status, error.code],
      [/^40[04]$/, /^(resource_not_found|parameter_missing|api_version_required)$/],
      path,
    );
  }
});
