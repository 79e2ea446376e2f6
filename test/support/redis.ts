/** Real Redis for tests. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { access, constants, mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Teardown } from './teardown.ts';

/**
 * Returns REDIS_URL if it is set, else the URL of a private server. A shared Redis is not emptied: random conversation
 * ids isolate the tests sufficiently.
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
  /** kill -9 */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open, without answers. */
  hang(): void;
  resume(): void;
  flushall(): Promise<void>;
}

/** Starts a server for this test alone; it ends with the test, and on Linux with its process. */
export async function startRedis(t: Teardown): Promise<TestRedis> {
  const program = await findRedis();
  const directory = await mkdtemp(join(tmpdir(), 'parley-redis-'));
  let { child, port } = await launchOnFreePort(program, directory);
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
    url: `redis://127.0.0.1:${port}`,
    port,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async start() {
      if (child.exitCode !== null || child.signalCode !== null)
        child = await launch(program, directory, port);
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
): Promise<{ child: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return { child: await launch(program, directory, port), port };
    } catch (error) {
      if (attempt === 5 || !String(error).includes('in use')) throw error;
    }
  }
}

async function launch(program: string, directory: string, port: number): Promise<ChildProcess> {
  const options = { bind: '127.0.0.1', port, dir: directory, save: '', appendonly: 'no', databases: 16 };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const setpriv = await findOnPath('setpriv');
  const [file = program, ...rest] =
    setpriv === undefined ? [program, ...args] : [setpriv, '--pdeathsig=KILL', '--', program, ...args];
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`redis does not start: ${output}`)));
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('Ready to accept connections')) resolve();
    });
  });
  return child;
}

let found: Promise<string> | undefined;

function findRedis(): Promise<string> {
  found ??= onPath().then((program) => program ?? install());
  return found;
}

async function onPath(): Promise<string | undefined> {
  return (await findOnPath('redis-server')) ?? (await findOnPath('valkey-server'));
}

async function findOnPath(name: string): Promise<string | undefined> {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(directory, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

async function install(): Promise<string> {
  const advice =
    'tests need a real Redis: set REDIS_URL, or put redis-server or valkey-server on PATH, or run them as root on Debian or Ubuntu, where it is installed with apt-get';
  const apt = await findOnPath('apt-get');
  if (process.getuid?.() !== 0 || apt === undefined) throw new Error(advice);
  const run = promisify(execFile);
  // Two test files may run this at once: the second waits for the first one's lock.
  const options = ['-o', 'DPkg::Lock::Timeout=90', '-y'];
  // RUNLEVEL=1: the package starts no service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  try {
    await run(apt, [...options, 'update'], { env }).catch(() => undefined);
    await run(apt, [...options, '--no-install-recommends', 'install', 'redis-server'], { env });
  } catch (cause) {
    throw new Error(`${advice}; here apt-get failed`, { cause });
  }
  const program = await onPath();
  if (program === undefined) throw new Error(advice);
  return program;
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

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
