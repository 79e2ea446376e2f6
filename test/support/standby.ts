/** A Postgres with a synchronous standby that can take its place. */

import { execFile } from 'node:child_process';
import { chmod, chown, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@parley/embedded-postgres/embedded-postgres.ts';
import pg from 'pg';
import { createLog } from '../../src/platform/log.ts';
import { freePort } from './free-port.ts';
import { hangTree, resumeTree } from './process-tree.ts';
import { seedCluster } from './seed-cluster.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

export type PostgresFault = 'killed' | 'hung';

/** Two servers at fixed addresses, one of which replicates the other. */
export class PostgresPair {
  readonly #servers: readonly [Member, Member];
  /** The index of the primary. */
  #primary: 0 | 1 = 0;

  static async start(t: Teardown): Promise<PostgresPair> {
    const servers = [await Member.make(t), await Member.make(t)] as const;
    await seedCluster(servers[0].dataDir);
    await servers[0].start();
    // The test's servers do not wait for their disks; a commit waits for the standby.
    await servers[0].query('ALTER ROLE parley SET synchronous_commit = on');
    await servers[0].query('ALTER SYSTEM SET wal_keep_size = 2048');
    const pair = new PostgresPair(servers);
    await pair.#replicate();
    return pair;
  }

  private constructor(servers: readonly [Member, Member]) {
    this.#servers = servers;
  }

  get primary(): Member {
    return this.#servers[this.#primary];
  }

  /** The standby, or after a failover the former primary. */
  get other(): Member {
    return this.#servers[this.#primary === 0 ? 1 : 0];
  }

  /** URL of both servers, in a fixed order. */
  get url(): string {
    const [one, two] = this.#servers.map(({ url }) => new URL(url));
    return `${one!.href.replace(one!.host, `${one!.host},${two!.host}`)}?target_session_attrs=read-write`;
  }

  /** Fails the primary and promotes the standby. Returns when that was requested and done. */
  async failOver(fault: PostgresFault): Promise<{ askedMs: number; promotedMs: number }> {
    await (fault === 'killed' ? this.primary.kill() : this.primary.hang());
    return this.promote();
  }

  async promote(): Promise<{ askedMs: number; promotedMs: number }> {
    const askedMs = performance.now();
    await this.other.query('SELECT pg_promote()');
    this.#primary = this.#primary === 0 ? 1 : 0;
    return { askedMs, promotedMs: performance.now() };
  }

  /** Makes the former primary, whatever became of it, a standby of the new one. */
  async restore(): Promise<void> {
    await this.other.resume();
    await this.other.stop();
    await this.#replicate();
  }

  async #replicate(): Promise<void> {
    await this.primary.copyTo(this.other);
    await this.other.start();
    await this.primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await this.primary.query('SELECT pg_reload_conf()');
    const isSynchronous = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'";
    await until(async () => (await this.primary.query(isSynchronous)).length === 1, {
      what: 'a synchronous standby',
    });
  }
}

class Member {
  readonly dataDir: string;
  readonly #port: number;
  #server: EmbeddedPostgres | undefined;
  /** The URL of its last run. */
  #url = '';

  static async make(t: Teardown): Promise<Member> {
    // Too long for a socket, so that it listens on a port.
    const dataDir = await mkdtemp(join(tmpdir(), `parley-postgres-${'-'.repeat(100)}`));
    await chmod(dataDir, 0o711);
    const member = new Member(dataDir, await freePort());
    t.teardown(async () => {
      await member.resume();
      await member.stop();
      await rm(dataDir, { recursive: true, force: true });
    });
    return member;
  }

  private constructor(dataDir: string, port: number) {
    this.dataDir = dataDir;
    this.#port = port;
  }

  get url(): string {
    return this.#url;
  }

  async start(): Promise<void> {
    const log = createLog('silent');
    const options = { dataDir: this.dataDir, durable: false, log, port: this.#port };
    this.#server = await startEmbeddedPostgres(options);
    this.#url = this.#server.url;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  async kill(): Promise<void> {
    if (this.#server !== undefined) process.kill(this.#server.pid, 'SIGKILL');
    await this.stop();
  }

  hang(): Promise<void> {
    return hangTree(this.#server?.pid);
  }

  resume(): Promise<void> {
    return resumeTree(this.#server?.pid);
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.#url, application_name: 'test' });
    await client.connect();
    try {
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  /** Copies the data of this running server, as pg_basebackup does, which the package lacks. */
  async copyTo(other: Member): Promise<void> {
    const [from, to] = [join(this.dataDir, 'postgres'), join(other.dataDir, 'postgres')];
    const client = new pg.Client({ connectionString: this.#url });
    await client.connect();
    await client.query("SELECT pg_backup_start('copy', true)");
    await rm(to, { recursive: true, force: true });
    const { uid, gid } = await stat(from);
    // Files that vanish meanwhile are not missed.
    await promisify(execFile)('cp', ['-a', from, to]).catch((error: Error) => {
      if (!/No such file/.test(error.message)) throw error;
    });
    for (const name of ['postmaster.pid', 'postmaster.opts']) await rm(join(to, name), { force: true });
    for (const name of await readdir(join(to, 'pg_wal'))) {
      if (/^[0-9A-F]{24}/.test(name)) await rm(join(to, 'pg_wal', name));
    }
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    await client.end();
    const { port, username, password } = new URL(this.#url);
    const settings = `primary_conninfo = 'host=127.0.0.1 port=${port} user=${username} password=${password}'
      wal_keep_size = 2048\n`;
    for (const [name, text] of [
      ['backup_label', rows[0]!.labelfile],
      ['standby.signal', ''],
      ['postgresql.auto.conf', settings],
    ] as const) {
      await writeFile(join(to, name), text, { mode: 0o600 });
      await chown(join(to, name), uid, gid);
    }
  }
}
