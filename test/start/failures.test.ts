/** What keeps a start from succeeding is one line and exit code 1, soon; what it had started is stopped. */

import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createTestDatabase } from '../support/postgres.ts';
import { testRedisUrl } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import {
  canConnect,
  type Finished,
  freePort,
  freshDirectory,
  ROOT,
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
  const env = { PORT: '0', DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${await freePort()}/x` };
  isOneLine(t, await runParley(['start'], env), /Postgres at 127\.0\.0\.1:\d+\/x/);
});

t.test('a Postgres that does not answer', async (t) => {
  const { port } = await listen(t);
  const env = { PORT: '0', DATABASE_URL: `postgres://u:hunter2@127.0.0.1:${port}/x` };
  isOneLine(t, await runParley(['start'], env), /Postgres/);
});

t.test('a Redis that is not there', async (t) => {
  const { url } = await createTestDatabase(t);
  const redis = `redis://:hunter2@127.0.0.1:${await freePort()}`;
  isOneLine(t, await runParley(['start'], { PORT: '0', DATABASE_URL: url, REDIS_URL: redis }), /redis/i);
});

t.test('nodes that could not work together are refused', async (t) => {
  const { url } = await createTestDatabase(t);
  const alone = { PORT: '0', DATABASE_URL: url, PARLEY_DRAIN_MS: '0' };
  const together = { ...alone, REDIS_URL: await testRedisUrl(t) };

  const first = startParley(t, alone);
  await first.logs(/"started"/);
  // At once: each waits a while for a lock that a killed node may have left.
  const refused = [alone, together].map((env) => runParley(['start'], env));
  for (const finished of refused) isOneLine(t, await finished, /REDIS_URL/);
  first.child.kill('SIGTERM');
  t.equal((await first.ended).code, 0);

  const nodes = [startParley(t, together), startParley(t, together)];
  for (const node of nodes) await node.logs(/"started"/);
  isOneLine(t, await runParley(['start'], alone), /REDIS_URL/);
  for (const { child } of nodes) child.kill('SIGTERM');
  for (const { ended } of nodes) t.equal((await ended).code, 0);
});

t.test('who may reach it: this machine with the demo account, everybody without', async (t) => {
  const demo = await freePort();
  const withDemo = startParley(t, { PORT: String(demo), PARLEY_DATA_DIR: freshDirectory(t) });
  const { url } = await createTestDatabase(t);
  const plain = await freePort();
  const without = startParley(t, { PORT: String(plain), DATABASE_URL: url });
  await Promise.all([withDemo.logs(/"started"/), without.logs(/"started"/)]);
  t.ok(await canConnect('127.0.0.1', demo));
  // On Linux all of 127.0.0.0/8 is this machine: 127.0.0.2 stands for another interface.
  t.notOk(await canConnect('127.0.0.2', demo));
  t.ok(await canConnect('127.0.0.2', plain));
  t.equal(without.stdout, '', 'there is nothing to paste');
});

t.test('a fatal error while it runs: logged, an orderly stop, exit code 1', async (t) => {
  const { url } = await createTestDatabase(t);
  // Loaded into the process as an operator might load a profiler; the product knows nothing of it.
  const bomb = 'data:text/javascript,process.on("SIGUSR2",()=>{throw new Error("boom")})';
  const running = startParley(
    t,
    { PORT: '0', DATABASE_URL: url },
    { command: [process.execPath, '--import', bomb, join(ROOT, 'src/main.ts')] },
  );
  await running.logs(/"started"/);
  running.child.kill('SIGUSR2');
  const { code, stderr } = await running.ended;
  t.equal(code, 1);
  t.match(stderr, /"level":60.*boom.*uncaughtException/);
  t.match(stderr, /"stopped"/, 'everything was released');
});

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
