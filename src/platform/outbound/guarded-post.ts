import type { Dispatcher, Pool } from 'undici';
import type { AddressGuard } from './address-guard.ts';
import { guardedConnector, loadUndici, type Undici } from './address-guard.ts';
import { OutboundError, targetOf } from './outbound-url.ts';

export interface PostRequest {
  /** The result of `readOutboundUrl`. */
  readonly url: URL;
  /**
   * Requests of one scope to one origin may share connections. So no answer can be taken for that
   * of another receiver that the same host serves.
   */
  readonly scope: string;
  /** Default: HTTP/1.1. With HTTP/2 all requests of a scope share a connection. */
  readonly version?: 'HTTP/2';
  /** Besides Host, Connection, Content-Length and User-Agent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** Milliseconds for the look-up, the connection and the head of the response together. */
  readonly timeoutMs: number;
  /** What to keep of the body of a response. Default: nothing, and the head is the answer. */
  readonly keeps?: KeptBody;
}

/** The part of a response's body that is kept; the time of the request holds for it too. */
interface KeptBody {
  readonly bytes: number;
  /** The lowest status of a response whose body is kept. */
  readonly from: number;
  /** Milliseconds for which the answer waits for the body, at most. Default: all of the time. */
  readonly waitMs?: number;
}

export interface Posted {
  readonly status: number;
  /** The beginning of the body, if asked for. */
  readonly beginning?: string;
  /** The header Content-Type, if the body is kept. */
  readonly contentType?: string | null;
  /** The header Retry-After; undefined if it is absent or cannot be read. */
  readonly retryAfterMs: number | undefined;
}

/**
 * POST to hosts that accounts name, limited to the addresses that the guard permits. It follows no
 * redirects, and uses connections for several requests. It keeps the status of a response, and the
 * beginning of its body if the caller asks for it.
 */
export class GuardedPost {
  readonly #guard: AddressGuard;
  readonly #bodyMs: number;
  /** Pools by scope and origin; a pool without connections is removed. */
  readonly #pools = new Map<string, Pool>();
  /** Connections of all pools. */
  #open = 0;
  /** Connections begun so far. */
  #begun = 0;
  #isClosed = false;

  /** `bodyMs`: milliseconds from the head of a response to the end of its body. */
  constructor(guard: AddressGuard, { bodyMs = MAX_IDLE_MS } = {}) {
    this.#guard = guard;
    this.#bodyMs = bodyMs;
  }

