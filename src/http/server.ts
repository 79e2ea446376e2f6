import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { randomBytes } from 'node:crypto';
import type { Metrics } from '../metrics.ts';
import { ApiError } from '../protocol/errors.ts';
import { ClientConnection, type ConnectionHost, KEEP_OPEN_TICK_MS } from './client-connection.ts';
import { Exchange, type ExchangeHost, type ExchangeLimits, type RequestHandler } from './exchange.ts';
import { HeldAnswers, type HeldLimits } from './held-answers.ts';
import { type RequestHead, readHead } from './request-head.ts';
import { App, SSLApp, us_listen_socket_close, us_socket_local_port } from './uws.ts';

export interface HttpServerOptions {
  readonly handler: RequestHandler;
  /** Paths of PEM files; null or absent: plain HTTP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | null;
  readonly limits?: Partial<ExchangeLimits>;
  readonly heldLimits?: HeldLimits;
  readonly metrics?: Pick<Metrics, 'httpHeldBytes'>;
}

/**
 * Bodies: 256 KiB, complete within 10 s. A client that takes nothing of its answer is cut. Connections may be idle for
 * longer than those of common proxies (60 s), so that the proxy closes first and never sends a request to a connection
 * that is being closed.
 */
export const EXCHANGE_LIMITS: ExchangeLimits = {
  bodyBytes: 256 * 1024,
  bodyMs: 10_000,
  writeMs: 10_000,
  idleMs: 75_000,
};

/** A few pages of 1 MiB for each client that reads slowly, and no more in total than a small container can spare. */
const HELD_LIMITS: HeldLimits = { perCredential: 8 * 1024 * 1024, total: 64 * 1024 * 1024 };

/**
 * Adapts uWebSockets.js: one port for requests and sockets, requests copied before they die, hostile requests refused, a
 * graceful end.
 */
export class HttpServer implements ExchangeHost, ConnectionHost {
  /** The gateway adds its socket route to it. */
  readonly app: TemplatedApp;
  readonly limits: ExchangeLimits;
  readonly held: HeldAnswers;

  readonly #handler: RequestHandler;
  readonly #idPrefix = `req_${randomBytes(9).toString('base64url')}`;
  #requests = 0;
  #listenSocket: ListenSocket | undefined;
  #draining = false;
  #pending = 0;
  #whenIdle: (() => void) | undefined;
  readonly #watched = new Set<Exchange>();
  #clock: NodeJS.Timeout | undefined;
  readonly #connections = new Set<ClientConnection>();
  #keeper: NodeJS.Timeout | undefined;
  #closed = 0;
  /** The request whose head arrived last, until its connection is known. */
  #arriving: Exchange | undefined;
  /** Exchanges that the library called since the event loop went on. */
  #entered: Exchange[] = [];

