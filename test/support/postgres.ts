/**
 * Real Postgres for tests. One server serves all test files of a run (in a supervisor process,
 * postgres-supervisor.ts) with one clone of a migrated template per call; a test can stop and kill
 * private servers.
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, type FileHandle, lstat, mkdir, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import pg from 'pg';
import { createLog } from '../../src/platform/log.ts';
import { hangTree, resumeTree } from './process-tree.ts';
import { seedCluster } from './seed-cluster.ts';
import type { Teardown } from './teardown.ts';

/** Returns a separate, empty, migrated database, dropped when the test (or its process) ends. */
export async function createTestDatabase(t: Teardown): Promise<{ url: string }> {
  lease ??= Lease.take();
  const current = await lease;
  const { url, name } = await current.request({ op: 'create' });
  t.teardown(async () => {
    await current.request({ op: 'drop', name });
  });
  // On a busy machine, opening a connection may take longer than the second that a request waits
  // for one.
  return { url: `${url}?connect_timeout=60` };
}

/** Creates an empty database of this name on the server, and returns its URL. */
export async function createEmptyDatabase(server: Pick<TestPostgres, 'url'>, name: string): Promise<string> {
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query(`CREATE DATABASE "${name}"`);
  await admin.end();
  return Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
}

export interface TestPostgres {
  /** The URL of an empty database; unchanged by restarts. */
  readonly url: string;
  /** Shuts down cleanly: sessions end with 57P01. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Sends kill -9 to the server and its sessions. */
  kill(): Promise<void>;
  /** Sends SIGSTOP: connections stay open, without answers. */
  hang(): Promise<void>;
  resume(): Promise<void>;
}

/**
 * Starts a server for this test alone. Not durable. By default it is reached over TCP, as in a
 * deployment: the path of its data is too long for a socket.
 */
export async function startPostgres(t: Teardown, over: 'tcp' | 'socket' = 'tcp'): Promise<TestPostgres> {
  const dataDir = await mkdtemp(
    join(tmpdir(), over === 'socket' ? 'pg-' : `parley-postgres-${'-'.repeat(100)}`),
  );
  await chmod(dataDir, 0o711);
  await seedCluster(dataDir);
  const log = createLog('silent');
  let server: EmbeddedPostgres | undefined = await startEmbeddedPostgres({ dataDir, durable: false, log });
  const { url } = server;
  const port = Number(new URL(url).port);
  const stop = async () => {
    await server?.stop();
    server = undefined;
  };
  const resume = async () => resumeTree(server?.pid);
  t.teardown(async () => {
    await resume();
    await stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return {
    url,
    stop,
    resume,
    async start() {
      server ??= await startEmbeddedPostgres({ dataDir, durable: false, log, port });
    },
    async kill() {
      if (server !== undefined) process.kill(server.pid, 'SIGKILL');
      await stop();
    },
    async hang() {
      await hangTree(server?.pid);
    },
  };
}

let lease: Promise<Lease> | undefined;

interface Answer {
  readonly url: string;
  readonly name: string;
  readonly error?: string;
}

/** This process's lease on the shared server, which runs as long as it has such a connection. */
class Lease {
  readonly #socket: Socket;
  readonly #waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void }[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
    createInterface({ input: socket }).on('line', (line) => {
      const answer = JSON.parse(line) as Answer;
      const waiting = this.#waiting.shift();
      // Between requests the lease must not keep the test's process alive.
      if (this.#waiting.length === 0) socket.unref();
      if (answer.error === undefined) waiting?.resolve(answer);
      else waiting?.reject(new Error(answer.error));
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      lease = undefined;
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the test Postgres is gone'));
    });
    socket.unref();
  }

  static async take(): Promise<Lease> {
    const directory = await sharedDirectory();
    const path = join(directory, 'supervisor.sock');
    const deadline = Date.now() + 120_000;
    let starting: { ended: boolean; exitCode: number | null } | undefined;
    for (;;) {
      const socket = await connected(path);
      if (socket !== undefined) return new Lease(socket);
      if (starting?.exitCode) throw new Error(await complaint(directory));
      if (Date.now() > deadline) throw new Error('the test Postgres does not come up within 120 s');
      // It ended without an error: another supervisor owns the data, and is starting or stopping.
      // Retry.
      if (starting?.ended) await delay(150);
      if (starting === undefined || starting.ended) starting = await startSupervisor(directory);
      await delay(10);
    }
  }

  /** Answers come in the order of the requests. */
  request(message: { op: 'create' } | { op: 'drop'; name: string }): Promise<Answer> {
    if (this.#socket.destroyed) return Promise.reject(new Error('the test Postgres is gone'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.ref();
      this.#socket.write(`${JSON.stringify(message)}\n`);
    });
  }
}

/**
 * Returns a directory per user, checkout and state of the template's sources: changed migrations
 * use another server with another template. The supervisor removes directories of earlier states.
 */
async function sharedDirectory(): Promise<string> {
  const root = resolve(import.meta.dirname, '../..');
  const hash = createHash('sha256');
  const migrations = join(root, 'migrations');
  const paths = await readdir(migrations, { recursive: true });
  const files = paths.filter((path) => /\.\w+$/.test(path)).sort();
  for (const file of [
    ...files.map((path) => join(migrations, path)),
    join(root, 'src/platform/db/migration/migrate.ts'),
    join(root, 'src/platform/db/migration/indexes.ts'),
    join(root, 'src/core/tables/indexes.ts'),
    join(import.meta.dirname, 'postgres-supervisor.ts'),
  ])
    hash.update(await readFile(file));
  const checkout = createHash('sha256').update(root).digest('hex').slice(0, 8);
  const user = process.getuid?.() ?? 0;
  const state = hash.digest('hex').slice(0, 8);
  const directory = join(tmpdir(), `parley-test-${user}-${checkout}-${state}`);
  await mkdir(directory, { recursive: true });
  if ((await lstat(directory)).uid !== user) throw new Error(`${directory} belongs to somebody else`);
  // Under root, Postgres runs as another user, which has to pass through this directory.
  await chmod(directory, 0o711);
  return directory;
}

async function startSupervisor(directory: string): Promise<{ ended: boolean; exitCode: number | null }> {
  const log: FileHandle = await open(logFile(directory), 'a', 0o600);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-supervisor.ts'), directory], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    // Without the test runner's NODE_OPTIONS, which load its hooks.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: tmpdir() },
  });
  await log.close();
  child.unref();
  return {
    get ended() {
      return child.exitCode !== null || child.signalCode !== null;
    },
    get exitCode() {
      return child.exitCode;
    },
  };
}

const logFile = (directory: string) => join(directory, 'supervisor.log');

async function complaint(directory: string): Promise<string> {
  const lines = (await readFile(logFile(directory), 'utf8')).trim().split('\n');
  return `the test Postgres does not start: ${lines.at(-1)} (more in ${logFile(directory)})`;
}

function connected(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}

/** SQL: a row for each lock that is waited for in the current database. */
export const WAITING_LOCKS = `
  SELECT FROM pg_locks
  WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
