/** The Dockerfile, as far as it can be tested without building it. */

import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { startApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { freePort } from '../support/free-port.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { copyCheckout } from './checkout.ts';
import { ROOT, runProgram, startParley, UNSAFE_POSTGRES } from './parley.ts';

const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replaceAll('\\\n', '');

t.test('its Node is the pinned one, and what it copies is let through', async (t) => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  t.match(text, `FROM node:${dependencies.node}-`);
  const allowed = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
    paths.split(' '),
  );
  t.ok(copied.includes('src'));
  const isAllowed = (path: string): boolean =>
    allowed.includes(`!${path}`) || (path.includes('/') && isAllowed(dirname(path)));
  for (const path of copied) t.ok(isAllowed(path), path);
});

t.test('what it copies is enough for a server', async (t) => {
  const build = text.slice(text.indexOf(' AS build'), text.indexOf('\nFROM debian'));
  const copied = [...build.matchAll(/^COPY (?:--from=tools )?(.+) \S+$/gm)].flatMap(([, paths = '']) =>
    paths.split(' ').map((path) => path.replace(/^\/app\//, '')),
  );
  t.ok(copied.includes('packages') && copied.includes('migrations'));
  // What is built is in the folders that are copied as a whole.
  const parts = copied.filter((path) => !copied.some((whole) => path.startsWith(`${whole}/`)));
  const directory = copyCheckout(t, undefined, parts);
  const { url } = await createTestDatabase(t);
  const port = await freePort();
  const server = startParley(
    t,
    {
      ...UNSAFE_POSTGRES,
      DATABASE_URL: url,
      PORT: String(port),
      PARLEY_DATA_DIR: join(directory, 'data'),
    },
    { command: [process.execPath, join(directory, 'bin/parley.cjs'), 'start'], cwd: directory },
  );
  await server.logs(/"started"/);
  for (const path of [
    '/readyz',
    '/console/',
    '/v1/client.js',
    '/widget.js',
    '/docs/operations',
    '/v1/openapi.json',
  ]) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    t.equal(response.status, 200, path);
    await response.body?.cancel();
  }
});

t.test('without the packages for development there are no pages, and the start says so', async (t) => {
  const directory = copyCheckout(t);
  for (const out of ['client/npm', 'archives/npm', 'console', 'widget']) {
    rmSync(join(directory, 'packages', out, 'dist'), { recursive: true });
  }
  const built = await runProgram(process.execPath, ['bin/build.cjs', '--optional'], {}, directory);
  t.match(built, { code: 0, stderr: /were not built: Cannot find package/ });
  const port = await freePort();
  const server = startParley(
    t,
    {
      ...UNSAFE_POSTGRES,
      DATABASE_URL: (await createTestDatabase(t)).url,
      PORT: String(port),
      PARLEY_DATA_DIR: join(directory, 'data'),
    },
    { command: [process.execPath, join(directory, 'bin/parley.cjs'), 'start'], cwd: directory },
  );
  await server.logs(/"started"/);
  t.match(
    server.stderr,
    /"level":40.*The console, the widget and the SDK are missing, because the build failed/,
  );
  t.match(server.stderr, /Run \\"npm ci\\" without --omit=dev/);
  for (const [path, status] of [
    ['/readyz', 200],
    ['/console/', 404],
    ['/widget.js', 404],
    ['/v1/client.js', 404],
  ] as const) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    t.equal(response.status, status, path);
    if (status === 404) t.match(await response.text(), /Cannot find package 'rolldown'/, path);
    else await response.body?.cancel();
  }
});

t.test('its health check follows /readyz', async (t) => {
  const [, json = ''] = /^HEALTHCHECK .*CMD\s+(\[.*\])$/m.exec(text) ?? [];
  const [file, ...args]: string[] = JSON.parse(json);
  const check = (port: number) => runProgram(file ?? '', args, { PORT: String(port) });
  const { url } = await createTestDatabase(t);
  const config = readConfig({ ...UNSAFE_POSTGRES, PORT: '0', DATABASE_URL: url });
  const app = await startApp({ config, log: createLog('silent') });
  t.teardown(() => app.close());
  t.match(await check(app.port), { code: 0 });
  t.match(await check(await freePort()), { code: 1 }, 'where nothing listens');
  const elsewhere = `${args.at(-1)}`.replace('/readyz', '/nowhere');
  const other = await runProgram(file ?? '', [...args.slice(0, -1), elsewhere], { PORT: String(app.port) });
  t.match(other, { code: 1 }, 'another status');
});
