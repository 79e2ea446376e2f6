/** A node makes a database and a demo account of its own only where that is no accident. */

import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { demoFilePath, readDemoFile } from '../../src/app/demo.ts';
import { startRedis } from '../support/redis.ts';
import { seedCluster } from '../support/seed-cluster.ts';
import { freshDirectory, runParley, runProgram, startParley } from './parley.ts';

const SIGNS = {
  'NODE_ENV=production': { NODE_ENV: 'production' },
  REDIS_URL: { REDIS_URL: 'redis://127.0.0.1:1' },
  'PARLEY_PUBLIC_URL=https://chat.example': { PARLEY_PUBLIC_URL: 'https://chat.example' },
  'HOST=0.0.0.0': { HOST: '0.0.0.0' },
} as const;

for (const [sign, env] of Object.entries(SIGNS)) {
  t.test(`${sign} without DATABASE_URL is refused, and nothing is made`, async (t) => {
    const directory = freshDirectory(t);
    const place = { PORT: '0', PARLEY_DATA_DIR: directory };
    for (const args of [['start'], ['admin', 'account', 'list']]) {
      const { code, stdout, stderr } = await runParley(args, { ...place, ...env });
      t.equal(code, 1, args.join(' '));
      t.equal(stdout, '');
      t.ok(
        stderr.includes(`there is no DATABASE_URL, and ${sign} says production: set DATABASE_URL`),
        stderr,
      );
      t.match(stderr, /PARLEY_EMBEDDED_POSTGRES=on/);
    }
    t.strictSame(readdirSync(directory), []);
  });
}

t.test('a supervisor is refused like a node', async (t) => {
  const directory = freshDirectory(t);
  const env = { PORT: '0', PARLEY_DATA_DIR: directory, REDIS_URL: (await startRedis(t)).url };
  const { code, stderr } = await runParley(['start'], { ...env, PARLEY_PROCESSES: '2' });
  t.equal(code, 1);
  t.match(stderr, /REDIS_URL says production/);
  t.notOk(existsSync(join(directory, 'postgres')));
});

t.test('a choice makes one, and one that exists is used on with a warning', async (t) => {
  const directory = freshDirectory(t);
  // Entered by the user that Postgres runs as.
  chmodSync(directory, 0o711);
  const env = { PORT: '0', PARLEY_DATA_DIR: directory, NODE_ENV: 'production' };
  await seedCluster(directory);
  const off = await runParley(['start'], { ...env, PARLEY_EMBEDDED_POSTGRES: 'off' });
  t.equal(off.code, 1);
  t.match(off.stderr, /PARLEY_EMBEDDED_POSTGRES is off/);

  const warned = startParley(t, env);
  await warned.says(/Parley is ready/);
  t.match(warned.stderr, /NODE_ENV=production says production; going on with the database/);
  warned.child.kill('SIGTERM');
  await warned.ended;

  const chosen = startParley(t, { ...env, PARLEY_EMBEDDED_POSTGRES: 'on' });
  await chosen.says(/Parley is ready/);
  t.notMatch(chosen.stderr, /says production/);

  const { api_key } = readDemoFile(demoFilePath(directory))!;
  const [line] = await chosen.says(/^curl .*$/m);
  const { stdout } = await runProgram('sh', ['-c', `${line} -w '%{http_code}'`], {});
  t.match(stdout, /201$/, 'the line to paste sends');
  t.notOk(`${chosen.stdout}${chosen.stderr}`.includes(api_key), 'a log never holds the key');
});
