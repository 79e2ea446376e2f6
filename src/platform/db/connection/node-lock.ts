import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { pauseMs } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Primary } from './primary.ts';
import { codeOf, TOO_MANY } from './unavailable.ts';

export interface NodeLockOptions {
  /** The primary of an address that gives each connection a session. */
  readonly primary: Primary;
  /** `shared` for a node with Redis, else `exclusive`: several nodes on a database need Redis. */
  readonly mode: 'exclusive' | 'shared';
  readonly log: Logger;
  /** Called when Postgres has no place for the connection. */
  readonly onRefused?: (error: unknown) => void;
  /** Milliseconds of retries before the lock counts as another node's. Default 3,000. */
  readonly patienceMs?: number | undefined;
}

/**
 * Acquires the lock. Rejects with one line that names REDIS_URL if the database belongs to a
 * node that this one cannot work with. Retries, because a killed node's lock takes a moment to go.
 */
export async function acquireNodeLock(options: NodeLockOptions): Promise<NodeLock> {
  const lock = new NodeLock(options);
  const deadline = Date.now() + (options.patienceMs ?? 3_000);
  try {
    for (;;) {
      let failure = new Error(REFUSALS[options.mode]);
      try {
        if (await lock.tryToAcquire()) return lock;
      } catch (error) {
        if (!lock.isRefused(error)) throw error;
        failure = error as Error;
      }
      if (Date.now() >= deadline) throw failure;
      await delay(100);
    }
  } catch (error) {
    await lock.close();
    throw error;
  }
}

const REFUSALS = {
  exclusive:
    'another Parley node uses this database, and this one has no Redis to work with it: set REDIS_URL on every node, or stop the other one',
  shared:
    'a Parley node without Redis uses this database: set REDIS_URL on that one too, or stop it, before this one starts',
} as const;

/**
 * A session-level advisory lock on a separate connection (which must be a real session: no pooler
 * in transaction mode). `held` becomes false as soon as the connection is lost, and true again when
 * the lock was reacquired; a node that does not hold it must not accept sends.
 *
 * If the peer vanishes: this node queries every two seconds and gives up after 3 s without an
 * answer, so within 6 s; Postgres releases the lock after 11 s (the keepalives in
 * connection-options.ts). So the node knows first.
 */
export class NodeLock {
  readonly #options: NodeLockOptions;
  #client: pg.Client | undefined;
  #held = false;
  #closed = false;
  #next: NodeJS.Timeout | undefined;

  constructor(options: NodeLockOptions) {
    this.#options = options;
  }

  get held(): boolean {
    return this.#held;
  }

  /** Returns false if another node has the lock. Rejects if Postgres cannot be reached. */
  async tryToAcquire(): Promise<boolean> {
    this.#client ??= await this.#connect();
    const client = this.#client;
    const wanted =
      this.#options.mode === 'exclusive' ? 'pg_try_advisory_lock' : 'pg_try_advisory_lock_shared';
    const { rows } = await client.query<{ held: boolean }>(`SELECT ${wanted}($1, $2) AS held`, [...LOCK]);
    const held = rows[0]?.held === true && this.#client === client;
    if (held) {
      this.#held = true;
      this.#again(pauseMs(CHECK_MS));
    }
    return held;
  }

  /** Returns whether Postgres had no place for the connection, after having said so. */
  isRefused(error: unknown): boolean {
    const isIt = codeOf(error) === TOO_MANY;
    if (isIt) this.#options.onRefused?.(error);
    return isIt;
  }

  /** Releases the lock. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#held = false;
    clearTimeout(this.#next);
    const client = this.#client;
    this.#client = undefined;
    // If a query is in progress, pg destroys the connection instead of waiting.
    await client?.end();
  }

  async #connect(): Promise<pg.Client> {
    const { primary } = this.#options;
    const limits = { statementTimeoutMs: 0, queryTimeoutMs: ANSWER_MS };
    const options = primary.connectionOptions({ ...limits, settings: { idle_session_timeout: 0 } });
    const client = new (options.Client ?? pg.Client)(options);
    client.on('error', () => this.#lost(client));
    client.on('end', () => this.#lost(client));
    try {
      await client.connect();
      await options.onConnect(client);
    } catch (cause) {
      client.connection.stream.destroy();
      throw new Error(`cannot reach Postgres at ${primary.place}: ${(cause as Error).message}`, { cause });
    }
    if (!this.#closed) return client;
    await client.end();
    throw new Error('the lock was closed');
  }

  /** Drops the client, also after a query's timeout, when the lock's state is unknown. */
  #lost(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.connection.stream.destroy();
    if (this.#closed) return;
    if (this.#held)
      this.#options.log.error('lost the lock on the database, refusing sends until it is held again');
    this.#held = false;
    this.#again(RETRY_MS);
  }

  #again(afterMs: number): void {
    clearTimeout(this.#next);
    this.#next = setTimeout(() => void this.#check(), afterMs);
  }

  async #check(): Promise<void> {
    const client = this.#client;
    try {
      if (this.#held && client !== undefined) {
        await client.query('SELECT');
        if (this.#client === client) this.#again(pauseMs(CHECK_MS));
        return;
      }
      if (await this.tryToAcquire()) this.#options.log.info('holding the lock on the database again');
      else this.#again(RETRY_MS);
    } catch (error) {
      if (this.#closed) return;
      this.isRefused(error);
      if (client !== undefined && this.#client === client) this.#lost(client);
      else this.#again(RETRY_MS);
    }
  }
}

/** Milliseconds between checks. A check costs as much as a look for due work. */
const CHECK_MS = 2_000;
const ANSWER_MS = 3_000;
const RETRY_MS = 200;
/** Two arbitrary numbers, equal in every Parley: the lock is the database's, not the server's. */
export const LOCK = [0x7061726c, 0x6579] as const;
