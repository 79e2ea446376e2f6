/** Real Redis for tests. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { findOnPath, findProgram } from './debian-program.ts';
import { freePort } from './free-port.ts';
import { whenOutputEnded } from './last-output.ts';
import type { Teardown } from './teardown.ts';

/**
 * Returns REDIS_URL if it is set, else the URL of a private server. A shared Redis is not emptied:
 * random conversation ids isolate the tests sufficiently.
 */
export async function testRedisUrl(t: Teardown): Promise<string> {
  return process.env.REDIS_URL || (await startRedis(t)).url;
}

export interface TestRedis {
  /** Unchanged by restarts. */
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
  /** Starts an empty server: nothing is kept over restarts. */
  start(): Promise<void>;
  /** Sends kill -9. */
  kill(): Promise<void>;
  /** Sends SIGSTOP: connections stay open, without answers. */
  hang(): void;
  resume(): void;
  flushall(): Promise<void>;
}

/** Settings of redis.conf. */
export type RedisSettings = Readonly<Record<string, string | number>>;

/** TLS, if used, and a password for the operator (the user `default`). */
export type RedisLogin = Pick<RedisOptions, 'password' | 'tls'>;

/**
 * Starts a server for this test alone; it ends with the test, and on Linux with its process. With a
 * certificate (`tls-cert-file`) it listens with TLS alone.
 */
export async function startRedis(t: Teardown, settings: RedisSettings = {}): Promise<TestRedis> {
  const program = await findRedis();
  const directory = await mkdtemp(join(tmpdir(), 'parley-redis-'));
  let { child, port } = await launchOnFreePort(program, directory, settings);
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    child.kill('SIGCONT');
    await exited;
  };
  t.teardown(async () => {
    await end('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });
  return {
    url: `${hasTls(settings) ? 'rediss' : 'redis'}://127.0.0.1:${port}`,
    port,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async start() {
      if (child.exitCode !== null || child.signalCode !== null)
        child = await launch(program, directory, port, settings);
    },
    hang() {
      child.kill('SIGSTOP');
    },
    resume() {
      child.kill('SIGCONT');
    },
    flushall: () => command(port, 'FLUSHALL'),
  };
}

async function launchOnFreePort(
  program: string,
  directory: string,
  settings: RedisSettings,
): Promise<{ child: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return { child: await launch(program, directory, port, settings), port };
    } catch (error) {
      if (attempt === 5 || !String(error).includes('in use')) throw error;
    }
  }
}

function launch(
  program: string,
  directory: string,
  port: number,
  settings: RedisSettings,
): Promise<ChildProcess> {
  const listening = hasTls(settings) ? { port: 0, 'tls-port': port } : { port };
  const options = { bind: '127.0.0.1', dir: directory, save: '', appendonly: 'no', databases: 16 };
  // A replica immediately has the contents of its master.
  const args = Object.entries({
    ...listening,
    ...options,
    'repl-diskless-sync-delay': 0,
    ...settings,
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return launchRedis(program, args);
}

function hasTls(settings: RedisSettings): boolean {
  return 'tls-cert-file' in settings;
}

/** Resolves when a server, or a sentinel, has started. It ends with this process. */
export async function launchRedis(program: string, args: readonly string[]): Promise<ChildProcess> {
  const setpriv = await findOnPath(['setpriv']);
  const [file = program, ...rest] =
    setpriv === undefined ? [program, ...args] : [setpriv, '--pdeathsig=KILL', '--', program, ...args];
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    void whenOutputEnded(child).then(() => reject(new Error(`redis does not start: ${output}`)));
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (/Ready to accept connections|Sentinel ID is/.test(output)) resolve();
    });
  });
  return child;
}

let found: Promise<string> | undefined;

export function findRedis(): Promise<string> {
  found ??= findProgram({
    names: ['redis-server', 'valkey-server'],
    package: 'redis-server',
    advice:
      'tests need a real Redis: set REDIS_URL, or put redis-server or valkey-server on PATH, or run them as root on Debian or Ubuntu, where it is installed with apt-get',
  });
  return found;
}

/** Waits for no connection: requests while the server is away fail at once. */
export function redisClient(t: Teardown, port: number, login: RedisLogin = {}): Redis {
  const redis = new Redis({
    port,
    host: '127.0.0.1',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 500,
    retryStrategy: () => 50,
    enableReadyCheck: false,
    ...login,
  });
  redis.on('error', () => {});
  t.teardown(() => redis.disconnect());
  return redis;
}

/** Sends an inline command and reads the first line of its answer. */
async function command(port: number, text: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    const answer = await Promise.race([
      new Promise<string>((resolve, reject) => {
        socket.once('error', reject);
        socket.once('data', (data) => resolve(data.toString()));
        socket.write(`${text}\r\n`);
      }),
      delay(5_000, 'no answer', { ref: false }),
    ]);
    if (!answer.startsWith('+OK')) throw new Error(`redis answered ${text} with: ${answer}`);
  } finally {
    socket.destroy();
  }
}
