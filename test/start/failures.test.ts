/** A failure of the start is one line and exit code 1; everything that was started is stopped. */

import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { startApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { createLog } from '../../src/platform/log.ts';
import type { Environment } from '../../src/platform/settings/reader.ts';
import { makeCertificate } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { testRedisUrl } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { UNPRIVILEGED } from './checkout.ts';
import {
  canConnect,
  type Finished,
  freshDirectory,
  PARLEY,
  runParley,
  runProgram,
  startParley,
  UNSAFE_POSTGRES,
} from './parley.ts';

// Most of the time the tests wait for each other's processes.
t.jobs = 3;

t.test('a bad environment: every problem at once', async (t) => {
  const env = { PORT: 'http', PARLEY_DEMO: 'yes', PARLEY_DEMOO: 'on', PARLEY_SOCKET_PONG_MS: '-1' };
  const { code, stdout, stderr } = await runParley(['start'], env);
  t.match({ code, stdout }, { code: 1, stdout: '' });
  const lines = stderr.trimEnd().split('\n');
  t.equal(lines.length, 4, stderr);
  for (const name of Object.keys(env)) {
    t.ok(
      lines.some((line) => line.startsWith('{"level":60,') && line.includes(`"msg":"${name} `)),
      name,
    );
  }
});

t.test('an unknown command is refused with the list of commands', async (t) => {
  const { code, stderr } = await runParley(['stop'], {});
  t.equal(code, 2);
  t.match(stderr, /^parley: no command "stop"; there are start, admin, tail\n$/);
});

t.test('start fails in one line if the port is taken', async (t) => {
  const dataDir = freshDirectory(t);
  const { port } = await listen(t);
  const finished = await runParley(['start'], { PORT: String(port), PARLEY_DATA_DIR: dataDir });
  isOneLine(t, finished, new RegExp(`\\b${port}\\b`));
  t.notOk(existsSync(join(dataDir, 'postgres')), 'nothing was started for it');
  t.notOk(existsSync(join(dataDir, 'demo.json')), 'nothing tells of a server that is not there');
});

t.test('a Postgres that is not there', async (t) => {
  const env = { DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${await freePort()}/x` };
  t.match(await refusalOf(t, env), /^cannot reach Postgres at 127\.0\.0\.1:\d+\/x: /);
});

t.test('a Postgres that does not answer', async (t) => {
  const { port } = await listen(t);
  const env = { DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${port}/x` };
  t.match(await refusalOf(t, env), /Postgres/);
});

t.test('a Postgres that is too old', async (t) => {
  const { port } = await listen(t, oldPostgres);
  const refusal = await refusalOf(t, { DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${port}/x` });
  t.match(
    refusal,
    /^the Postgres at 127\.0\.0\.1:\d+\/x is version 14\.19 and Parley needs 15 or newer: upgrade it/,
  );
});

t.test('a Redis that is too old', async (t) => {
  const { url } = await createTestDatabase(t);
  const { port } = await listen(t, oldRedis);
  const redis = `redis://:hunter2@127.0.0.1:${port}`;
  const refusal = await refusalOf(t, { DATABASE_URL: url, REDIS_URL: redis });
  t.match(
    refusal,
    /^cannot use Redis at redis:\/\/127\.0\.0\.1:\d+.*: it is version 6\.2\.14, and Parley needs 7 or newer/,
  );
});

t.test('files of TLS that cannot be used are named with what is wrong with them', async (t) => {
  const directory = freshDirectory(t);
  const [cert, key] = await makeCertificate(directory, 'one');
  const [, otherKey] = await makeCertificate(directory, 'other');
  const empty = join(directory, 'empty.pem');
  const encrypted = join(directory, 'encrypted.pem');
  const garbled = join(directory, 'garbled.pem');
  await writeFile(empty, '');
  await writeFile(garbled, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  await runProgram(
    'openssl',
    ['pkey', '-in', key, '-aes256', '-passout', 'pass:hunter2', '-out', encrypted],
    {},
  );
  const missing = join(directory, 'missing.pem');
  const wrong: readonly (readonly [certFile: string, keyFile: string, RegExp])[] = [
    [missing, key, /^PARLEY_TLS_CERT .*missing\.pem cannot be read: ENOENT/],
    [cert, missing, /^PARLEY_TLS_KEY .*missing\.pem cannot be read: ENOENT/],
    [cert, directory, /^PARLEY_TLS_KEY .* cannot be read: EISDIR/],
    [key, cert, /is a private key and PARLEY_TLS_KEY \(.*\) a certificate: swap them$/],
    [
      cert,
      otherKey,
      /^PARLEY_TLS_KEY .*other-key\.pem does not belong to the certificate .*one-cert\.pem \(CN=one\)/,
    ],
    [empty, key, /^PARLEY_TLS_CERT .*empty\.pem has no certificate/],
    [cert, cert, /^PARLEY_TLS_KEY .*one-cert\.pem has no private key/],
    [garbled, key, /^PARLEY_TLS_CERT .*garbled\.pem has a certificate that cannot be parsed/],
    [cert, encrypted, /^PARLEY_TLS_KEY .*encrypted\.pem is encrypted with a passphrase/],
  ];
  // Nothing is looked at before the files: there is no Postgres here.
  const DATABASE_URL = `postgres://u:hunter2@127.0.0.1:${await freePort()}/x`;
  for (const [PARLEY_TLS_CERT, PARLEY_TLS_KEY, words] of wrong) {
    t.match(await refusalOf(t, { DATABASE_URL, PARLEY_TLS_CERT, PARLEY_TLS_KEY }), words);
  }
  const right = await refusalOf(t, { DATABASE_URL, PARLEY_TLS_CERT: cert, PARLEY_TLS_KEY: key });
  t.match(right, /^cannot reach Postgres/, 'files that belong together are passed');
});

t.test('a data directory that cannot be used', async (t) => {
  const directory = freshDirectory(t);
  const file = join(directory, 'file');
  await writeFile(file, '');
  t.match(
    await refusalOf(t, { PARLEY_DATA_DIR: join(file, 'data') }),
    /^the data directory \/.*\/file\/data cannot be used \(ENOTDIR\): a part of that path is a file: .* or set PARLEY_DATA_DIR/,
  );
  if (process.platform === 'linux') {
    t.match(
      await refusalOf(t, { PARLEY_DATA_DIR: '/proc/parley' }),
      /^the data directory \/proc\/parley cannot be used \(ENOENT\): no directory can be created there, set PARLEY_DATA_DIR/,
    );
  }
  const uid = process.geteuid?.() ?? 0;
  const locked = join(directory, 'locked');
  await mkdir(locked, { mode: 0o500 });
  await chmod(directory, 0o711);
  // Root may write anywhere: as root the test is another user while it asks.
  if (uid === 0) process.seteuid?.(UNPRIVILEGED.uid);
  const refusal = await refusalOf(t, { PARLEY_DATA_DIR: join(locked, 'data') });
  process.seteuid?.(uid);
  t.match(
    refusal,
    /^the data directory \/.*\/locked\/data cannot be used \(EACCES\): let the user that Parley runs as \(uid \d+\) write there, or set PARLEY_DATA_DIR/,
  );
});

t.test("the line of a node's start contains its environment", async (t) => {
  const { url } = await createTestDatabase(t);
  const REDIS_URL = await testRedisUrl(t);
  const dataDir = freshDirectory(t);
  const { host, pathname } = new URL(url);
  const env = { PORT: '0', DATABASE_URL: url, PARLEY_DATA_DIR: dataDir };
  const one = startParley(t, { ...env, REDIS_URL, PARLEY_ADMIN_PORT: '0', OPENAI_API_KEY: 'hunter2' });
  const [line] = await one.logs(/^.*"started".*$/m);
  t.match(JSON.parse(line), {
    database: new RegExp(`^${decodeURIComponent(host)}${pathname}, PostgreSQL \\d+\\.\\d+`),
    engine: new RegExp(`^${new URL(REDIS_URL).host}, Redis \\d+\\.`),
    files: join(dataDir, 'uploads'),
    models: 'openai',
    version: /^\d+\.\d+\.\d+/,
    node: process.versions.node,
  });
  t.notMatch(line, /hunter2|postgres:\/\/|@/, 'no credentials');
});

t.test('a Redis that is not there', async (t) => {
  const { url } = await createTestDatabase(t);
  const redis = `redis://:hunter2@127.0.0.1:${await freePort()}`;
  t.match(await refusalOf(t, { DATABASE_URL: url, REDIS_URL: redis }), /redis/i);
});

t.test('nodes that could not work together are refused', async (t) => {
  const { url } = await createTestDatabase(t);
  const alone = { DATABASE_URL: url };
  const together = { ...alone, REDIS_URL: await testRedisUrl(t) };
  const first = await startApp({
    config: readConfig({ ...UNSAFE_POSTGRES, PORT: '0', ...alone }),
    log: createLog('silent'),
  });
  t.teardown(() => first.close());
  // At once: each waits a while for a lock that a killed node may have left.
  const refused = [alone, together].map((env) => refusalOf(t, env));
  for (const refusal of refused) t.match(await refusal, /REDIS_URL/);
});

t.test('with the demo account only this machine may reach it', async (t) => {
  const { url } = await createTestDatabase(t);
  const port = await freePort();
  const env = {
    PORT: String(port),
    DATABASE_URL: url,
    PARLEY_DEMO: 'on',
    PARLEY_DATA_DIR: freshDirectory(t),
  };
  await startParley(t, env).logs(/"started"/);
  t.ok(await canConnect('127.0.0.1', port));
  // On Linux all of 127.0.0.0/8 is this machine: 127.0.0.2 stands for another interface.
  t.notOk(await canConnect('127.0.0.2', port));
});

t.test('without it everybody; a fatal error: logged, an orderly stop, exit code 1', async (t) => {
  const { url } = await createTestDatabase(t);
  const port = await freePort();
  // Loaded into the process as an operator might load a profiler; the product knows nothing of it.
  const bomb = 'data:text/javascript,process.on("SIGUSR2",()=>{throw new Error("boom")})';
  const [node, quickly, main] = PARLEY;
  const running = startParley(
    t,
    { ...UNSAFE_POSTGRES, PORT: String(port), DATABASE_URL: url },
    { command: [node, quickly, '--import', bomb, main] },
  );
  await running.logs(/"started"/);
  t.ok(await canConnect('127.0.0.2', port));
  running.child.kill('SIGUSR2');
  const { code, stdout, stderr } = await running.ended;
  t.equal(code, 1);
  t.equal(stdout, '', 'there is nothing to paste');
  t.match(stderr, /"level":60.*boom.*uncaughtException/);
  t.match(stderr, /"stopped"/, 'everything was released');
});

/**
 * Returns the rejection of a start in this process, which `main` prints in the line that the tests
 * above check.
 */
async function refusalOf(t: Test, env: Environment): Promise<string> {
  const said: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void said.push(line) });
  const started = startApp({ config: readConfig({ ...UNSAFE_POSTGRES, PORT: '0', ...env }), log });
  const refusal = await started.then(
    () => 'it started',
    ({ message }: Error) => message,
  );
  t.notMatch(refusal, /hunter2|\n/, 'one line, without the password');
  const besides = said.filter((line) => !line.includes('does not answer in time: trying again'));
  t.strictSame(besides, [], 'and nothing besides');
  return refusal;
}

/**
 * The limit is on the process's own processor time, whatever else the machine does, so it does not
 * depend on the clock.
 */
function isOneLine(t: Test, { code, stdout, stderr }: Finished, words: RegExp): void {
  t.equal(code, 1);
  t.equal(stdout, '');
  const lines = stderr.trimEnd().split('\n').filter(isNoLogRecord);
  t.equal(lines.length, 1, stderr);
  t.match(JSON.parse(lines[0]!), { level: 60, msg: words });
  t.notMatch(stderr, 'hunter2', 'the password is not shown');
}

/** Migrations and the like may have been logged before. */
function isNoLogRecord(line: string): boolean {
  return !line.startsWith('{"level":30');
}

/**
 * Accepts every login and answers each statement with its version, as far as Postgres's protocol
 * requires.
 */
function oldPostgres(socket: Socket): void {
  const message = (type: string, ...parts: readonly Buffer[]) => {
    const body = Buffer.concat(parts);
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const ready = message('Z', Buffer.from('I'));
  const version = Buffer.from('14.19 (Debian 14.19-1)');
  const column = Buffer.concat([Buffer.from('server_version\0'), Buffer.alloc(18)]);
  column.writeInt32BE(25, 21);
  const answer = Buffer.concat([
    message('1'),
    message('2'),
    message('T', Buffer.from([0, 1]), column),
    message('D', Buffer.from([0, 1, 0, 0, 0, version.length]), version),
    message('C', Buffer.from('SHOW\0')),
    ready,
  ]);
  let greeted = false;
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => {
    if (greeted) {
      // A simple query, for the settings; then Sync, or a goodbye.
      if (bytes[0] === 0x51) socket.write(Buffer.concat([message('C', Buffer.from('SELECT 1\0')), ready]));
      else if (bytes.includes(Buffer.from([0x53, 0, 0, 0, 4]))) socket.write(answer);
      return;
    }
    greeted = true;
    socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]));
  });
}

/** Answers INFO, and everything else with OK. */
function oldRedis(socket: Socket): void {
  const info = '# Server\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\n';
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => {
    for (const command of bytes.toString().split(/(?=\*\d+\r\n\$)/)) {
      socket.write(/\binfo\b/i.test(command) ? `$${info.length}\r\n${info}\r\n` : '+OK\r\n');
    }
  });
}

/** Accepts connections and sends nothing, unless `serve` does. */
async function listen(
  t: Teardown,
  serve: (socket: Socket) => void = () => undefined,
): Promise<{ port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    serve(socket);
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(portOf(server)));
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port };
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