  /**
   * Rejects with OutboundError: `insufficient_permissions`, `timeout`, `connection_error` or
   * `external_service_error`.
   */
  async post(request: PostRequest): Promise<Posted> {
    const undici = await loadUndici();
    if (this.#isClosed) throw new OutboundError('connection_error', 'The connection failed: closed.');
    const deadlineMs = performance.now() + request.timeoutMs;
    const begun = this.#begun;
    const first = new Attempt(this.#bodyMs, request.keeps);
    this.#dispatch(undici, request, first, request.timeoutMs);
    const isKept = begun === this.#begun;
    try {
      return await first.answer;
    } catch (error) {
      // The peer closed the idle connection before it answered, so the request is sent once more.
      const isLost = error instanceof OutboundError && error.condition === 'connection_error';
      if (!isKept || !isLost || first.hasBegun || this.#isClosed) throw error;
    }
    const second = new Attempt(this.#bodyMs, request.keeps);
    this.#dispatch(undici, request, second, Math.max(1, deadlineMs - performance.now()));
    return await second.answer;
  }

  /** Number of kept connections without a request. */
  get idleConnections(): number {
    let count = 0;
    for (const { stats } of this.#pools.values()) count += stats.free;
    return count;
  }

  /** Closes every connection; requests under way are rejected. */
  close(): void {
    this.#isClosed = true;
    for (const pool of this.#pools.values()) void pool.destroy();
    this.#pools.clear();
  }

  #dispatch(
    undici: Undici,
    { url, scope, version, headers, body }: PostRequest,
    attempt: Attempt,
    timeoutMs: number,
  ): void {
    const pool = this.#poolOf(undici, url, scope, version === 'HTTP/2');
    attempt.begin(timeoutMs);
    const head = { 'User-Agent': 'Parley', ...headers };
    const path = url.pathname + url.search;
    const reset = this.#open >= MAX_CONNECTIONS;
    pool.dispatch({ method: 'POST', path, headers: head, body, reset }, attempt);
  }

  #poolOf(undici: Undici, url: URL, scope: string, allowH2: boolean): Pool {
    const place = `${scope} ${url.origin} ${allowH2}`;
    const target = targetOf(url);
    this.#guard.requireLiteral(target);
    const known = this.#pools.get(place);
    if (known !== undefined) return known;
    const connect = guardedConnector(undici, this.#guard, target, { allowH2 });
    const pool = new undici.Pool(url.origin, {
      ...LIMITS,
      allowH2,
      connect: (options, callback) => {
        this.#begun += 1;
        connect(options, callback);
      },
    });
    const forget = () => {
      const { connected, size } = pool.stats;
      if (connected > 0 || size > 0 || this.#pools.get(place) !== pool) return;
      this.#pools.delete(place);
      void pool.close();
    };
    pool.on('connect', () => {
      this.#open += 1;
    });
    pool.on('disconnect', () => {
      this.#open -= 1;
      forget();
    });
    pool.on('connectionError', forget);
    this.#pools.set(place, pool);
    return pool;
  }
}

/** One try of a request; undici reports to it. */
class Attempt implements Dispatcher.DispatchHandler {
  readonly #answer = Promise.withResolvers<Posted>();
  readonly #bodyMs: number;
  readonly #keeps: KeptBody | undefined;
  /** A response whose body is under way and kept. */
  #begun: Posted | undefined;
  #kept = Buffer.alloc(0);
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Runs while the answer waits for the body. */
  #wait: NodeJS.Timeout | undefined;
  #isLate = false;
  /** Whether any part of the response has arrived. */
  hasBegun = false;

  constructor(bodyMs: number, keeps: KeptBody | undefined) {
    this.#bodyMs = bodyMs;
    this.#keeps = keeps;
  }

  get answer(): Promise<Posted> {
    return this.#answer.promise;
  }

  begin(timeoutMs: number): void {
    this.#timer = setTimeout(this.#onLate, timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isLate) controller.abort(tooLate());
  }

  onResponseStarted(): void {
    this.hasBegun = true;
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // The final response follows an interim one.
    if (status < 200) return;
    const posted = { status, retryAfterMs: readRetryAfter(headers['retry-after']) };
    const keeps = this.#keeps;
    if (keeps !== undefined && status >= keeps.from) {
      const type = headers['content-type'];
      this.#begun = { ...posted, contentType: typeof type === 'string' ? type : null };
      if (keeps.waitMs !== undefined) this.#wait = setTimeout(this.#onWaited, keeps.waitMs);
      return;
    }
    this.#awaitEnd();
    this.#answer.resolve(posted);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#begun === undefined) return;
    const room = this.#keeps!.bytes - this.#kept.length;
    this.#kept = Buffer.concat([this.#kept, chunk.subarray(0, room)]);
    if (chunk.length < room) return;
    this.#awaitEnd();
    this.#settleKept();
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer);
    this.#settleKept();
  }

  onResponseError(_: unknown, error: Error): void {
    clearTimeout(this.#timer);
    this.#settleKept();
    this.#answer.reject(asOutboundError(error));
  }

  /** Gives the rest of the body some time, so that the connection can be used again. */
  #awaitEnd(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onLate, this.#bodyMs).unref();
  }

  /** Answers with what has arrived of the body. */
  #settleKept(): void {
    clearTimeout(this.#wait);
    if (this.#begun === undefined) return;
    this.#answer.resolve({ ...this.#begun, beginning: this.#kept.toString() });
    this.#begun = undefined;
  }

  readonly #onWaited = (): void => {
    this.#awaitEnd();
    this.#settleKept();
  };

  readonly #onLate = (): void => {
    this.#isLate = true;
    // Without a controller it is not connected yet, and is ended once it is.
    if (this.#controller === undefined) this.#answer.reject(tooLate());
    else this.#controller.abort(tooLate());
  };
}

/** Milliseconds that a connection is kept without a request, or without the rest of a response. */
const MAX_IDLE_MS = 20_000;
/** With more open connections on this node, none is kept. */
const MAX_CONNECTIONS = 2_000;

const LIMITS = {
  keepAliveTimeout: MAX_IDLE_MS,
  keepAliveMaxTimeout: MAX_IDLE_MS,
  // Milliseconds until a connection ends, so that a name that has moved is looked up again.
  clientTtl: 5 * 60_000,
  maxHeaderSize: 16 * 1024,
  // No more than this is read for the sake of keeping a connection.
  maxResponseSize: 64 * 1024,
  // An attempt itself limits the time until the body and the time of the body.
  headersTimeout: 0,
  bodyTimeout: 0,
};

function tooLate(): OutboundError {
  return new OutboundError('timeout', 'There was no response in time.');
}

function asOutboundError(error: Error): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = 'code' in error ? String(error.code ?? error.name) : error.name;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return tooLate();
  if (UNREADABLE.includes(error.name) || /^bad (response|upgrade)$/.test(error.message)) {
    return new OutboundError('external_service_error', 'This is not an HTTP/1.1 response.');
  }
  const reason = code === 'UND_ERR_SOCKET' ? 'closed' : code;
  return new OutboundError('connection_error', `The connection failed: ${reason}.`, error);
}

/** Names of errors. AssertionError: undici's word for an upgrade that was not asked for. */
const UNREADABLE = [
  'AssertionError',
  'HTTPParserError',
  'HeadersOverflowError',
  'ResponseContentLengthMismatchError',
];

/** Accepts seconds or an HTTP date. */
function readRetryAfter(text: string | readonly string[] | undefined): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
