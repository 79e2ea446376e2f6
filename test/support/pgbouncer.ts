/** A real pooler in front of a Postgres. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findOnPath, findProgram } from './debian-program.ts';
import { freePort } from './free-port.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

export interface TestPgBouncer {
  /** URL of the same database through the pooler; unchanged by restarts. */
  readonly url: string;
  /** Cuts every connection. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/**
 * Starts PgBouncer in front of the Postgres of a URL, with its defaults except the mode and the
 * size of its pool.
 */
export async function startPgBouncer(
  t: Teardown,
  { databaseUrl, mode }: { readonly databaseUrl: string; readonly mode: 'session' | 'transaction' },
): Promise<TestPgBouncer> {
  const program = await findPgBouncer();
  const directory = await mkdtemp(join(tmpdir(), 'parley-pgbouncer-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o755);
  const port = await freePort();
  const server = new URL(databaseUrl);
  const configuration = join(directory, 'pgbouncer.ini');
  const users = join(directory, 'users.txt');
  await writeFile(users, `"${server.username}" "${decodeURIComponent(server.password)}"\n`);
  await writeFile(
    configuration,
    `[databases]
    * = host=${server.hostname} port=${server.port}
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = ${port}
    unix_socket_dir =
    auth_type = scram-sha-256
    auth_file = ${users}
    pool_mode = ${mode}
    default_pool_size = 40
    ${(await tracksStatements()) ? 'max_prepared_statements = 600' : ''}\n`,
  );
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  let child: ChildProcess | undefined;
  const kill = () => child?.kill('SIGKILL');
  const stop = async () => {
    const ended = new Promise((resolve) => child?.once('close', resolve));
    // Newer versions wait for their clients at a SIGTERM.
    if (child?.kill('SIGKILL')) await ended;
    child = undefined;
  };
  const start = async () => {
    const started = await launch(program, configuration);
    child = started;
  };
  process.once('exit', kill);
  t.teardown(async () => {
    process.off('exit', kill);
    await stop();
  });
  await start();
  return { url: url.href, stop, start };
}

/** Returns whether transaction mode keeps clients' prepared statements apart, as 1.21 does. */
export async function tracksStatements(): Promise<boolean> {
  const { stdout } = await promisify(execFile)(await findPgBouncer(), ['--version']);
  const [, minor = '0'] = /PgBouncer 1\.(\d+)/.exec(stdout) ?? [];
  return Number(minor) >= 21;
}

function findPgBouncer(): Promise<string> {
  return findProgram({
    names: ['pgbouncer'],
    package: 'pgbouncer',
    advice: 'these tests need PgBouncer: put it on PATH, or run them as root on Debian or Ubuntu',
  });
}

async function launch(program: string, configuration: string): Promise<ChildProcess> {
  const setpriv = process.getuid?.() === 0 ? await findOnPath(['setpriv']) : undefined;
  // PgBouncer refuses to run as root.
  const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', '--pdeathsig=KILL', '--', program];
  const [file, args] = setpriv === undefined ? [program, []] : [setpriv, nobody];
  const child = spawn(file, [...args, configuration], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  await until(() => log.includes('process up') || child.exitCode !== null, { what: 'PgBouncer to listen' });
  if (child.exitCode !== null) throw new Error(`PgBouncer does not start: ${log}`);
  return child;
}
