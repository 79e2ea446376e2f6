import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import { Load } from '../../background.ts';
import type { Hooks } from '../../hooks.ts';
import { KeyedQueue } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Schema } from '../tables/schema.ts';
import { ConnectionPool, openPool } from './connection-pool.ts';
import { type CopyField, CopyIn, copyRows } from './copy-in.ts';
import type { Db, OutboxRecord, OutboxRow, Tx } from './handle.ts';
import { PipelinedConnection, type PipelinedConnectionOptions } from './pipelined-connection.ts';
import { Places } from './places.ts';
import { Primary } from './primary.ts';
import { requireServer } from './server-version.ts';
import { placeOf, serversOf } from './servers.ts';
import { bindable, type Statement, statement, type Value } from './statement.ts';
import { LatestTimeline } from './timeline.ts';
import {
  CACHED_PLAN_CHANGED,
  codeOf,
  DatabaseUnavailableError,
  isFenced,
  isUnavailable,
  Shortage,
  type ShortageKind,
  TOO_MANY,
  wrapUnavailable,
} from './unavailable.ts';

export interface DatabaseOptions {
  readonly url: string;
  /**
   * URL of real sessions of the same database, for work that needs its own session. For a `url`
   * whose pooler may give each transaction another session.
   */
  readonly directUrl?: string | undefined;
  readonly log: Logger;
  /** Hooks that its handles carry. Without them, asking for hooks throws. */
  readonly hooks?: Hooks | undefined;
  /** Metrics of statements and errors. */
  readonly metrics?: Pick<
    Metrics,
    'statements' | 'postgresErrors' | 'postgresPoolWait' | 'postgresConnections' | 'postgresConnectionLimit'
  >;
  /** Size of the pool; the pipelined connections come in addition. Default 9. */
  readonly maxConnections?: number | undefined;
  /** Number of processes on this machine that share the connections of one process. Default 1. */
  readonly processes?: number | undefined;
  /** Milliseconds after which the connection of a query counts as dead. Default 10,000. */
  readonly queryTimeoutMs?: number | undefined;
  /** Milliseconds of retries while Postgres does not answer in time. Default 10,000. */
  readonly patienceMs?: number | undefined;
}

/**
 * Connects. Rejects with one line, without the password: at once if Postgres refuses, after
 * `patienceMs` if it does not answer in time, as on a busy machine, or has no connection left.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const database = await connect(options);
  try {
    database.serverVersion = await requireServer(database, options);
    await database.places.count(database.pipeline);
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
      await Promise.all(database.primaries.map((primary) => primary.find()));
      await Promise.all(database.pipelines.map((pipeline) => pipeline.open()));
      return database;
    } catch (cause) {
      await database.close();
      const { message } = cause as Error;
      const reason = NO_PASSWORD.test(message)
        ? 'it asks for a password, and the URL has none'
        : message.replace(/^Postgres is unavailable: /, '');
      const isFull = codeOf(cause) === TOO_MANY;
      // The messages of `pg` when `connectionTimeoutMillis` has passed.
      if (!(isFull || TIMED_OUT.test(reason)) || performance.now() > deadlineMs) {
        throw new Error(`cannot reach Postgres at ${placeOf(options.url)}: ${reason}`, { cause });
      }
      if (attempt === 1) options.log.warn({ reason, patience_ms: patienceMs }, isFull ? FULL : LATE);
      if (isFull) await delay(restMs());
    }
  }
}

const PATIENCE_MS = 10_000;
const LATE = 'Postgres does not answer in time: trying again';
const FULL = 'Postgres has no connection left: trying again';
/** Of `pg`, where a server asks for a password. */
const NO_PASSWORD = /client password must be a string/;
const TIMED_OUT = /timeout expired|Query read timeout/;

/**
 * All access to Postgres, in the three ways of ../README.md. While Postgres is unavailable, each
 * rejects within about a second, and works again without further action when it is back.
 * isUnavailable() (unavailable.ts) recognizes such an error, also an unwrapped one of `kysely`.
 */
