import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { connectionOptions, placeOf } from './connection-options.ts';
import type { Db, Tx } from './handle.ts';
import { OpenTransaction } from './open-transaction.ts';
import type { OutboxRow } from './outbox-row.ts';
import { PipelinedConnection } from './pipelined-connection.ts';
import type { Schema } from './schema.ts';
import { requireServerVersion } from './server-version.ts';
import { Shortage, type ShortageKind } from './shortage.ts';
import { bindable, type Statement, type Value } from './statement.ts';
import { codeOf, isUnavailable, wrapUnavailable } from './unavailable.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly log: Logger;
  /** Where statements and errors are counted. */
  readonly metrics?: Pick<Metrics, 'statements' | 'postgresErrors' | 'postgresPoolWait'>;
  /** Of the pool; the pipelined connection comes on top. Default 10. */
  readonly maxConnections?: number | undefined;
  /** How long a query may take, in milliseconds, before its connection counts as dead. Default 10,000. */
  readonly queryTimeoutMs?: number | undefined;
  /** How long `openDatabase` goes on trying a Postgres that does not answer in time, in milliseconds. Default 10,000. */
  readonly patienceMs?: number | undefined;
}

/**
 * Connects. Rejects with one line, without the password: at once where Postgres refuses, after `patienceMs` where it does
 * not answer in time, as on a busy machine.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const database = await connect(options);
  try {
    database.serverVersion = await requireServerVersion(database.pipeline, placeOf(options.url));
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function connect(options: DatabaseOptions): Promise<Database> {
  const { patienceMs = PATIENCE_MS } = options;
  const deadlineMs = performance.now() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    const database = new Database(options);
    try {
      await Promise.all(database.pipelines.map((pipeline) => pipeline.open()));
      return database;
    } catch (cause) {
      await database.close();
      const reason = (cause as Error).message.replace(/^Postgres is unavailable: /, '');
      // The words of `pg` where `connectionTimeoutMillis` has passed.
      if (!reason.includes('timeout expired') || performance.now() > deadlineMs) {
        throw new Error(`cannot reach Postgres at ${placeOf(options.url)}: ${reason}`, { cause });
      }
      if (attempt === 1)
        options.log.warn(
          { reason, patience_ms: patienceMs },
          'Postgres does not answer in time: trying again',
        );
    }
  }
}

const PATIENCE_MS = 10_000;

/**
 * Everything Parley says to Postgres. Three ways, by what is asked: `pipeline` for the short statements of
 * hot paths, `query` for other prepared statements, `kysely` and `transaction` for the rest.
 *
 * With Postgres away each of them answers within about a second, and works again by itself when it is back.
 * isUnavailable() (unavailable.ts) recognizes such an error, also one of `kysely` itself, which is raw.
 */
export class Database implements Db {
  /** Of the Postgres that it was opened on, such as `18.4`. */
  serverVersion = '';
  readonly pool: pg.Pool;
  readonly kysely: Kysely<Schema>;
  readonly pipeline: PipelinedConnection;
  /**
   * Connections of their own for writes that must be durable when they are answered: a commit waits for the
   * disk (3.5 ms where this was measured), and several of them wait together.
   */
  readonly writers: readonly PipelinedConnection[];
  readonly #readers: readonly PipelinedConnection[];
  #lastReader = 0;
  /**
   * For writes whose loss in a crash of Postgres only repeats work (`synchronous_commit` off): never for what
   * was acknowledged. What such a write follows is durable whenever it is.
   */
  readonly relaxed: PipelinedConnection;
  readonly #config: pg.ClientConfig;
  #onCommitted: ((rows: readonly OutboxRow[]) => void) | undefined;
  readonly #clients = new Set<pg.Client>();
  readonly #count: (name: string) => void;
  readonly #shortage = new Shortage();
  readonly #metrics: DatabaseOptions['metrics'];