  constructor({ handler, tls, limits, heldLimits = HELD_LIMITS, metrics }: HttpServerOptions) {
    this.held = new HeldAnswers(heldLimits, metrics?.httpHeldBytes);
    this.#handler = handler;
    this.limits = { ...EXCHANGE_LIMITS, ...limits };
    this.app = tls ? SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile }) : App();
    this.app.filter(this.#onConnection);
    this.app.any('/*', this.#onRequest);
  }

  /** Requests that are not completely answered. */
  get pending(): number {
    return this.#pending;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Resolves with the port (0 asks for a free one); rejects with one clear line if it is taken. */
  async listen({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
    const socket = await new Promise<ListenSocket | false>((resolve) => {
      const listen = this.app.listen as unknown as ListenExclusively;
      listen.call(this.app, host, port, LISTEN_EXCLUSIVE_PORT, resolve);
    });
    if (socket === false) throw new Error(`cannot listen on ${host}:${port}: the port is in use or not ours`);
    this.#listenSocket = socket;
    return us_socket_local_port(socket);
  }

  /** Refuses new connections; open ones go on. */
  stopAccepting(): void {
    if (this.#listenSocket === undefined) return;
    us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
  }

  /** Accepts no more connections, ends each one with its answer, and waits at most `ms` for those in flight. */
  async drain(ms: number): Promise<void> {
    this.stopAccepting();
    this.#draining = true;
    if (this.#pending === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#whenIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Cuts every connection, the gateway's sockets among them. */
  close(): void {
    this.stopAccepting();
    clearInterval(this.#clock);
    clearInterval(this.#keeper);
    this.app.close();
  }

  /**
   * Returns the exchange of a request from the library, for this server and for the gateway's upgrade requests; undefined if
   * the request was hostile and has been refused.
   */
  receive(response: HttpResponse, request: HttpRequest): Exchange | undefined {
    const head = readHead(request);
    this.#pending += 1;
    this.#requests += 1;
    const id = this.#idPrefix + this.#requests.toString(36);
    if (!(head instanceof ApiError)) {
      this.#arriving = new Exchange(this, response, head, id);
      return this.#arriving;
    }
    const exchange = new Exchange(this, response, UNREADABLE, id);
    this.#handler.cut(exchange, head);
    return undefined;
  }

  get closed(): number {
    return this.#closed;
  }

  enter(exchange: Exchange): void {
    if (this.#entered.length === 0) setImmediate(this.#leave);
    this.#entered.push(exchange);
  }

  takeArriving(): Exchange | undefined {
    const exchange = this.#arriving;
    this.#arriving = undefined;
    return exchange;
  }

  forget(connection: ClientConnection): void {
    this.#connections.delete(connection);
    if (this.#connections.size > 0) return;
    clearInterval(this.#keeper);
    this.#keeper = undefined;
  }

  watch(exchange: Exchange): void {
    this.#watched.add(exchange);
    this.#clock ??= setInterval(this.#tick, TICK_MS).unref();
  }

  finished(exchange: Exchange): void {
    this.#watched.delete(exchange);
    this.#pending -= 1;
    if (this.#pending === 0) this.#whenIdle?.();
  }

  readonly #onRequest = (response: HttpResponse, request: HttpRequest): void => {
    const exchange = this.receive(response, request);
    if (exchange === undefined) return;
    this.#handler.handle(exchange);
  };

  readonly #onConnection = (response: HttpResponse, change: number | bigint): void => {
    if (change < 0) {
      this.#closed += 1;
      return;
    }
    this.#connections.add(new ClientConnection(response, this));
    this.#keeper ??= setInterval(this.#keepOpen, KEEP_OPEN_TICK_MS).unref();
  };

  readonly #keepOpen = (): void => {
    const nowMs = performance.now();
    for (const connection of this.#connections) connection.keepOpen(nowMs, this.limits.idleMs);
  };

  readonly #leave = (): void => {
    const entered = this.#entered;
    this.#entered = [];
    // A request after one that ends its connection, before the library had closed it: it is not answered.
    const stray = this.takeArriving();
    stray?.abort();
    stray?.clientGone();
    for (const exchange of entered) exchange.leaveLibrary();
  };

  readonly #tick = (): void => {
    const nowMs = performance.now();
    for (const exchange of this.#watched) exchange.expire(nowMs);
    if (this.#watched.size > 0) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  };
}

/** Resolution of the time limits. */
const TICK_MS = 100;

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it a second process would share the port. The type declarations lack it and this call. */
const LISTEN_EXCLUSIVE_PORT = 1;
type ListenSocket = us_listen_socket;
type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  listening: (socket: ListenSocket | false) => void,
) => TemplatedApp;

/** Stands for the head of a request that is refused because of its head. */
const UNREADABLE: RequestHead = {
  method: '',
  path: '',
  query: '',
  host: undefined,
  authorization: undefined,
  version: undefined,
  account: undefined,
  idempotencyKey: undefined,
  origin: undefined,
  preflightFor: undefined,
  ifNoneMatch: undefined,
  acceptEncoding: undefined,
  contentType: undefined,
  signature: undefined,
  trace: undefined,
  contentLength: 0,
  closes: true,
};
