import { isUtf8 } from 'node:buffer';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { type BodyReceiver, BodyStream } from './body-stream.ts';
import { type ByteSource, Chunks, isSource, type Sink, SourceSender } from './byte-source.ts';
import type { ClientConnection } from './client-connection.ts';
import { compressForPage } from './compressed.ts';
import {
  BODILESS,
  type Connection,
  type ExchangeLimits,
  type HttpResponse,
  lengthOf,
  statusLine,
} from './connection.ts';
import type { HeldAnswers } from './held-answers.ts';
import { isOpenBody, OpenAnswer, type OpenBody } from './open-body.ts';
import type { RequestHead } from './request-head.ts';

/** Answers requests (pipeline.ts). Neither method throws. */
export interface RequestHandler {
  /** Answers, now or later. */
  handle(exchange: Exchange): void;
  /** Refuses a request that must not be processed, and cuts its connection. */
  cut(exchange: Exchange, error: ApiError): void;
}

/** The parts of the server that an exchange uses. */
export interface ExchangeHost {
  readonly limits: ExchangeLimits;
  /** While the server drains, every answer ends its connection. */
  readonly draining: boolean;
  readonly held: HeldAnswers;
  /** Connections closed so far; shows whether sending the end of an answer closed one. */
  readonly closed: number;
  /** Called within the library's call; `leaveLibrary` is called when it has returned. */
  enter(exchange: Exchange): void;
  /** Calls `expire` regularly, until `finished`. */
  watch(exchange: Exchange): void;
  finished(exchange: Exchange): void;
}

/**
 * One request and its response, safe to use at any time: after the client is gone every call is a
 * no-op. No answer is sent while the library is calling (http/README.md), except by `cut`.
 */
export class Exchange {
  readonly id: string;
  readonly head: RequestHead;
  readonly startedAtMs = performance.now();
  /** Called when it is over: answered, or its client gone. */
  whenOver: (() => void) | undefined;

  readonly #host: ExchangeHost;
  /** Undefined once answered or aborted. */
  #connection: Connection | undefined;
  /** Within a library call, until the event loop goes on: bytes of a next request may follow. */
  #inLibrary = true;
  /** Undefined until it is known, and for requests without a network. */
  #clientConnection: ClientConnection | undefined;
  /** Further headers of the answer, each after a line end. */
  #headerLines = '';
  /** The whole body or the reason for its absence; undefined while it is arriving. */
  #body: string | ApiError | undefined;
  #receiver: BodyReceiver | undefined;
  #chunks: Chunks | undefined;
  /** The reader of a streamed body, instead of the receiver. */
  #stream: BodyStream | undefined;
  /** Bytes of the body that were discarded. */
  #discarded = 0;
  /** True once the last byte of the body has arrived. */
  #bodyOver: boolean;
  /** True if the body took too long, so that the answer does not wait for it. */
  #isBodyLate = false;
  /** The answer, held until the library has returned and an unwanted body has passed. */
  #held: HttpResponse | undefined;
  #sender: SourceSender | undefined;
  /** The body that is being written, until its last piece. */
  #openBody: OpenBody | undefined;
  /** Continues at an offset of the answer's body, if it could not be written at once. */
  #writeOn: ((offset: number) => boolean) | undefined;
  /** The credential that the answer's memory counts for, and the number of bytes that remain. */
  #credentialId: string | undefined;
  #heldBytes = 0;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #keptMs = 0;
  #closes: boolean;
  #answered = false;
  #finished = false;

  /** Called within the library's call of the handler. */
  constructor(host: ExchangeHost, connection: Connection, head: RequestHead, id: string) {
    this.#host = host;
    this.#connection = connection;
    this.head = head;
    this.id = id;
    this.#closes = head.closes;
    this.#bodyOver = head.contentLength === 0;
    if (head.contentLength === 0) this.#body = '';
    else if (head.contentLength > host.limits.bodyBytes) {
      const message = `The body is larger than ${host.limits.bodyBytes} bytes.`;
      this.#body = new ApiError('payload_too_large', message);
    }
    host.enter(this);
  }

  /** True if nothing more can be sent: answered, or the client is gone. */
  get ended(): boolean {
    return this.#answered || this.#connection === undefined;
  }

  /** Returns '' if the client is gone. Call it within the handler only. */
  readAddress(): string {
    const bytes = this.#connection?.getRemoteAddressAsText();
    return bytes === undefined ? '' : Buffer.from(bytes).toString('latin1');
  }

  /** Values are sent unchecked: never pass text of a user. */
  setHeader(name: string, value: string): void {
    this.#headerLines += `\r\n${name}: ${value}`;
  }

