import { execFile, execFileSync } from 'node:child_process';
import {
  accessSync,
  constants,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { LatencyHistogram, type Percentiles } from './latency-histogram.ts';

export interface PgbenchOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  /** One transaction in pgbench's language. */
  readonly script: string;
  /** Under half a second, each client runs a transaction for every 20 ms. */
  readonly durationMs: number;
  readonly clients: number;
  readonly threads: number;
  /** Variables that the script starts with, in every client. */
  readonly variables?: Readonly<Record<string, number>>;
  /** Fixed, so that every run draws the same numbers. */
  readonly seed: number;
  /** Transactions of each client, instead of a duration. */
  readonly transactions?: number;
}

export interface PgbenchReport {
  readonly transactions: number;
  readonly transactionsPerSecond: number;
  readonly latencyMs: number;
}

/**
 * Runs a script with prepared statements for whole seconds, or for so few transactions that they
 * take less than one. Rejects when a transaction failed.
 */
export function runPgbench(options: PgbenchOptions): Promise<PgbenchReport> {
  return inDirectory(async (directory) => parseReport(await execute(options, directory, [])));
}

export interface PgbenchRateReport extends PgbenchReport {
  /** Microseconds from the moment that the schedule names to the end of the transaction. */
  readonly latencyUs: Percentiles;
  /** The part of the latency before the transaction began: all clients were busy. */
  readonly lagUs: Percentiles;
}

/**
 * Runs a script like `runPgbench`, at a fixed rate with exponential gaps (`--rate`), and reads
 * every transaction from its log. Lacks `--latency-limit`, which leaves out late transactions.
 */
export function runPgbenchAtRate(options: PgbenchOptions, ratePerSecond: number): Promise<PgbenchRateReport> {
  return inDirectory(async (directory) => {
    const report = parseReport(
      await execute(options, directory, [
        `--rate=${ratePerSecond}`,
        '--log',
        `--log-prefix=${join(directory, LOG_PREFIX)}`,
      ]),
    );
    const latency = new LatencyHistogram();
    const lag = new LatencyHistogram();
    for (const name of readdirSync(directory).filter((file) => file.startsWith(LOG_PREFIX))) {
      for (const line of readFileSync(join(directory, name), 'utf8').trimEnd().split('\n')) {
        // client, transaction, time (from the scheduled start on), script, second, microsecond,
        // schedule lag.
        const fields = line.split(' ').map(Number);
        if (fields.length !== LOG_FIELDS || fields.some(Number.isNaN))
          throw new Error(`pgbench logged something unexpected: ${line}`);
        latency.recordUs(fields[2]!);
        lag.recordUs(fields[6]!);
      }
    }
    return { ...report, latencyUs: latency.percentiles(), lagUs: lag.percentiles() };
  });
}

const LOG_PREFIX = 'transactions';
const LOG_FIELDS = 7;

async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-pgbench-'));
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Returns the output. */
async function execute(options: PgbenchOptions, directory: string, more: readonly string[]): Promise<string> {
  const pgbench = findPgbench();
  if (pgbench === undefined) throw new Error(HOW_TO_GET);
  const { durationMs } = options;
  const few = durationMs < 500 ? Math.ceil(durationMs / 20) : undefined;
  const transactions = options.transactions ?? few;
  const { hostname, port, username, password, pathname, searchParams } = new URL(options.url);
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
    transactions === undefined
      ? `--time=${Math.round(durationMs / 1_000)}`
      : `--transactions=${transactions}`,
    `--random-seed=${options.seed}`,
    `--file=${script}`,
    ...variables,
    ...more,
    // A Unix socket is named by its directory: as the host, or in the query.
    `--host=${searchParams.get('host') ?? decodeURIComponent(hostname)}`,
    `--port=${searchParams.get('port') ?? port}`,
    `--username=${username}`,
    pathname.slice(1),
  ];
  // The password is passed in the environment: a command line can be read by every user.
  const { stdout } = await run(pgbench, args, { env: { ...process.env, PGPASSWORD: password } });
  return stdout;
}

/** Finds the newest version of pgbench; Debian keeps it out of PATH, one a version. */
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
    transactions: number(/^number of transactions actually processed: (\d+)/m),
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
