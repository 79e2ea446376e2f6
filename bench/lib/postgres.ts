import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { measureOutbox } from '../../src/platform/db/queue/outbox.ts';
import type { Disposer } from '../../src/platform/lifecycle.ts';
import { createLog } from '../../src/platform/log.ts';

/** A database of a separate Postgres, and the bench's own connection to it. */
export interface BenchDatabase {
  readonly url: string;
  readonly database: Database;
  /** The parent of all processes of its server. */
  readonly postgresPid: number;
}

/**
 * Starts the embedded Postgres as `npm start` runs it (fsync, synchronous_commit and
 * full_page_writes on), with a database for each of `names`: nodes without Redis do not share one.
 * `commitTimes`: whether it keeps the time of each commit, which takes a restart.
 */
export async function startPostgres<const Name extends string>(
  disposer: Disposer,
  names: readonly Name[],
  { commitTimes = false }: { readonly commitTimes?: boolean } = {},
): Promise<Record<Name, BenchDatabase>> {
  const dataDir = disposer.add('data directory', mkdtempSync(join(tmpdir(), 'parley-bench-')), (path) =>
    rmSync(path, { recursive: true, force: true }),
  );
  // Postgres needs access: for root, it runs as another user.
  chmodSync(dataDir, 0o755);
  const start = () => startEmbeddedPostgres({ dataDir, durable: true, log: LOG });
  if (commitTimes) {
    const first = await start();
    const admin = await openDatabase({ url: first.url, log: LOG });
    await sql`ALTER SYSTEM SET track_commit_timestamp = on`.execute(admin.kysely);
    await admin.close();
    await first.stop();
  }
  const postgres = disposer.add('postgres', await start(), (it) => it.stop());
  const admin = await openDatabase({ url: postgres.url, log: LOG });
  for (const name of names) await sql`CREATE DATABASE ${sql.id(name)}`.execute(admin.kysely);
  await admin.close();

  const databases: Partial<Record<Name, BenchDatabase>> = {};
  for (const name of names) {
    const url = Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href;
    const database = disposer.add(`database ${name}`, await openDatabase({ url, log: LOG }), (it) =>
      it.close(),
    );
    databases[name] = { url, database, postgresPid: postgres.pid };
  }
  return databases as Record<Name, BenchDatabase>;
}

/**
 * Writes out the dirty pages of earlier blocks, so that no checkpoint falls into the next block.
 */
export async function checkpoint({ database }: BenchDatabase): Promise<void> {
  await sql`CHECKPOINT`.execute(database.kysely);
}

/** Resolves with the milliseconds that it took until every effect of the sends is done. */
export async function drainOutbox({ database }: BenchDatabase): Promise<number> {
  const startMs = performance.now();
  for (;;) {
    const { pending } = await measureOutbox(database);
    const tookMs = performance.now() - startMs;
    if (pending === 0) return tookMs;
    if (tookMs > DRAIN_MS) throw new Error(`${pending} rows are still in the outbox after ${DRAIN_MS} ms`);
    await delay(5);
  }
}

const DRAIN_MS = 60_000;
const LOG = createLog('warn');