  /** Calls back when the body is complete or has failed; immediately, if it already is or has. */
  whenBody(receiver: BodyReceiver): void {
    this.#receiver = receiver;
    if (this.#body !== undefined) this.#deliver(this.#body);
  }

  /**
   * Streams a body of any size (check `head.contentLength` first), instead of `whenBody`. Call it
   * within the handler only.
   */
  streamBody(): BodyStream {
    const stream = new BodyStream({
      pause: () => this.#connection?.pause(),
      resume: () => this.#connection?.resume(),
    });
    if (this.head.contentLength === 0) stream.push(NOTHING, true);
    this.#stream = stream;
    return stream;
  }

  bind(connection: ClientConnection): void {
    this.#clientConnection = connection;
  }

  /** Sends the answer of this exchange; a second one is dropped. */
  send(outgoing: HttpResponse): void {
    if (this.ended) return;
    this.#answered = true;
    this.#stream?.abandon();
    compressForPage(this, outgoing, (sent) => {
      if (this.#connection === undefined) return;
      this.#held = sent;
      if (!this.#inLibrary) this.#release();
    });
  }

  /**
   * Counts the untaken part of the answer for this credential from now on. Throws ApiError
   * `service_unavailable` if the credential or the server holds too much already.
   */
  answerTo(credentialId: string): void {
    this.#host.held.requireRoom(credentialId);
    this.#credentialId = credentialId;
  }

  /** Ends the connection after the answer: the next bytes may not be a request. */
  closeBehind(): void {
    this.#closes = true;
  }

  /**
   * Sends the answer and cuts the connection inside the library's call of the handler, so that not
   * one more byte is parsed. The library has no call for an answer that is complete and still
   * pending, and does not report the end of other answers, so head and body are written as the
   * value of the last header.
   */
  cut({ status, body }: HttpResponse): void {
    const connection = this.#connection;
    if (this.ended || connection === undefined) return;
    this.#answered = true;
    // The library drops what it has corked, at most 16 KiB. JSON may end in blanks, and they absorb
    // its line end.
    const text = String(body ?? '').padEnd(CORK_BYTES);
    connection.writeStatus(statusLine(status));
    connection.writeHeader('Request-Id', this.id + this.#headerLines);
    connection.writeHeader('Connection', 'close');
    const length = Buffer.byteLength(text) + 2;
    connection.writeHeader('Content-Type', `application/json\r\nContent-Length: ${length}\r\n\r\n${text}`);
    connection.close();
    this.#finish();
  }

  /** Ends the connection without an answer. */
  abort(): void {
    this.#connection?.close();
  }

  /** Called when the connection has become a socket and belongs to the gateway. */
  handOver(): void {
    this.#clientConnection?.drop();
    this.#finish();
  }

  clientGone(): void {
    this.#finish();
  }

  /** Called when the library has returned to the event loop. */
  leaveLibrary(): void {
    this.#inLibrary = false;
    this.#release();
  }

  /** Receives a chunk, whose memory uWebSockets.js reuses when this returns. */
  receive(chunk: ArrayBuffer, last: boolean): void {
    if (this.#connection === undefined) return;
    if (!this.#inLibrary) {
      this.#inLibrary = true;
      this.#host.enter(this);
    }
    this.#bodyOver = last;
    if (this.#stream !== undefined && !this.#answered) {
      this.#stream.push(new Uint8Array(chunk), last);
      if (last) this.#keepForAnswer();
    } else if (this.#body === undefined && !this.#answered) this.#collect(Buffer.from(chunk), last);
    else this.#discarded += chunk.byteLength;
  }

  /** Called regularly while watched, with `performance.now()`. */
  expire(nowMs: number): void {
    if (this.#connection === undefined) return;
    // A stream that still arrives may be paused, and must stay so.
    const isAwaited =
      this.#chunks !== undefined || (this.#stream !== undefined && this.#bodyOver && !this.#answered);
    if (isAwaited && nowMs - this.#keptMs >= KEEP_MS) {
      this.#keptMs = nowMs;
      this.#connection.pause();
      this.#connection.resume();
    }
    if (nowMs < this.#deadlineMs) return;
    this.#deadlineMs = Number.POSITIVE_INFINITY;
    if (this.#held !== undefined) this.#writeBeforeBody(this.#held);
    else if (this.#answered) this.#writeOrAbort();
    else this.#bodyTimedOut();
  }

  #collect(bytes: Buffer, last: boolean): void {
    if (last && this.#chunks === undefined) {
      this.#bodyArrived(bytes);
      return;
    }
    if (this.#chunks === undefined) {
      this.#chunks = new Chunks(this.head.contentLength);
      this.#keptMs = performance.now();
      this.#watch(this.#host.limits.bodyMs);
    }
    this.#chunks.add(bytes);
    if (last) this.#bodyArrived(this.#chunks.bytes);
  }

  /** Keeps the connection: the use of a stream may outlast the library's clock. */
  #keepForAnswer(): void {
    this.#keptMs = performance.now();
    this.#host.watch(this);
  }

  #bodyArrived(bytes: Buffer): void {
    this.#deadlineMs = Number.POSITIVE_INFINITY;
    this.#chunks = undefined;
    this.#body = isUtf8(bytes)
      ? bytes.toString()
      : new ApiError('invalid_format', 'The body is not valid UTF-8.');
    this.#deliver(this.#body);
  }

  #bodyTimedOut(): void {
    // The rest of the body would be read as the next request.
    this.#closes = true;
    this.#isBodyLate = true;
    this.#chunks = undefined;
    const message = `The body was not complete within ${this.#host.limits.bodyMs / 1000} s.`;
    this.#body = new ApiError('request_timeout', message);
    this.#deliver(this.#body);
  }

  #deliver(body: string | ApiError): void {
    const receiver = this.#receiver;
    if (receiver === undefined) return;
    this.#receiver = undefined;
    if (typeof body === 'string') receiver.bodyArrived(body);
    else receiver.bodyFailed(body);
  }

  /**
   * Writes the answer when it may be written. A client that is cut while it sends may never see its
   * answer, so an unwanted body is discarded first, or a part of one that is too large.
   */
  #release(): void {
    const held = this.#held;
    if (held === undefined) return;
    const isTooLarge = this.head.contentLength > this.#host.limits.bodyBytes;
    if (isTooLarge) this.#closes = true;
    if (this.#bodyOver || this.#isBodyLate) this.#write(held);
    else if (isTooLarge && this.#discarded > DISCARD_BYTES) this.#writeBeforeBody(held);
    else if (this.#deadlineMs === Number.POSITIVE_INFINITY) {
      this.#watch(isTooLarge ? DISCARD_MS : this.#host.limits.bodyMs);
    }
  }

  /** Writes the answer and closes: the rest of the body would be read as the next request. */
  #writeBeforeBody(held: HttpResponse): void {
    this.#closes = true;
    this.#write(held);
  }

  get #mustClose(): boolean {
    return this.#closes || this.#host.draining;
  }

  #write(outgoing: HttpResponse): void {
    this.#held = undefined;
    this.#deadlineMs = Number.POSITIVE_INFINITY;
    const connection = this.#connection;
    if (connection === undefined) return;
    const { status, body } = outgoing;
    if (this.head.method === 'HEAD' || BODILESS.has(status)) this.#sendHead(connection, outgoing);
    else if (isOpenBody(body)) this.#open(connection, outgoing, body);
    else if (isSource(body)) this.#sendSource(connection, outgoing, body);
    else connection.cork(() => this.#respond(connection, outgoing, body ?? ''));
  }

  /**
   * Answers without a body, with the length that it would have. The length is a header of ours,
   * since the library would wait for a body of its own length and cut the next request.
   */
  #sendHead(connection: Connection, outgoing: HttpResponse): void {
    const closedBefore = this.#host.closed;
    const closes = this.#mustClose;
    const length = lengthOf(outgoing);
    if (length !== undefined) this.setHeader('Content-Length', String(length));
    if (closes) this.setHeader('Connection', 'close');
    connection.cork(() => {
      this.#writeHead(connection, outgoing);
      connection.endWithoutBody();
    });
    if (isOpenBody(outgoing.body)) outgoing.body.gone();
    this.#completed(closedBefore);
    // The library closes the connection by itself only if the request asked for it.
    if (closes && this.#host.closed === closedBefore) this.#clientConnection?.close();
  }

  #respond(connection: Connection, outgoing: HttpResponse, body: string | Buffer): void {
    const closedBefore = this.#host.closed;
    this.#writeHead(connection, outgoing);
    // `end` treats bytes that the client has not taken as sent: a client that goes on asking
    // without reading would fill memory. This way its next request meets a pending one and is cut.
    if (this.#mustClose) {
      connection.end(body, true);
      this.#completed(closedBefore);
    } else if (connection.tryEnd(body, 0)[1]) this.#completed(closedBefore);
    else this.#trickle(connection, body);
  }

  /** Ends the exchange when the answer was sent; that may have closed the connection. */
  #completed(closedBefore: number): void {
    if (this.#host.closed === closedBefore) this.#clientConnection?.awaitRequest();
    else this.#clientConnection?.drop();
    this.#finish();
  }

  #writeHead(connection: Connection, { status, body, contentType }: HttpResponse): void {
    connection.writeStatus(statusLine(status));
    if (body !== null) this.setHeader('Content-Type', contentType ?? 'application/json');
    // One call for all headers, because a call takes the library longer than the bytes.
    connection.writeHeader('Request-Id', this.id + this.#headerLines);
  }

  /** Leaves the body to its owner. */
  #open(connection: Connection, outgoing: HttpResponse, body: OpenBody): void {
    this.#openBody = body;
    const end = (last: Buffer) => {
      this.#openBody = undefined;
      const closedBefore = this.#host.closed;
      // An announced end of the connection is the client's to make, as behind a source.
      connection.cork(() => connection.end(last, false));
      this.#completed(closedBefore);
    };
    const answer = new OpenAnswer(connection, { end, abort: () => this.abort() }, body.filler);
    connection.cork(() => {
      this.#writeHead(connection, outgoing);
      if (this.#mustClose) connection.writeHeader('Connection', 'close');
      connection.write(body.start);
    });
    body.begin(answer);
  }

  /** Sends a source. Cuts an answer that fails, or whose client takes nothing for `writeMs`. */
  #sendSource(connection: Connection, outgoing: HttpResponse, source: ByteSource): void {
    const progress = () => this.#watch(this.#host.limits.writeMs);
    const head = () => {
      this.#writeHead(connection, outgoing);
      // The library itself closes the connection only after a body that it gets as a whole.
      if (this.#mustClose) connection.writeHeader('Connection', 'close');
    };
    const sink: Sink = {
      tryEnd: (piece, totalSize) => this.#tryEnd(connection, piece, totalSize),
      onWritable: (resume) => connection.onWritable(resume),
      getWriteOffset: () => connection.getWriteOffset(),
      cork: (write) => connection.cork(write),
    };
    const sender = new SourceSender(source, sink, { head, progress });
    this.#sender = sender;
    this.#writeOn = (offset) => sender.writeOn(offset);
    progress();
    const endIfShort = () => this.abort();
    this.#sender.run().then(endIfShort, endIfShort);
  }

  /** Returns whether the library may go on, and whether the answer is complete. */
  #tryEnd(connection: Connection, bytes: Buffer, totalSize: number): [boolean, boolean] {
    const closedBefore = this.#host.closed;
    const [isTaken, isOver] = connection.tryEnd(bytes, totalSize);
    if (isOver) this.#completed(closedBefore);
    return [isTaken, isOver];
  }

  /** Waits for a client that takes anything, however slowly. */
  #trickle(connection: Connection, body: string | Buffer): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const writeOn = (offset: number) => {
      const [isTaken, isOver] = this.#tryEnd(connection, bytes.subarray(offset), bytes.length);
      if (!isOver && connection.getWriteOffset() > offset)
        this.#keep(bytes.length - connection.getWriteOffset());
      return isTaken;
    };
    this.#writeOn = writeOn;
    connection.onWritable(writeOn);
    if (!this.#keep(bytes.length - connection.getWriteOffset())) this.abort();
  }

  /** Returns whether there is room to keep the remaining `bytes` of the answer. */
  #keep(bytes: number): boolean {
    this.#watch(this.#host.limits.writeMs);
    return this.#countHeld(bytes);
  }

