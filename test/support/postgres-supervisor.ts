/**
 * Runs the Postgres that test files share, in a separate process: it starts the server, makes the
 * template, clones it on request, and ends when there has been no lease (a connection) for a while.
 * When a test process ends, in whatever way, its lease ends and its databases are dropped.
 *
 * Run by postgres.ts: `node postgres-supervisor.ts <directory>`. Exit code 0 if another supervisor
 * owns the directory.
 */

import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import { isOwned } from '@parley/embedded-postgres/owner-file.ts';
import pg from 'pg';
import { INDEXES } from '../../src/core/tables/indexes.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { migrate } from '../../src/platform/db/migration/migrate.ts';
import { createLog } from '../../src/platform/log.ts';
import { seedCluster } from './seed-cluster.ts';

const IDLE_MS = 5_000;
const directory = process.argv[2] ?? '';
const dataDir = join(directory, 'data');
const log = createLog('warn');

try {
  await supervise();
} catch (error) {
  const { message } = error as Error;
  if (message.includes('in use by another Parley process')) process.exit(0);
  process.stderr.write(`${message.split('\n')[0]}\n`);
  process.exit(1);
}

async function supervise(): Promise<void> {
  const postgres = await start();
  const admin = new pg.Pool({ connectionString: postgres.url, max: 4, idleTimeoutMillis: 0 });
  admin.on('error', () => process.exit(1));
  await makeTemplate(admin, postgres.url);

  let leases = 0;
  let databases = 0;
  const clone = async () => {
    databases += 1;
    const name = `test_${process.pid}_${databases}`;
    // A copy of the files takes 25 ms of a core; through the log, the default, it takes 100 to 200.
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template_parley STRATEGY FILE_COPY`);
    return name;
  };
  // Cloning takes 30 ms at best and 200 on a busy machine, so two clones are always ready.
  const spares = [clone(), clone()];
  for (const spare of spares) spare.catch(() => undefined);
  const server = createServer((socket) => {
    clearTimeout(idle);
    leases += 1;
    void serve(socket).finally(() => {
      leases -= 1;
      if (leases === 0) idle = setTimeout(stop, IDLE_MS);
    });
  });
  let idle = setTimeout(stop, IDLE_MS);

  // This process owns the data directory, so a socket that exists is stale.
  const path = join(directory, 'supervisor.sock');
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  await removeEarlierStates();

  async function serve(socket: Socket): Promise<void> {
    const names = new Set<string>();
    socket.on('error', () => undefined);
    try {
      for await (const line of createInterface({ input: socket })) {
        const request = JSON.parse(line) as { op: 'create' } | { op: 'drop'; name: string };
        let answer: object;
        try {
          if (request.op === 'create') {
            const next = clone();
            next.catch(() => undefined);
            spares.push(next);
            const name = await spares.shift()!;
            names.add(name);
            answer = { name, url: at(postgres.url, name) };
          } else {
            await drop(admin, request.name);
            names.delete(request.name);
            answer = {};
          }
        } catch (error) {
          answer = { error: (error as Error).message };
        }
        if (socket.writable) socket.write(`${JSON.stringify(answer)}\n`);
      }
    } catch {
      // The connection broke, which counts as closed.
    }
    for (const name of names) await drop(admin, name).catch(() => undefined);
  }

  async function stop(): Promise<void> {
    server.close();
    await rm(path, { force: true });
    await Promise.allSettled(spares);
    await admin.end();
    await postgres.stop();
    process.exit(0);
  }
}

/**
 * Starts the server. Its data is not made to survive a crash of the machine, so it is created again
 * if the server does not start on it.
 */
async function start(): Promise<EmbeddedPostgres> {
  // A server of a test takes up to 25, and each process of a run may have several.
  const options = { dataDir, durable: false, log, maxConnections: 500 };
  try {
    return await startEmbeddedPostgres(options);
  } catch (error) {
    if ((error as Error).message.includes('in use by another')) throw error;
    await rm(dataDir, { recursive: true, force: true });
    await mkdir(dataDir);
    await chmod(dataDir, 0o711);
    await seedCluster(dataDir);
    return startEmbeddedPostgres(options);
  }
}

/** Makes it under another name, so that the template is either complete or absent. */
async function makeTemplate(admin: pg.Pool, url: string): Promise<void> {
  const { rows } = await admin.query<{ datname: string }>(
    "SELECT datname FROM pg_database WHERE datname ~ '^(test|template)_'",
  );
  const names = rows.map(({ datname }) => datname);
  for (const name of names) if (name !== 'template_parley') await drop(admin, name);
  if (names.includes('template_parley')) return;
  await admin.query('CREATE DATABASE template_draft');
  const database = await openDatabase({ url: at(url, 'template_draft'), log, maxConnections: 1 });
  try {
    await migrate(database, INDEXES, log);
    // A clone is another database than the migrated one, and has to be like a new one.
    await database.kysely.deleteFrom('settings').where('name', '=', 'changed_in_of').execute();
  } finally {
    await database.close();
  }
  // The session that migrated may take a moment to end; a template must have none.
  await admin.query('ALTER DATABASE template_draft WITH ALLOW_CONNECTIONS false');
  await admin.query(
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'template_draft'",
  );
  await admin.query('ALTER DATABASE template_draft RENAME TO template_parley');
}

async function drop(admin: pg.Pool, name: string): Promise<void> {
  await admin.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`);
}

async function removeEarlierStates(): Promise<void> {
  const [, ours = ''] = /^(.*-)[^-]+$/.exec(basename(directory)) ?? [];
  for (const name of await readdir(dirname(directory))) {
    if (ours === '' || !name.startsWith(ours) || name === basename(directory)) continue;
    const earlier = join(dirname(directory), name);
    // A directory that is being created has no owner yet.
    const isFresh = Date.now() - (await stat(earlier)).mtimeMs < 60_000;
    if (isFresh || (await isOwned(join(earlier, 'data', 'postgres.owner')))) continue;
    await rm(earlier, { recursive: true, force: true });
  }
}

function at(url: string, database: string): string {
  const result = new URL(url);
  result.pathname = `/${database}`;
  return result.href;
}
