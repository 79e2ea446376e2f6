import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../../log.ts';
import type { Primary } from './primary.ts';
import { codeOf, READ_ONLY, TOO_MANY } from './unavailable.ts';

export interface ConnectionPoolOptions {
  readonly primary: Primary;
  readonly log: Logger;
  /** The most connections. */
  readonly size: number;
  /** Milliseconds after which the connection of a query counts as dead. */
  readonly queryTimeoutMs: number;
  /** Returns why no connection is given; undefined if one is. */
  readonly refusal: () => Error | undefined;
  /** Called when Postgres has no place for a further connection. */
  readonly onFull: (error: unknown) => void;
}

/**
 * Connections that are opened as the load asks for them, each for one user at a time. While
 * Postgres has no place for more, it does not grow, and gives back what is idle.
 */
export class ConnectionPool {
  readonly size: number;
  readonly #options: ConnectionPoolOptions;
  readonly pool: pg.Pool;
  readonly #clients = new Set<pg.Client>();
  #isStarved = false;

  constructor(options: ConnectionPoolOptions) {
    const { primary, log, size, queryTimeoutMs } = options;
    this.size = size;
    this.#options = options;
    const statementTimeoutMs = Math.ceil(queryTimeoutMs * 0.8);
    const config = primary.connectionOptions({ statementTimeoutMs, queryTimeoutMs });
    this.pool = openPool({ ...config, max: size, idleTimeoutMillis: IDLE_MS });
    this.pool.on('error', (error) => {
      // The pool ends before its sockets, on which a Postgres that stops later may still report it.
      if (!this.ending) log.warn({ reason: error.message }, 'lost an idle connection to Postgres');
    });
    this.pool.on('connect', (client) => {
      this.#isStarved = false;
      this.#clients.add(client);
      // Ends the connection and not one query, so that the pool drops it after any kind of use.
      client.connection.on('errorMessage', ({ code }: pg.DatabaseError) => {
        if (code === READ_ONLY) client.connection.stream.destroy();
      });
      client.on('end', () => this.#clients.delete(client));
    });
  }

  get options(): object {
    return this.pool.options;
  }

  get ending(): boolean {
    return this.pool.ending;
  }

  /** Whether it has no open connection. */
  get isEmpty(): boolean {
    return this.#clients.size === 0;
  }

  /** Whether Postgres had no place when it last wanted a connection and had none. */
  get isStarved(): boolean {
    return this.#isStarved;
  }

  /**
   * Waits for a connection that is in use if Postgres has no place for another one. For one that is
   * being opened it waits once: otherwise callers that are refused would wait for each other's
   * attempts for ever.
   */
  async connect(): Promise<pg.PoolClient> {
    for (let attempt = 1; ; attempt++) {
      const refusal = this.#options.refusal();
      if (refusal !== undefined) throw refusal;
      try {
        return await this.pool.connect();
      } catch (error) {
        if (codeOf(error) !== TOO_MANY) throw error;
        if (this.isEmpty && attempt > 1) this.#isStarved = true;
        this.#options.onFull(error);
        if (this.#isStarved) throw error;
      }
    }
  }

  /**
   * Ends the growth until `restore`, and gives back idle connections beyond `least`. Of those that
   * are used later one stays, because the node cannot serve without any.
   */
  shrink(least: number): void {
    const max = Math.max(1, this.#clients.size);
    Object.assign(this.pool.options, { max, min: Math.max(1, least), idleTimeoutMillis: GIVEN_BACK_MS });
    void this.#giveBack(least);
  }

  /** Grows again. */
  restore(): void {
    Object.assign(this.pool.options, { max: this.size, min: 0, idleTimeoutMillis: IDLE_MS });
  }

  /** Waits for running statements, two seconds at most. */
  async end(): Promise<void> {
    const timer = setTimeout(() => {
      for (const client of this.#clients) client.connection.stream.destroy();
    }, 2_000);
    // A client that is held but unused would keep the pool from ending: it is not awaited.
    const patience = new AbortController();
    const late = delay(2_500, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([this.pool.end(), late]);
    patience.abort();
    clearTimeout(timer);
  }

  async #giveBack(least: number): Promise<void> {
    while (this.pool.idleCount > 0 && this.pool.totalCount > least) {
      const client = await this.pool.connect().catch(() => undefined);
      if (client === undefined) return;
      client.release(true);
    }
  }
}

/** Returns a pool that survives lost connections. */
export function openPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(options);
  pool.on('error', () => undefined);
  // pg-pool has no listener on connections that are in use: errors would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Milliseconds that a connection stays idle: as usual, and while Postgres has no place. */
const IDLE_MS = 30_000;
const GIVEN_BACK_MS = 500;