export class Database implements Db {
  /** The version of the Postgres that it was opened on, such as `18.4`. */
  serverVersion = '';
  /** How busy this node is, for work that no request waits for. */
  readonly load = new Load();
  readonly #connections: ConnectionPool;
  readonly kysely: Kysely<Schema>;
  readonly pipeline: PipelinedConnection;
  /**
   * Separate connections for writes that must be durable before they are acknowledged: a commit
   * waits for the disk (3.5 ms as measured), and several connections wait for it at the same time.
   */
  readonly writers: readonly PipelinedConnection[];
  /** Connections for the most frequent reads, which use them in turn: see `reader`. */
  readonly readers: readonly PipelinedConnection[];
  /** For credential checks alone, so that uncached requests do not wait for a page. */
  readonly checks: PipelinedConnection;
  /** For large rows, one statement at a time to bound memory. Nothing else waits behind them. */
  readonly bulk: PipelinedConnection;
  readonly #bulkQueue = new KeyedQueue(BULK_AT_ONCE);
  #lastReader = 0;
  /**
   * For writes whose loss in a crash of Postgres only repeats work (`synchronous_commit` off),
   * never for acknowledged writes. If a write survives a crash, so do all that committed before it.
   */
  readonly relaxed: PipelinedConnection;
  /** All connections outside the pools. */
  readonly pipelines: readonly PipelinedConnection[];
  /** For work that needs a session of its own. */
  readonly direct: Primary;
  readonly #primary: Primary;
  #onCommitted: ((rows: readonly OutboxRow[]) => void) | undefined;
  #onJobAdded: ((inMs: number) => void) | undefined;
  readonly #shortage = new Shortage();
  #lock: { readonly held: boolean } | undefined;
  /** Whether Postgres has refused connections lately. */
  readonly places: Places;
  readonly #metrics: DatabaseOptions['metrics'];
  readonly #hooks: Hooks | undefined;