  #countHeld(bytes: number): boolean {
    if (this.#credentialId === undefined || bytes === this.#heldBytes) return true;
    const change = bytes - this.#heldBytes;
    this.#heldBytes = bytes;
    return this.#host.held.change(this.#credentialId, change);
  }

  /** Writes on, or cuts a client that took nothing: the library reports room only if it is much. */
  #writeOrAbort(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    const offset = connection.getWriteOffset();
    // Unlike in the library's own calls, nothing is corked in this call of a timer.
    connection.cork(() => this.#writeOn?.(offset));
    if (this.#finished) return;
    if (connection.getWriteOffset() > offset) this.#watch(this.#host.limits.writeMs);
    else this.abort();
  }

  #watch(ms: number): void {
    this.#deadlineMs = performance.now() + ms;
    this.#host.watch(this);
  }

  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#countHeld(0);
    this.#writeOn = undefined;
    this.#connection = undefined;
    this.#receiver = undefined;
    this.#chunks = undefined;
    this.#stream?.break();
    this.#sender?.stop();
    const open = this.#openBody;
    this.#openBody = undefined;
    this.#host.finished(this);
    open?.gone();
    this.whenOver?.();
  }
}

const NOTHING = Buffer.alloc(0);
/** At least the bytes that the library writes together. */
const CORK_BYTES = 16 * 1024;
/** Limits of discarding a body that is too large before its answer. */
const DISCARD_BYTES = 1024 * 1024;
const DISCARD_MS = 1_000;
/** The library silently cuts a connection after 8 to 12 s of little input; a pause resets that. */
const KEEP_MS = 4_000;
