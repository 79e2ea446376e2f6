import { execFile, execFileSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

export interface PgbenchOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  /** One transaction in pgbench's language. */
  readonly script: string;
  readonly durationMs: number;
  readonly clients: number;
  readonly threads: number;
  /** Variables that the script starts with, in every client. */
  readonly variables?: Readonly<Record<string, number>>;
  /** Fixed, so that every run draws the same numbers. */
  readonly seed: number;
}

export interface PgbenchReport {
  readonly transactionsPerSecond: number;
  readonly latencyMs: number;
}

/** Runs a script with prepared statements for whole seconds. Rejects when a transaction failed. */
export async function runPgbench(options: PgbenchOptions): Promise<PgbenchReport> {
  const pgbench = findPgbench();
  if (pgbench === undefined) throw new Error(HOW_TO_GET);
  const { hostname, port, username, password, pathname } = new URL(options.url);
  const directory = mkdtempSync(join(tmpdir(), 'parley-pgbench-'));
  try {
    const script = join(directory, 'script.sql');
    writeFileSync(script, options.script);
    const variables = Object.entries(options.variables ?? {}).map(
      ([name, value]) => `--define=${name}=${value}`,
    );
    const args = [
      '--no-vacuum',
      '--protocol=prepared',
      `--client=${options.clients}`,
      `--jobs=${options.threads}`,
      `--time=${Math.max(1, Math.round(options.durationMs / 1_000))}`,
      `--random-seed=${options.seed}`,
      `--file=${script}`,
      ...variables,
      `--host=${hostname}`,
      `--port=${port}`,
      `--username=${username}`,
      pathname.slice(1),
    ];
    // The password goes in by the environment: a command line is there for everybody to read.
    const { stdout } = await run(pgbench, args, { env: { ...process.env, PGPASSWORD: password } });
    return parseReport(stdout);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Debian keeps it out of PATH, one a version: the newest. */
export function findPgbench(): string | undefined {
  const debian = readNames('/usr/lib/postgresql')
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => `/usr/lib/postgresql/${version}/bin`);
  const directories = [...debian, ...(process.env.PATH ?? '').split(delimiter)];
  return directories.map((directory) => join(directory, 'pgbench')).find(isExecutable);
}

export function pgbenchVersion(pgbench: string): string {
  return execFileSync(pgbench, ['--version'], { encoding: 'utf8' }).trim();
}

const HOW_TO_GET =
  'pgbench was not found in /usr/lib/postgresql/*/bin or PATH: on Debian and Ubuntu it comes with the package "postgresql-contrib" or "postgresql"';

const run = promisify(execFile);

function parseReport(text: string): PgbenchReport {
  const number = (pattern: RegExp) => {
    const found = pattern.exec(text)?.[1];
    if (found === undefined) throw new Error(`pgbench said something unexpected: ${text}`);
    return Number(found);
  };
  if (number(/number of failed transactions: (\d+)/) > 0) throw new Error(`pgbench failed: ${text}`);
  return {
    transactionsPerSecond: number(/^tps = ([\d.]+) \(without initial connection time\)/m),
    latencyMs: number(/^latency average = ([\d.]+) ms/m),
  };
}

function readNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
