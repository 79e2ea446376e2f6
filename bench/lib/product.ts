import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DemoFile, demoFilePath, readDemoFile } from '../../src/app/demo.ts';
import type { Disposer } from '../../src/platform/lifecycle.ts';
import { ServerProcess } from './server-process.ts';

export interface ProductOptions {
  /** The database to use. */
  readonly databaseUrl: string;
  /** Default: the product itself. */
  readonly entry?: string;
  /** Further variables of Parley. */
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeFlags?: readonly string[];
}

/** Parley as `npm start` runs it, with its demo account, on a free port. */
export interface Product {
  readonly process: ServerProcess;
  readonly demo: DemoFile;
  readonly port: number;
  /** Headers of a request by the demo account's API key. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Starts the product. Resolves when it serves. Without limits on requests, as none is measured. */
export async function startProduct(disposer: Disposer, options: ProductOptions): Promise<Product> {
  const { databaseUrl, entry = 'src/app/main.ts', env = {}, nodeFlags = [] } = options;
  const dataDir = disposer.add('data directory', mkdtempSync(join(tmpdir(), 'parley-bench-')), (path) =>
    rmSync(path, { recursive: true, force: true }),
  );
  const server = disposer.add(
    entry,
    new ServerProcess({
      entry,
      args: entry === 'src/app/main.ts' ? ['start'] : [],
      nodeFlags: ['--import=./bench/servers/allocated.ts', ...nodeFlags],
      env: {
        PORT: '0',
        DATABASE_URL: databaseUrl,
        PARLEY_DATA_DIR: dataDir,
        PARLEY_DEMO: 'on',
        PARLEY_ADMIN_PORT: '0',
        PARLEY_RATE_LIMIT: 'off',
        PARLEY_LOG_LEVEL: 'warn',
        ...env,
      },
    }),
    (process) => process.stop(),
  );
  const demo = await server.until('demo.json', () => readDemoFile(demoFilePath(dataDir)));
  return {
    process: server,
    demo,
    port: Number(new URL(demo.base_url).port),
    headers: {
      Authorization: `Bearer ${demo.api_key}`,
      'Service-Version': demo.service_version,
      'Service-Account': demo.account_id,
    },
  };
}

/** The write path's counters so far, from `/metrics`. */
export interface Flushes {
  readonly count: number;
  readonly rows: number;
  readonly seconds: number;
}

export async function readFlushes(product: Product): Promise<Flushes> {
  const metrics = await readMetrics(product);
  return {
    count: metricIn(metrics, 'parley_flush_rows_count'),
    rows: metricIn(metrics, 'parley_flush_rows_sum'),
    seconds: metricIn(metrics, 'parley_flush_duration_seconds_sum'),
  };
}

/** Returns a metric without labels. */
export function metricIn(metrics: string, name: string): number {
  const line = metrics.split('\n').find((text) => text.startsWith(`${name} `));
  if (line === undefined) throw new Error(`no metric ${name}`);
  return Number(line.slice(name.length + 1));
}

/** Returns the present text of `/metrics`. */
export async function readMetrics({ demo }: Product): Promise<string> {
  return (await fetch(`${demo.admin_url}/metrics`)).text();
}
