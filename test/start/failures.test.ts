/** What keeps a start from succeeding is one line and exit code 1; what it had started is stopped. */

import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { startApp } from '../../src/app.ts';
import { type Environment, readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { testRedisUrl } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import {
  canConnect,
  type Finished,
  freePort,
  freshDirectory,
  PARLEY,
  runParley,
  startParley,
} from './parley.ts';

// Most of the time they wait for each other's processes.
t.jobs = 3;

t.test('a bad environment: every problem at once', async (t) => {
  const env = { PORT: 'http', PARLEY_DEMO: 'yes', PARLEY_DEMOO: 'on', PARLEY_SOCKET_PONG_MS: '-1' };
  const { code, stdout, stderr } = await runParley(['start'], env);
  t.match({ code, stdout }, { code: 1, stdout: '' });
  const lines = stderr.trimEnd().split('\n');
  t.equal(lines.length, 4, stderr);
  for (const name of Object.keys(env)) {
    t.ok(
      lines.some((line) => line.startsWith(`parley: ${name} `)),
      name,
    );
  }
});

t.test('an unknown command', async (t) => {
  const { code, stderr } = await runParley(['stop'], {});
  t.equal(code, 2);
  t.match(stderr, /^parley: no command "stop"; there are start, admin, tail\n$/);
});

t.test('a port that is taken', async (t) => {
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

t.test('a Redis that is not there', async (t) => {
  const { url } = await createTestDatabase(t);
  const redis = `redis://:hunter2@127.0.0.1:${await freePort()}`;
  t.match(await refusalOf(t, { DATABASE_URL: url, REDIS_URL: redis }), /redis/i);
});

t.test('nodes that could not work together are refused', async (t) => {
  const { url } = await createTestDatabase(t);
  const alone = { DATABASE_URL: url };
  const together = { ...alone, REDIS_URL: await testRedisUrl(t) };
  const first = await startApp({ config: readConfig({ PORT: '0', ...alone }), log: createLog('silent') });
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
    { PORT: String(port), DATABASE_URL: url },
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

/** What a start in this process is refused with, which `main` says in the line that the others above look at. */
async function refusalOf(t: Test, env: Environment): Promise<string> {
  const said: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void said.push(line) });
  const started = startApp({ config: readConfig({ PORT: '0', ...env }), log });
  const refusal = await started.then(
    () => 'it started',
    ({ message }: Error) => message,
  );
  t.notMatch(refusal, /hunter2|\n/, 'one line, without the password');
  t.strictSame(said, [], 'and nothing besides');
  return refusal;
}

/** Reasonable means: nobody looks at the clock. The time is the process's own, whatever else the machine does. */
function isOneLine(t: Test, { code, stdout, stderr }: Finished, words: RegExp): void {
  t.equal(code, 1);
  t.equal(stdout, '');
  const lines = stderr.trimEnd().split('\n').filter(isNoLogRecord);
  t.equal(lines.length, 1, stderr);
  t.match(lines[0], /^parley: /);
  t.match(lines[0], words);
  t.notMatch(stderr, 'hunter2', 'the password is not shown');
}

/** Migrations and the like may have been logged before. */
function isNoLogRecord(line: string): boolean {
  return !line.startsWith('{"level":30');
}

/** Accepts connections and says nothing. */
async function listen(t: Teardown): Promise<{ port: number }> {
  const server = createServer(() => undefined);
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(portOf(server)));
  });
  t.teardown(() => {
    server.close();
  });
  return { port };
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