  constructor(options: DatabaseOptions) {
    const { url, directUrl, log, metrics, processes = 1, queryTimeoutMs = 10_000 } = options;
    this.#metrics = metrics;
    this.#hooks = options.hooks;
    this.places = new Places({ log, metrics, onOver: () => this.#connections.restore() });
    const isPooled = directUrl !== undefined;
    const latest = new LatestTimeline();
    const isChecked = [url, directUrl ?? url].some((one) => serversOf(one).isPrimaryWanted);
    this.#primary = new Primary({ url, log, isPooled, isChecked, latest });
    this.direct = isPooled ? new Primary({ url: directUrl, log, isChecked, latest }) : this.#primary;
    this.#connections = new ConnectionPool({
      primary: this.#primary,
      log,
      size: shareOf(options.maxConnections ?? 9, processes, LEAST_POOL),
      queryTimeoutMs,
      refusal: () => this.#refusal(this.#hasOwn),
      onFull: (error) => this.refused(error),
    });
    this.kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: this.#connections }) });
    const connect = (more: Partial<PipelinedConnectionOptions>) =>
      new PipelinedConnection({
        primary: this.#primary,
        log,
        queryTimeoutMs,
        onStatement: (name) => this.#countStatement(name),
        onError: (error) => void this.#failed(error),
        // Otherwise the others might wait a second, and reads fail although sends succeed.
        onRestored: () => this.#restored(),
        onNotRestored: (error) => {
          if (codeOf(error) === TOO_MANY) this.refused(error);
          // It cannot be reached, whatever its limits.
          else this.places.forget();
        },
        ...more,
      });
    const writing = (settings?: Readonly<Record<string, string>>) =>
      connect({ settings, refusal: () => this.#refusal(this.connected) });
    const reading = { settings: READER_SETTINGS, gather: GATHERED_READS };
    this.pipeline = writing();
    this.readers = Array.from({ length: shareOf(READERS, processes) }, () => connect(reading));
    this.checks = connect(reading);
    this.bulk = connect({ settings: READER_SETTINGS });
    this.writers = Array.from({ length: shareOf(WRITERS, processes) }, () => writing(WRITER_SETTINGS));
    this.relaxed = writing({ synchronous_commit: 'off' });
    const { pipeline, readers, checks, bulk, writers, relaxed } = this;
    this.pipelines = [pipeline, ...readers, checks, bulk, ...writers, relaxed];
    this.#primary.onFound = () => this.#retryNow();
  }

  /** The pool below `connections`, without their rules. */
  get pool(): pg.Pool {
    return this.#connections.pool;
  }

  /** The primaries of its URLs: one, or two with a direct URL. */
  get primaries(): readonly Primary[] {
    return [...new Set([this.#primary, this.direct])];
  }

  get hooks(): Hooks {
    return given(this.#hooks);
  }

  #restored(): void {
    this.#retryNow();
    // Refused writes do not ask the pool, which may be what is missing.
    if (!this.connected && this.#hasOwn) void this.query(ANY).catch(() => {});
  }

  #retryNow(): void {
    for (const pipeline of this.pipelines) pipeline.retryNow();
  }

  /** Whether it can serve: it has all of its own connections, and the pool is not without any. */
  get connected(): boolean {
    return this.#hasOwn && !this.#connections.isStarved;
  }

  /** Whether it has all connections but those of the pool. */
  get #hasOwn(): boolean {
    return this.#lock?.held !== false && this.pipelines.every((pipeline) => pipeline.connected);
  }

  /** Makes the node's lock one of the own connections. */
  belongsTo(lock: { readonly held: boolean }): void {
    this.#lock = lock;
  }

  /** The connections that it may have at the same time. */
  get mostConnections(): number {
    return this.pipelines.length + this.#connections.size + (this.#lock === undefined ? 0 : 1);
  }

  /**
   * Returns why nothing is written, undefined if something is. A node that cannot serve
   * acknowledges nothing: what follows from a write may need the connection that is missing.
   */
  #refusal(isOpen: boolean): DatabaseUnavailableError | undefined {
    if (isOpen) return undefined;
    return new DatabaseUnavailableError(
      this.places.isReached
        ? 'Postgres has no connection left for this node'
        : 'a connection to Postgres is being restored',
    );
  }

  /**
   * Gives back as little as lets nodes serve: first the pool stops to grow and gives back what is
   * idle; a node that cannot serve then gives back everything for a while, so that another one,
   * which lacks less, can.
   */
  #makeRoom(error: unknown): void {
    this.places.refused(error, this.checks);
    const isWhole = this.connected;
    const isEmpty = this.#connections.isEmpty;
    this.#connections.shrink(isWhole ? LEAST_POOL : 0);
    if (isWhole || !isEmpty || this.pipelines.every(({ connected }) => !connected)) return;
    const ms = restMs();
    for (const pipeline of this.pipelines) pipeline.rest(ms);
  }

  /** The next of `readers`, for statements certain to be short, such as a page off an index. */
  get reader(): PipelinedConnection {
    this.#lastReader = (this.#lastReader + 1) % this.readers.length;
    return this.readers[this.#lastReader]!;
  }

  async query<Params extends readonly Value[], Row extends object>(
    statement: Statement<Params, Row>,
    ...values: NoInfer<Params>
  ): Promise<Row[]> {
    if (statement.isBulk === true) {
      // A statement's time begins when it is sent, so it must not wait on the connection.
      return this.#bulkQueue.run('', () => this.bulk.query(statement, ...values));
    }
    const query = { name: statement.name, text: statement.text, values: bindable(values) };
    this.#countStatement(statement.name);
    for (let attempt = 1; ; attempt++) {
      let client: pg.PoolClient | undefined;
      try {
        const beganMs = performance.now();
        client = await this.#connections.connect();
        this.#metrics?.postgresPoolWait.observe((performance.now() - beganMs) / 1_000);
        const { rows } = await client.query(query);
        client.release();
        return rows;
      } catch (error) {
        // A migration of a later version has added a column. Nothing was run, and only a new
        // connection prepares the statement again.
        const isOutdated = codeOf(error) === CACHED_PLAN_CHANGED;
        // pool.query() would discard the connection after any error, even after a unique violation.
        client?.release(isOutdated || isBroken(error));
        if (!isOutdated || attempt > this.#connections.size) throw this.#failed(error);
      }
    }
  }

  #countStatement(name: string): void {
    this.#metrics?.statements.inc({ name });
  }

  /** The resource that Postgres has recently run out of, if any. */
  get shortage(): ShortageKind | undefined {
    return this.#shortage.current;
  }

  /**
   * Takes back connections because Postgres has refused one, also one that was opened elsewhere.
   */
  refused(error: unknown): void {
    this.#failed(error);
  }

  /** Counts the error and returns it in the form for callers. */
  #failed(error: unknown): unknown {
    const result = wrapUnavailable(error);
    // An error without a code is the end of a connection, or not an error of Postgres at all.
    const code = codeOf(error) || (isUnavailable(result) ? 'connection' : '');
    if (code !== '') this.#metrics?.postgresErrors.inc({ code });
    this.#shortage.record(code);
    if (code === TOO_MANY) this.#makeRoom(error);
    return result;
  }

  /**
   * Commits when `work` resolves, rolls back when it rejects. Rejects with DatabaseUnavailableError
   * (the commit may have happened) or the error of `work`. The listener below gets the outbox rows
   * that `work` wrote before this resolves.
   */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const outbox: OutboxRecord = { rows: [], isHandledHere: this.#onCommitted !== undefined };
    let result: T;
    try {
      result = await this.kysely
        .transaction()
        .execute((kysely) => work(new OpenTransaction(kysely, outbox, this.#hooks)));
    } catch (error) {
      // Errors of the caller's own code, such as refusals, are not counted as errors of Postgres.
      throw error instanceof pg.DatabaseError || isUnavailable(error) ? this.#failed(error) : error;
    }
    if (outbox.rows.length > 0) this.#onCommitted?.(outbox.rows);
    if (outbox.jobInMs !== undefined) this.#onJobAdded?.(outbox.jobInMs);
    return result;
  }

  /** Calls `listener`, which must not throw, with outbox rows, synchronously after their commit. */
  onCommitted(listener: (rows: readonly OutboxRow[]) => void): void {
    this.#onCommitted = listener;
  }

  /**
   * Calls `listener`, which must not throw, after the commit of a transaction that has added jobs,
   * with the milliseconds until the first is due.
   */
  onJobAdded(listener: (inMs: number) => void): void {
    this.#onJobAdded = listener;
  }

  /** Runs Kysely on a separate connection without a time limit, for migrations. */
  async withoutTimeLimit<T>(run: (kysely: Kysely<Schema>) => Promise<T>): Promise<T> {
    const limits = { statementTimeoutMs: 0, queryTimeoutMs: 0 };
    const pool = openPool({ ...this.direct.connectionOptions(limits), max: 1 });
    try {
      return await run(new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) }));
    } catch (error) {
      throw wrapUnavailable(error);
    } finally {
      await pool.end();
    }
  }

  /** Waits for running statements, two seconds at most. */
  async close(): Promise<void> {
    if (this.#connections.ending) return;
    this.places.forget();
    await Promise.all([
      ...this.primaries.map((primary) => primary.close()),
      ...this.pipelines.map((pipeline) => pipeline.close()),
      this.#connections.end(),
    ]);
  }
}

/** Returns how many connections of one kind each of several processes has. */
function shareOf(connections: number, processes: number, least = 1): number {
  return Math.max(Math.min(least, connections), Math.ceil(connections / processes));
}

/** Returns the milliseconds after which a node without places tries again, apart from others. */
function restMs(): number {
  return 250 + Math.random() * 1_750;
}

const ANY = statement<[], object>('pool-is-back')`SELECT`;

/** Room for a transaction and for one statement beside it. */
const LEAST_POOL = 2;
/** Enough for Postgres to use a second processor. */
const READERS = 2;
/** With two, 100 large pages raised the p99 of other requests from 54 to 127 ms on two cores. */
const BULK_AT_ONCE = 1;

/**
 * A page is read in the order of an index, whatever its values. Otherwise Postgres plans it for
 * each request once the table is large: 50 of 80 µs a page at two million rows. The
 * planner, without values, expects few rows, so it must not gather and sort them.
 */
const READER_SETTINGS = { plan_cache_mode: 'force_generic_plan', enable_bitmapscan: 'off' };
/** Maximum number of reads in one write: with this many Postgres has enough work to start on. */
const GATHERED_READS = 8;

/**
 * A flush joins its own rows to each other: in a nested loop, 512 rows meet 262,144 times. Planning
 * it again each time would find the same plan.
 */
const WRITER_SETTINGS = { enable_hashjoin: 'on', plan_cache_mode: 'force_generic_plan' };

/** More concurrent commits gain nothing: they share one flush of the disk. */
const WRITERS = 3;

/** Returns whether the connection must not be used again. */
function isBroken(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || (isUnavailable(error) && !isFenced(error));
}

/**
 * Returns the handle of a transaction of `withoutTimeLimit`. A sweep handles the outbox rows that
 * it writes.
 */
export function openTransaction(kysely: Transaction<Schema>): Tx {
  return new OpenTransaction(kysely, { rows: [], isHandledHere: false }, undefined);
}

/** Throws if the hooks were forgotten, so that no work is half done. */
function given(hooks: Hooks | undefined): Hooks {
  if (hooks === undefined) throw new Error('this database was opened without hooks');
  return hooks;
}

/** A transaction of Database while its work runs. */
class OpenTransaction implements Tx {
  readonly kysely: Transaction<Schema>;
  readonly outbox: OutboxRecord;
  readonly #hooks: Hooks | undefined;

  constructor(kysely: Transaction<Schema>, outbox: OutboxRecord, hooks: Hooks | undefined) {
    this.kysely = kysely;
    this.outbox = outbox;
    this.#hooks = hooks;
  }

  get hooks(): Hooks {
    return given(this.#hooks);
  }

  /** Runs a statement without preparing it, which Kysely cannot: Postgres parses it each time. */
  async query<Params extends readonly Value[], Row extends object>(
    { text }: Statement<Params, Row>,
    ...values: NoInfer<Params>
  ): Promise<Row[]> {
    const { rows } = await this.kysely.executeQuery<Row>(CompiledQuery.raw(text, bindable(values)));
    return rows;
  }

  async copy(table: string, columns: readonly string[], rows: Iterable<readonly CopyField[]>): Promise<void> {
    const copying = new CopyIn(`COPY ${table} (${columns.join(', ')}) FROM STDIN`, copyRows(rows));
    await this.kysely.executeQuery(CompiledQuery.raw(copying as unknown as string));
    await copying.done;
  }
}
