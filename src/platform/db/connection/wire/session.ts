import { Socket } from 'node:net';
import pg from 'pg';
import type { ConnectionOptions } from '../connection-options.ts';
import type { Bindable } from '../statement.ts';
import { CACHED_PLAN_CHANGED } from '../unavailable.ts';
import { MessageReader, SERVER_MESSAGE } from './message-reader.ts';
import { OutgoingBytes } from './outgoing-bytes.ts';
import { RowDecoder, readColumns } from './row-decoder.ts';

export interface SessionOptions {
  readonly config: ConnectionOptions;
  /** Milliseconds after which a query without an answer ends the session. */
  readonly queryTimeoutMs: number;
  /** Maximum number of queries of a turn of the event loop that share a write; 1: of a callback. */
  readonly gather: number;
  /** Called once if an open session ends, unless `end` was called. */
  readonly onLost: (reason: Error) => void;
}

/**
 * One connection to Postgres (README.md). Queries are sent without waiting for the answers to
 * earlier ones, and each is a transaction of its own (PostgreSQL, Pipelining). pg itself takes
 * several times as long: it makes an object and an event of each message, and has the columns
 * described again with each result. The second ReadyForQuery ends the answer to the settings.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #client: pg.Client;
  readonly #reader: MessageReader;
  readonly #outgoing = new OutgoingBytes();
  readonly #statements = new Map<string, PreparedStatement>();
  /** Queries that were sent, in their order, linked by `next`. */
  #first: Query | undefined;
  #last: Query | undefined;
  #isOpen = false;
  /** Whether the first ReadyForQuery has come, so that the answer to the settings is next. */
  #isGreeted = false;
  #lostBy: Error | undefined;
  #isEnding = false;
  #whenIdle: (() => void) | undefined;
  #deadline: NodeJS.Timeout | undefined;
  /** Number of queries since the last write. */
  #unwritten = 0;

  /** Resolves when queries can be sent; rejects with pg's error. */
  static async open(options: SessionOptions): Promise<Session> {
    const session = new Session(options);
    try {
      await session.#client.connect();
      await options.config.onConnect(session.#client);
      if (session.#lostBy !== undefined) throw session.#lostBy;
      return session;
    } catch (error) {
      session.#isEnding = true;
      session.destroy();
      throw error;
    }
  }

  private constructor(options: SessionOptions) {
    this.#options = options;
    const { config } = options;
    this.#client = new (config.Client ?? pg.Client)({ ...config, stream: this.#openStream });
    this.#reader = new MessageReader(this.#receive);
    const { connection, ssl } = this.#client;
    // Reads from the first byte on: the read with ReadyForQuery may bring a part of what follows.
    connection.once(ssl ? 'sslconnect' : 'connect', () => connection.stream.on('data', this.#read));
    this.#client.on('error', (error) => this.#lose(error));
    this.#client.on('end', () => this.#lose(new Error('Connection terminated')));
  }

  /** Resolves with the rows; rejects with the error of the statement or of the connection. */
  query(statement: { name: string; text: string }, values: readonly Bindable[]): Promise<object[]> {
    return new Promise((resolve, reject) => {
      this.#send({
        name: statement.name,
        text: statement.text,
        values,
        resolve,
        reject,
        rows: [],
        error: undefined,
        statement: undefined,
        isFirstUse: false,
        sentAtMs: 0,
        next: undefined,
      });
    });
  }

  /** Waits for the queries in progress and closes the connection. Do not call `query` any more. */
  async end(): Promise<void> {
    this.#isEnding = true;
    if (this.#first !== undefined) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    clearTimeout(this.#deadline);
    await this.#client.end();
  }

  /** Rejects the queries in progress. */
  destroy(): void {
    this.#client.connection.stream.destroy();
  }

  /**
   * Sends a query. Later uses of a name wait until its first use has prepared the statement: if it
   * does not parse, a query sent behind it would refer to a missing statement.
   */
  #send(query: Query): void {
    const { name, text } = query;
    if (this.#lostBy !== undefined) {
      query.reject(this.#lostBy);
      return;
    }
    let statement = this.#statements.get(name);
    if (statement === undefined) {
      statement = { text, decoder: undefined, isPrepared: false, waiting: [] };
      this.#statements.set(name, statement);
      query.isFirstUse = true;
      this.#outgoing.prepare(name, text);
    } else if (statement.text !== text) {
      query.reject(new Error(`The name ${name} is used for two statements.`));
      return;
    } else if (!statement.isPrepared) {
      statement.waiting.push(query);
      return;
    }
    query.statement = statement;
    this.#outgoing.execute(name, query.values);
    this.#enqueue(query);
    this.#writeSoon();
  }

  #enqueue(query: Query): void {
    query.sentAtMs = performance.now();
    if (this.#last === undefined) this.#first = query;
    else this.#last.next = query;
    this.#last = query;
    this.#deadline ??= setTimeout(this.#onDeadline, this.#options.queryTimeoutMs);
  }

  /**
   * Schedules a write. It costs more than the rest of a query, so queries share it: those of one
   * callback of the event loop, or with `gather` those of a whole turn.
   */
  #writeSoon(): void {
    const { gather } = this.#options;
    this.#unwritten += 1;
    if (this.#unwritten === gather) process.nextTick(this.#write);
    else if (this.#unwritten === 1) setImmediate(this.#write);
  }

  readonly #write = (): void => {
    this.#unwritten = 0;
    const { stream } = this.#client.connection;
    if (stream.destroyed) return;
    this.#outgoing.drainTo((bytes) => {
      stream.write(bytes);
      return stream.writableLength === 0;
    });
  };

  /**
   * Called by pg. All reads use one buffer: Node allocates 64 KiB for each read, which takes as
   * long as reading a short answer. TLS decrypts into buffers of its own.
   */
  readonly #openStream = (config?: { readonly ssl?: unknown }): Socket => {
    if (config?.ssl) return new Socket();
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean => {
      const chunk = buffer.subarray(0, length);
      if (this.#isOpen) this.#read(chunk);
      // pg reads by `data` events, which a socket with a buffer of its own does not emit.
      else this.#client.connection.stream.emit('data', Buffer.from(chunk));
      return true;
    };
    return new Socket({ onread: { buffer, callback } });
  };

  readonly #read = (chunk: Buffer): void => {
    try {
      this.#reader.read(chunk);
    } catch (error) {
      this.#client.connection.stream.destroy(error as Error);
    }
  };

  readonly #receive = (kind: number, bytes: Buffer, start: number, end: number): void => {
    if (!this.#isOpen) {
      if (kind !== SERVER_MESSAGE.readyForQuery) return;
      if (this.#isGreeted) this.#takeOver();
      this.#isGreeted = true;
      return;
    }
    switch (kind) {
      case SERVER_MESSAGE.dataRow:
        this.#receiveRow(bytes, start, end);
        break;
      case SERVER_MESSAGE.readyForQuery:
        this.#finish();
        break;
      case SERVER_MESSAGE.errorResponse:
        this.#receiveError(readError(bytes, start, end));
        break;
      case SERVER_MESSAGE.rowDescription:
        this.#statementInUse.decoder = new RowDecoder(readColumns(bytes, start), this.#options.config.types);
        break;
      case SERVER_MESSAGE.parseComplete:
        this.#statementInUse.isPrepared = true;
        break;
      default:
        if (!IGNORED.has(kind)) throw new Error(`Postgres sent an unexpected message of kind ${kind}.`);
    }
  };

  /** Takes the stream over from pg, which still reports its end. */
  #takeOver(): void {
    this.#isOpen = true;
    const { stream } = this.#client.connection;
    for (const listener of stream.listeners('data')) {
      if (listener !== this.#read) stream.off('data', listener as (chunk: Buffer) => void);
    }
  }

  get #statementInUse(): PreparedStatement {
    const statement = this.#first?.statement;
    if (statement === undefined) throw new Error('Postgres answered without a question.');
    return statement;
  }

  #receiveRow(bytes: Buffer, start: number, end: number): void {
    const { decoder } = this.#statementInUse;
    const query = this.#first!;
    if (query.error !== undefined) return;
    if (decoder === undefined) throw new Error('Postgres sent a row of a result without columns.');
    try {
      query.rows.push(decoder.decode(bytes, start, end));
    } catch (error) {
      query.error = error;
    }
  }

  /** Receives an error; without a query, Postgres says why it closes the connection. */
  #receiveError(error: pg.DatabaseError): void {
    if (this.#first === undefined) this.#client.connection.stream.destroy(error);
    else this.#first.error = error;
  }

  #finish(): void {
    const query = this.#first;
    if (query === undefined) throw new Error('Postgres is ready without a question.');
    this.#first = query.next;
    if (this.#first === undefined) this.#last = undefined;
    if (query.isFirstUse) this.#sendWaiting(query);
    if (query.error === undefined) query.resolve(query.rows);
    else this.#fail(query);
    if (this.#first === undefined) this.#whenIdle?.();
  }

  #sendWaiting({ name, statement }: Query): void {
    if (!statement!.isPrepared) this.#statements.delete(name);
    for (const query of statement!.waiting.splice(0)) this.#send(query);
  }

  #fail({ name, statement, error, reject }: Query): void {
    const { code } = error as { code?: unknown };
    // Its tables were changed, or statements were dropped: the next use prepares it again.
    const isOutdated = code === CACHED_PLAN_CHANGED || code === STATEMENT_MISSING;
    if (isOutdated && this.#statements.get(name) === statement) this.#statements.delete(name);
    reject(error);
  }

  /** Concerns the first query: answers come in order, so it has waited longest. */
  readonly #onDeadline = (): void => {
    this.#deadline = undefined;
    if (this.#first === undefined) return;
    const leftMs = this.#first.sentAtMs + this.#options.queryTimeoutMs - performance.now();
    if (leftMs > 0) this.#deadline = setTimeout(this.#onDeadline, leftMs);
    else this.#client.connection.stream.destroy(new Error('Query read timeout'));
  };

  /** Ends the session. Called with both an error of the stream and its end, in this order. */
  #lose(reason: Error): void {
    if (this.#lostBy !== undefined) return;
    this.#lostBy = reason;
    clearTimeout(this.#deadline);
    // The socket of a dead server would linger; nothing more is expected from it.
    this.destroy();
    for (let query = this.#first; query !== undefined; query = query.next) {
      query.reject(query.error ?? reason);
      if (query.isFirstUse) this.#sendWaiting(query);
    }
    this.#first = undefined;
    this.#whenIdle?.();
    if (this.#isOpen && !this.#isEnding) this.#options.onLost(reason);
  }
}

interface PreparedStatement {
  readonly text: string;
  /** Undefined if the statement has no rows. */
  decoder: RowDecoder | undefined;
  isPrepared: boolean;
  /** Queries that came before the statement was prepared. */
  readonly waiting: Query[];
}

interface Query {
  readonly name: string;
  readonly text: string;
  readonly values: readonly Bindable[];
  readonly resolve: (rows: object[]) => void;
  readonly reject: (error: unknown) => void;
  readonly rows: object[];
  /** Postgres' error or that of a column's parser; the answer goes on until ReadyForQuery. */
  error: unknown;
  statement: PreparedStatement | undefined;
  isFirstUse: boolean;
  sentAtMs: number;
  next: Query | undefined;
}

/** Messages that complete a step, and those that Postgres sends by itself. */
const IGNORED: ReadonlySet<number> = new Set([
  SERVER_MESSAGE.bindComplete,
  SERVER_MESSAGE.closeComplete,
  SERVER_MESSAGE.commandComplete,
  SERVER_MESSAGE.emptyQueryResponse,
  SERVER_MESSAGE.noData,
  SERVER_MESSAGE.noticeResponse,
  SERVER_MESSAGE.notificationResponse,
  SERVER_MESSAGE.parameterDescription,
  SERVER_MESSAGE.parameterStatus,
]);

const STATEMENT_MISSING = '26000';

const READ_BYTES = 64 * 1024;

/** Returns the error that an ErrorResponse describes, from its content, as pg makes it. */
export function readError(bytes: Buffer, start: number, end: number): pg.DatabaseError {
  const fields = new Map<string, string>();
  let at = start;
  while (at < end && bytes[at] !== 0) {
    const valueEnd = bytes.indexOf(0, at + 1);
    if (valueEnd === -1 || valueEnd >= end) break;
    fields.set(String.fromCharCode(bytes[at]!), bytes.toString('utf8', at + 1, valueEnd));
    at = valueEnd + 1;
  }
  const error = new pg.DatabaseError(fields.get('M') ?? '', 4 + end - start, 'error');
  return Object.assign(error, {
    severity: fields.get('S'),
    code: fields.get('C'),
    detail: fields.get('D'),
    hint: fields.get('H'),
    position: fields.get('P'),
    internalPosition: fields.get('p'),
    internalQuery: fields.get('q'),
    where: fields.get('W'),
    schema: fields.get('s'),
    table: fields.get('t'),
    column: fields.get('c'),
    dataType: fields.get('d'),
    constraint: fields.get('n'),
    file: fields.get('F'),
    line: fields.get('L'),
    routine: fields.get('R'),
  });
}
