import type { Logger } from '../../log.ts';
import type { Querier } from './handle.ts';
import type { Primary } from './primary.ts';
import { bindable, type Statement, type Value } from './statement.ts';
import { codeOf, DatabaseUnavailableError, READ_ONLY, wrapUnavailable } from './unavailable.ts';
import { Session, type SessionOptions } from './wire/session.ts';

export interface PipelinedConnectionOptions {
  readonly primary: Primary;
  readonly log: Logger;
  /** Called with the name of each statement. */
  readonly onStatement?: (name: string) => void;
  /** Called with the error of each query that failed. */
  readonly onError?: (error: unknown) => void;
  /** Called when a lost connection is restored. */
  readonly onRestored?: () => void;
  /** Called with the error of each attempt to restore a lost connection. */
  readonly onNotRestored?: (error: unknown) => void;
  /** Returns why queries are refused although this connection is there. Nothing by default. */
  readonly refusal?: () => DatabaseUnavailableError | undefined;
  /** Milliseconds until an unanswered query rejects and the connection closes. Default 10,000. */
  readonly queryTimeoutMs?: number | undefined;
  /** Further settings of the session, by name. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /**
   * Maximum number of queries of one turn of the event loop that share a write, for small reads,
   * which cost less than the system call. Default 1: only queries of one callback share it.
   */
  readonly gather?: number | undefined;
}

/**
 * One connection that many callers share: statements are sent at once and results return in order.
 * Each statement has a transaction of its own, so that an error affects only its sender. It is for
 * short statements only: a slow one delays the statements after it (Postgres cancels it at 80 % of
 * the query timeout, before it costs the connection).
 *
 * A lost connection is restored automatically; meanwhile queries reject at once. A query whose
 * connection died before its answer rejects with DatabaseUnavailableError: it is unknown whether it
 * was executed.
 */
export class PipelinedConnection implements Querier {
  readonly #options: PipelinedConnectionOptions;
  readonly #session: SessionOptions;
  #current: Session | undefined;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;
  /** Whether it was given back, and is not to be opened before its time. */
  #isResting = false;
  /** The number of the last attempt to connect. Earlier ones are void. */
  #attempt = 0;
  #backoffMs = MIN_BACKOFF_MS;

  constructor(options: PipelinedConnectionOptions) {
    const { primary, queryTimeoutMs = 10_000, gather = 1, settings } = options;
    const statementTimeoutMs = Math.ceil(queryTimeoutMs * 0.8);
    const config = primary.connectionOptions({ statementTimeoutMs, queryTimeoutMs, settings });
    this.#options = options;
    this.#session = { config, queryTimeoutMs, gather, onLost: (reason) => this.#lost(reason) };
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

  /** Reconnects at once if the connection is lost: Postgres is back. */
  retryNow(): void {
    if (this.#retry !== undefined && !this.#isResting) this.#reconnect();
  }

  /** Gives the connection back for a while, behind the queries in progress. */
  rest(ms: number): void {
    if (this.#closed) return;
    const session = this.#current;
    this.#current = undefined;
    this.#attempt += 1;
    this.#isResting = true;
    this.#reconnectLater(ms);
    void session?.end();
  }

  async query<Params extends readonly Value[], Row extends object>(
    statement: Statement<Params, Row>,
    ...values: NoInfer<Params>
  ): Promise<Row[]> {
    const bound = bindable(values);
    this.#options.onStatement?.(statement.name);
    const session = this.#current;
    try {
      if (session === undefined) throw this.#unavailable();
      const refusal = this.#options.refusal?.();
      if (refusal !== undefined) throw refusal;
      return (await session.query(statement, bound)) as Row[];
    } catch (error) {
      if (codeOf(error) === READ_ONLY) session?.destroy();
      // The error has the stack of the socket's read; this stack names the caller.
      if (error instanceof Error) Error.captureStackTrace(error);
      this.#options.onError?.(error);
      throw wrapUnavailable(error);
    }
  }

  /** Waits for the queries in progress, two seconds at most. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#attempt += 1;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const session = this.#current;
    this.#current = undefined;
    if (session === undefined) return;
    const timer = setTimeout(() => session.destroy(), 2_000);
    await session.end();
    clearTimeout(timer);
  }

  #unavailable(): DatabaseUnavailableError {
    return new DatabaseUnavailableError(
      this.#closed ? 'the connection to Postgres was closed' : 'there is no connection to Postgres',
    );
  }

  /** Resolves with false if the connection was closed or given back while it was opened. */
  async #connect(): Promise<boolean> {
    this.#attempt += 1;
    const attempt = this.#attempt;
    try {
      const session = await Session.open(this.#session);
      if (attempt === this.#attempt) this.#current = session;
      else void session.end();
    } catch (error) {
      if (attempt === this.#attempt) throw error;
    }
    if (attempt !== this.#attempt) return false;
    this.#backoffMs = MIN_BACKOFF_MS;
    return true;
  }

  #lost(reason: Error): void {
    this.#current = undefined;
    this.#options.log.warn({ reason: reason.message }, 'lost the pipelined connection to Postgres');
    this.#reconnectLater();
  }

  #reconnectLater(ms = this.#backoffMs): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#reconnect(), ms);
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS);
  }

  #reconnect(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#isResting = false;
    this.#connect().then(
      (isBack) => {
        if (!isBack) return;
        this.#options.log.info('the pipelined connection to Postgres is back');
        this.#options.onRestored?.();
      },
      (error: unknown) => {
        this.#reconnectLater();
        this.#options.onNotRestored?.(error);
      },
    );
  }
}

const MIN_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1_000;