  constructor({ url, log, metrics, maxConnections = 10, queryTimeoutMs = 10_000 }: DatabaseOptions) {
    this.#metrics = metrics;
    this.#count = (name) => metrics?.statements.inc({ name });
    const statementTimeoutMs = Math.ceil(queryTimeoutMs * 0.8);
    this.#config = connectionOptions({ url, statementTimeoutMs, queryTimeoutMs });
    this.pool = new pg.Pool({ ...this.#config, max: maxConnections, idleTimeoutMillis: 30_000 });
    surviveLostClients(this.pool);
    this.pool.on('error', (error) => {
      // The pool ends before its sockets do: Postgres, stopped behind it, may still say so on them.
      if (!this.pool.ending) log.warn({ reason: error.message }, 'lost an idle connection to Postgres');
    });
    this.pool.on('connect', (client) => {
      this.#clients.add(client);
      client.on('end', () => this.#clients.delete(client));
    });
    this.kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: this.pool }) });
    const connect = (settings?: Readonly<Record<string, string>>, gather?: number) =>
      new PipelinedConnection({
        ...{ url, log, queryTimeoutMs, settings, gather },
        onStatement: this.#count,
        onError: (error) => void this.#failed(error),
      });
    this.pipeline = connect();
    this.#readers = Array.from({ length: READERS }, () => connect(undefined, GATHERED_READS));
    this.writers = Array.from({ length: WRITERS }, () => connect());
    this.relaxed = connect({ synchronous_commit: 'off' });
  }

  /** Every connection that is not of the pool. */
  get pipelines(): readonly PipelinedConnection[] {
    return [this.pipeline, ...this.#readers, ...this.writers, this.relaxed];
  }

  /**
   * Connections of their own for what callers read most: statements that are sure to be short, such as a page
   * straight off an index. They take turns.
   */
  get reader(): PipelinedConnection {
    this.#lastReader = (this.#lastReader + 1) % READERS;
    return this.#readers[this.#lastReader]!;
  }

  /** Rejects with DatabaseUnavailableError, or with the statement's own error (pg.DatabaseError). */
  async query<Row extends object>(statement: Statement, values: readonly Value[] = []): Promise<Row[]> {
    const query = { name: statement.name, text: statement.text, values: bindable(values) };
    this.#count(statement.name);
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#client();
      const { rows } = await client.query(query);
      client.release();
      return rows;
    } catch (error) {
      // pool.query() would throw the connection away after any error: a unique violation is no reason to.
      client?.release(isUnavailable(error) || !(error instanceof pg.DatabaseError));
      throw this.#failed(error);
    }
  }

  async #client(): Promise<pg.PoolClient> {
    const beganMs = performance.now();
    const client = await this.pool.connect();
    this.#metrics?.postgresPoolWait.observe((performance.now() - beganMs) / 1_000);
    return client;
  }

  /** What Postgres has lately run out of. */
  get shortage(): ShortageKind | undefined {
    return this.#shortage.current;
  }

  /** Counts the error and returns it as callers get it. */
  #failed(error: unknown): unknown {
    const result = wrapUnavailable(error);
    // Anything without a code is a connection's end, or no error of Postgres at all.
    const code = codeOf(error) || (isUnavailable(result) ? 'connection' : '');
    if (code !== '') this.#metrics?.postgresErrors.inc({ code });
    this.#shortage.record(code);
    return result;
  }

  /**
   * Commits when `work` resolves and rolls back when it rejects. Rejects with DatabaseUnavailableError (a
   * commit that was under way may have happened), or with what `work` rejected with. What `work` put into the
   * outbox is handed to the listener below before this resolves.
   */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const outbox = { rows: [] as OutboxRow[], isHandledHere: this.#onCommitted !== undefined };
    let result: T;
    try {
      result = await this.kysely.transaction().execute((kysely) => work(new OpenTransaction(kysely, outbox)));
    } catch (error) {
      // Of what was thrown by the caller's own code nothing is counted: refusals are no errors of Postgres.
      throw error instanceof pg.DatabaseError || isUnavailable(error) ? this.#failed(error) : error;
    }
    if (outbox.rows.length > 0) this.#onCommitted?.(outbox.rows);
    return result;
  }

  /** `listener` is called with the outbox rows of each transaction, synchronously behind its commit. It must not throw. */
  onCommitted(listener: (rows: readonly OutboxRow[]) => void): void {
    this.#onCommitted = listener;
  }

  /** Kysely over one connection of its own that has no time limit: for migrations. */
  async withoutTimeLimit<T>(run: (kysely: Kysely<Schema>) => Promise<T>): Promise<T> {
    const pool = new pg.Pool({ ...this.#config, statement_timeout: 0, query_timeout: 0, max: 1 });
    surviveLostClients(pool);
    try {
      return await run(new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) }));
    } catch (error) {
      throw wrapUnavailable(error);
    } finally {
      await pool.end();
    }
  }

  /** Waits for what is under way, two seconds at most. */
  async close(): Promise<void> {
    if (this.pool.ending) return;
    const timer = setTimeout(() => {
      for (const client of this.#clients) client.connection.stream.destroy();
    }, 2_000);
    // Who holds a connection without using it never lets the pool end: it is not waited for.
    const patience = new AbortController();
    await Promise.all([
      ...this.pipelines.map((pipeline) => pipeline.close()),
      Promise.race([this.pool.end(), delay(2_500, undefined, { signal: patience.signal }).catch(() => {})]),
    ]);
    patience.abort();
    clearTimeout(timer);
  }
}

/** As many as let Postgres use another processor than the one of the first. */
const READERS = 2;
/** By then Postgres has enough to do to be told of it. */
const GATHERED_READS = 8;

/** More than this many commits under way at once gain nothing: they leave with the same flush of the disk. */
const WRITERS = 3;

/** pg-pool takes its own listener off while a client is out: an error event then would end the process. */
function surviveLostClients(pool: pg.Pool): void {
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
}
