import pg from 'pg';
import type { Logger } from '../log.ts';
import { connectionOptions } from './connection-options.ts';
import type { Querier } from './handle.ts';
import { bindable, type Statement, type Value } from './statement.ts';
import { DatabaseUnavailableError, wrapUnavailable } from './unavailable.ts';

export interface PipelinedConnectionOptions {
  readonly url: string;
  readonly log: Logger;
  /** Called with the name of each statement. */
  readonly onStatement?: (name: string) => void;
  /** Called with the error of each query that failed. */
  readonly onError?: (error: unknown) => void;
  /** Milliseconds after which a query without an answer rejects and its connection is closed. Default 10,000. */
  readonly queryTimeoutMs?: number | undefined;
  /** Further settings of the session, by name. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /**
   * Maximum number of queries of one turn of the event loop that are written to the socket together, for many small
   * reads: the system call costs more than the rest of such a query. Default 1: each is written at once.
   */
  readonly gather?: number | undefined;
}

/**
 * One connection that many callers share: statements are sent at once and results return in order, each statement in a
 * transaction of its own, so that an error affects only its sender. For short statements only: a slow one delays those
 * after it (Postgres cancels it at 80 % of the query timeout, before it costs the connection).
 *
 * A lost connection is restored automatically; meanwhile queries reject at once. A query whose connection died before
 * its answer rejects with DatabaseUnavailableError: it is unknown whether it was executed.
 *
 * Relies on these properties of pg 8.23.1 (`pipeline: true`, client.js and query.js): one Sync per query (errors are
 * isolated); a query that timed out destroys the stream; the end of a stream rejects everything that was sent.
 */
export class PipelinedConnection implements Querier {
  readonly #config: pg.ClientConfig;
  readonly #log: Logger;
  #current: Session | undefined;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;
  #backoffMs = MIN_BACKOFF_MS;
  readonly #gather: number;
  readonly #onStatement: ((name: string) => void) | undefined;
  readonly #onError: ((error: unknown) => void) | undefined;

  constructor(options: PipelinedConnectionOptions) {
    this.#gather = options.gather ?? 1;
    this.#onStatement = options.onStatement;
    this.#onError = options.onError;
    const queryTimeoutMs = options.queryTimeoutMs ?? 10_000;
    const statementTimeoutMs = Math.ceil(queryTimeoutMs * 0.8);
    this.#config = {
      ...connectionOptions({
        url: options.url,
        statementTimeoutMs,
        queryTimeoutMs,
        ...(options.settings && { settings: options.settings }),
      }),
      pipeline: true,
    };
    this.#log = options.log;
  }

  get connected(): boolean {
    return this.#current !== undefined;
  }

  /** Opens the first connection; rejects if there is none, without retrying. */
  async open(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      throw wrapUnavailable(error);
    }
  }

  /** Rejects with DatabaseUnavailableError, or with the statement's own error (pg.DatabaseError). */
  async query<Params extends readonly Value[], Row extends object>(
    statement: Statement<Params, Row>,
    ...values: NoInfer<Params>
  ): Promise<Row[]> {
    const query = { name: statement.name, text: statement.text, values: bindable(values) };
    this.#onStatement?.(statement.name);
    try {
      const { rows } = await this.#send(query);
      return rows;
    } catch (error) {
      this.#onError?.(error);
      throw wrapUnavailable(error);
    }
  }

  /** Waits for the queries in progress, two seconds at most. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    const client = this.#current?.client;
    this.#current = undefined;
    if (client === undefined) return;
    const timer = setTimeout(() => client.connection.stream.destroy(), 2_000);
    await client.end();
    clearTimeout(timer);
  }

  /**
   * The first use of a name on a connection is sent alone: pg sends the statement's text only with that query. If it
   * failed to parse, queries sent after it would refer to a missing statement, or to one that pg no longer knows
   * about.
   */
  async #send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const name = query.name ?? '';
    for (;;) {
      const { client, prepared, preparing } = this.#session();
      if (prepared.has(name)) {
        if (this.#gather > 1) this.#gatherWrites();
        return client.query(query);
      }
      const first = preparing.get(name);
      if (first === undefined) {
        const answer = client.query(query);
        const settled = answer.then(
          () => void prepared.add(name),
          () => undefined,
        );
        preparing.set(
          name,
          settled.finally(() => preparing.delete(name)),
        );
        return answer;
      }
      await first;
    }
  }

  /** Writes from now on leave when the turn ends, or when enough have gathered. */
  #gatherWrites(): void {
    const session = this.#session();
    if (session.gathered === 0) {
      session.client.connection.stream.cork();
      setImmediate(() => this.#letGo(session));
    }
    session.gathered += 1;
    // Runs after this query, which is written in the same step.
    if (session.gathered === this.#gather) process.nextTick(() => this.#letGo(session));
  }

  #letGo(session: Session): void {
    if (session.gathered === 0) return;
    session.gathered = 0;
    session.client.connection.stream.uncork();
  }

  #session(): Session {
    if (this.#current !== undefined) return this.#current;
    throw new DatabaseUnavailableError(
      this.#closed ? 'the connection to Postgres was closed' : 'there is no connection to Postgres',
    );
  }

  async #connect(): Promise<void> {
    const client = new pg.Client(this.#config);
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, undefined));
    await client.connect();
    if (this.#closed) return client.end();
    this.#current = { client, prepared: new Set(), preparing: new Map(), gathered: 0 };
    this.#backoffMs = MIN_BACKOFF_MS;
  }

  /** Handles both an error of the client and the end of its stream, which may arrive in this order. */
  #lost(client: pg.Client, error: Error | undefined): void {
    if (this.#current?.client !== client) return;
    this.#current = undefined;
    // The socket of a dead server would linger; nothing more is expected from it.
    client.connection.stream.destroy();
    if (this.#closed) return;
    this.#log.warn({ reason: error?.message }, 'lost the pipelined connection to Postgres');
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    this.#retry = setTimeout(() => {
      this.#connect().then(
        () => this.#log.info('the pipelined connection to Postgres is back'),
        () => {
          if (!this.#closed) this.#reconnectLater();
        },
      );
    }, this.#backoffMs);
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS);
  }
}

interface Session {
  readonly client: pg.Client;
  /** Names of the statements prepared on this connection. */
  readonly prepared: Set<string>;
  /** Names whose first use is in progress; these promises never reject. */
  readonly preparing: Map<string, Promise<void>>;
  /** Number of queries that wait in the stream's cork. */
  gathered: number;
}

const MIN_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1_000;
