/** The SDK as a server offers it: as one module for pages, with its declarations, as a package. */

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { BUILD } from '../../../src/platform/build.ts';
import { copyCheckout } from '../../../test/start/checkout.ts';
import { runProgram, startParley, UNSAFE_POSTGRES } from '../../../test/start/parley.ts';
import { startTestApp } from '../../../test/support/app.ts';
import { builtClient } from '../../../test/support/built-client.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { createTestDatabase } from '../../../test/support/postgres.ts';
import { until } from '../../../test/support/until.ts';

const REGISTERED = 'npm/@parley%2fclient';
const ORIGIN = 'https://app.example';
const SERVED = join(builtClient(), 'dist/served');
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
  t.strictSame(await said('modules'), { modules: [entry] }, 'one file');
});

t.test('each file: its bytes, and the headers that a browser needs', async (t) => {
  for (const [name, type] of [
    ['client.js', 'text/javascript; charset=utf-8'],
    ['client.d.ts', 'text/plain; charset=utf-8'],
    ['client.tgz', 'application/gzip'],
  ] as const) {
    const url = `${app.baseUrl}/v1/${name}`;
    const response = await fetch(url, { headers: { Origin: ORIGIN } });
    t.ok(Buffer.from(await response.arrayBuffer()).equals(readFileSync(join(SERVED, name))), name);
    t.equal(response.headers.get('content-type'), type);
    t.equal(response.headers.get('access-control-allow-origin'), ORIGIN, 'pages load modules with CORS');
    t.equal(response.headers.get('cache-control'), 'no-cache');
    const tag = response.headers.get('etag') ?? '';
    t.equal((await fetch(url, { headers: { 'If-None-Match': tag } })).status, 304);
    const strange = await fetch(url, { headers: { Origin: 'https://strange.example' } });
    t.equal(strange.headers.get('access-control-allow-origin'), null);
    await strange.body?.cancel();
  }
});

t.test('a server without a build starts, and says why it has no package', async (t) => {
  const checkout = copyCheckout(t);
  const dist = join(checkout, 'packages/client/npm/dist');
  const { url } = await createTestDatabase(t);
  const command = [process.execPath, join(checkout, 'bin/parley.cjs'), 'start'] as const;
  const port = await freePort();
  const env = { ...UNSAFE_POSTGRES, DATABASE_URL: url, PORT: String(port), PARLEY_DATA_DIR: checkout };
  // The copy shares its files with this checkout: those of the build are replaced, not changed.
  rmSync(dist, { recursive: true, force: true });
  const server = startParley(t, env, { command, cwd: checkout });
  await server.logs(/"started"/);
  const answer = async (name: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/${name}`);
    return { status: response.status, ...((await response.json()) as { error: object }) };
  };
  for (const name of ['client.js', 'client.d.ts', 'client.tgz']) {
    const message =
      /^This server has no package of the SDK, because there was no build\. Run "npm run build"/;
    t.match(await answer(name), { status: 404, error: { code: 'resource_not_found', message } }, name);
  }
  t.match(await answer(REGISTERED), {
    status: 404,
    error: { message: /^This server has no package of the SDK/ },
  });

  const reference = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/docs/sdk`);
    return [response.status, response.headers.get('content-type'), await response.text()];
  };
  const page = [
    404,
    'text/html; charset=utf-8',
    /<p>This server has no package of the SDK, because there was no/,
  ];
  t.match(await reference(), page, 'the page of its reference says so too');

  t.comment('the end of npm ci without the tools of the build');
  const built = await runProgram(
    process.execPath,
    [join(checkout, 'bin/build.cjs'), '--optional'],
    {},
    checkout,
  );
  t.equal(built.code, 0, built.stderr);
  t.match(
    built.stderr,
    /^parley: the packages for users and the pages were not built: Cannot find package 'rolldown'/,
  );
  const why = /because the build failed: Cannot find package 'rolldown' imported from bin\/build\/build\.ts/;
  t.match(await answer('client.js'), { status: 404, error: { message: why } });
  t.match(await answer(REGISTERED), { status: 404, error: { message: why } });
  t.equal((await runProgram(process.execPath, [join(checkout, 'bin/build.cjs')], {}, checkout)).code, 1);

  t.comment('a build beside the running server');
  mkdirSync(join(dist, 'served'), { recursive: true });
  cpSync(SERVED, join(dist, 'served'), { recursive: true });
  writeFileSync(join(dist, 'served/client.js'), '// built');
  t.match(await reference(), [200, page[1], '<h2 id="area-connecting">Connecting</h2>']);
  const response = await fetch(`http://127.0.0.1:${port}/v1/client.js`);
  t.equal(await response.text(), '// built');
  t.match(await answer(REGISTERED), { status: 200, 'dist-tags': { latest: BUILD.version } });
});
