import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  WebSocketBehavior,
} from 'uWebSockets.js';
import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Metrics } from '../metrics.ts';
import { ClientConnection, type ConnectionHost, KEEP_OPEN_TICK_MS } from './client-connection.ts';
import type { ExchangeLimits } from './connection.ts';
import type { ExchangeHost, RequestHandler } from './exchange.ts';
import { Exchange } from './exchange.ts';
import { requireFreePort } from './free-port.ts';
import { HeldAnswers, type HeldLimits } from './held-answers.ts';
import { headOf, readHead } from './request-head.ts';
import type { TlsFiles } from './tls-files.ts';
import { App, SSLApp, us_listen_socket_close, us_socket_local_port } from './uws.ts';

export interface HttpServerOptions {
  readonly handler: RequestHandler;
  /** Null or absent for plain HTTP. */
  readonly tls?: TlsFiles | null;
  readonly limits?: Partial<ExchangeLimits>;
  readonly heldLimits?: HeldLimits;
  readonly metrics?: Pick<Metrics, 'httpHeldBytes'>;
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Whether other processes listen on the same port. */
  readonly isShared?: boolean;
}

/**
 * Connections may be idle for longer than those of common proxies (60 s), so that the proxy closes
 * first and never sends a request to a connection that is being closed.
 */
export const EXCHANGE_LIMITS: ExchangeLimits = {
  bodyBytes: 256 * 1024,
  bodyMs: 10_000,
  writeMs: 10_000,
  idleMs: 75_000,
};

/** A few pages of 1 MiB for each slow client, and in total what a small container can spare. */
const HELD_LIMITS: HeldLimits = { perCredential: 8 * 1024 * 1024, total: 64 * 1024 * 1024 };

/** Serves requests and sockets on one port, refuses hostile requests, and ends gracefully. */
export class HttpServer implements ExchangeHost, ConnectionHost {
  readonly limits: ExchangeLimits;
  readonly held: HeldAnswers;

  readonly #handler: RequestHandler;
  readonly #tls: TlsFiles | null;
  /** The first app listens. Each later certificate has its own, and keeps its connections. */
  readonly #apps: NativeApp[];
  readonly #socketRoutes: ((app: NativeApp) => void)[] = [];
  readonly #idPrefix = `req_${randomBytes(9).toString('base64url')}`;
  #requests = 0;
  #listenSocket: ListenSocket | undefined;
  #draining = false;
  #pending = 0;
  /** Called when a request is completely answered or a connection has closed. */
  #whenLess: (() => void) | undefined;
  readonly #watched = new Set<Exchange>();
  #clock: NodeJS.Timeout | undefined;
  readonly #connections = new Set<ClientConnection>();
  #keeper: NodeJS.Timeout | undefined;
  #closed = 0;
  /** The latest request, until its connection is known. */
  #arriving: Exchange | undefined;
  /** Exchanges that the library called since the event loop went on. */
  #entered: Exchange[] = [];

  constructor({ handler, tls, limits, heldLimits = HELD_LIMITS, metrics }: HttpServerOptions) {
    this.held = new HeldAnswers(heldLimits, metrics?.httpHeldBytes);
    this.#handler = handler;
    this.limits = { ...EXCHANGE_LIMITS, ...limits };
    this.#tls = tls ?? null;
    this.#apps = [this.#open()];
  }

  /** Requests not completely answered. */
  get pending(): number {
    return this.#pending;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /**
   * Resolves with the port (0 asks for a free one); rejects with one clear line if it cannot be
   * used. The kernel spreads the connections to a shared port over the processes that listen on it.
   */
  async listen({ host, port, isShared = false }: ListenAddress): Promise<number> {
    const options = isShared ? LISTEN_SHARED_PORT : LISTEN_EXCLUSIVE_PORT;
    const socket = await new Promise<ListenSocket | false>((resolve) => {
      this.#apps[0]!.listen(host, port, options, resolve);
    });
    if (socket === false) {
      // The library does not say why.
      await requireFreePort(host, port);
      throw new Error(`cannot listen on ${host}:${port}: try again`);
    }
    this.#listenSocket = socket;
    return us_socket_local_port(socket);
  }

  /** Adds a route of sockets for the connections of every certificate. */
  ws<UserData>(pattern: string, behavior: WebSocketBehavior<UserData>): void {
    const add = (app: NativeApp) => void app.ws(pattern, behavior);
    this.#socketRoutes.push(add);
    for (const app of this.#apps) add(app);
  }

  numSubscribers(topic: string): number {
    let count = 0;
    for (const app of this.#apps) count += app.numSubscribers(topic);
    return count;
  }

  publish(topic: string, bytes: Buffer, isBinary: boolean): void {
    for (const app of this.#apps) app.publish(topic, bytes, isBinary);
  }

  /**
   * Serves new connections with the certificate now in the files. Throws an Error if the library
   * cannot use it, and goes on with the earlier one. The library reads certificates for a new app
   * only, and only the app that listens accepts connections: it passes them on. An app is kept
   * until the server closes, for the sockets that were opened on it.
   */
  renewCertificate(): void {
    const app = this.#open();
    for (const add of this.#socketRoutes) add(app);
    const [listening, ...others] = this.#apps as [NativeApp, ...NativeApp[]];
    listening.addChildAppDescriptor(app.getDescriptor());
    const former = others.at(-1);
    if (former !== undefined) listening.removeChildAppDescriptor(former.getDescriptor());
    this.#apps.push(app);
  }

  /** Refuses new connections; open ones go on. */
  stopAccepting(): void {
    if (this.#listenSocket === undefined) return;
    us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
  }

  /**
   * Accepts no more connections, ends each connection with its answer, and waits at most `ms` for
   * requests in flight. At most `keptMs` of this is for connections that a balancer keeps open: a
   * used connection ends with its next answer, and is not closed while a request is on its way.
   */
  async drain(ms: number, keptMs = 0): Promise<void> {
    // The kernel resets connections that wait when the listener closes. A turn of the loop begins
    // by accepting those that wait.
    await nextTurn();
    this.stopAccepting();
    this.#draining = true;
    const beganMs = performance.now();
    await this.#until(() => this.#connections.size === 0, Math.min(ms, keptMs));
    await this.#until(() => this.#pending === 0, ms - (performance.now() - beganMs));
  }

  /** Cuts every connection, including the gateway's sockets. */
  close(): void {
    this.stopAccepting();
    clearInterval(this.#clock);
    clearInterval(this.#keeper);
    for (const app of this.#apps) app.close();
  }

  /** Returns the exchange of a request or upgrade; undefined if it was refused as hostile. */
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
    this.#whenLess?.();
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
    this.#whenLess?.();
  }

  #open(): NativeApp {
    const tls = this.#tls;
    const app = tls === null ? App() : SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile });
    app.filter(this.#onConnection).any('/*', this.#onRequest);
    return app as unknown as NativeApp;
  }

  #until(isDone: () => boolean, ms: number): Promise<void> {
    if (isDone()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#whenLess = undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#whenLess = () => isDone() && end();
    });
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
    // A request after one that ends its connection, before the library closed it, gets no answer.
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

/** LIBUS_LISTEN_DEFAULT: with SO_REUSEPORT. */
const LISTEN_SHARED_PORT = 0;
/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it a second process would share the port. */
const LISTEN_EXCLUSIVE_PORT = 1;
type ListenSocket = us_listen_socket;

/** Adds calls that the library's type declarations lack. */
interface NativeApp extends Omit<TemplatedApp, 'listen'> {
  listen(
    host: string,
    port: number,
    options: number,
    listening: (socket: ListenSocket | false) => void,
  ): unknown;
  /** Identifies this app in the two calls below. */
  getDescriptor(): number;
  /** Passes accepted connections on to the other app from now on. */
  addChildAppDescriptor(descriptor: number): unknown;
  removeChildAppDescriptor(descriptor: number): unknown;
}

/** The head of a request that is refused because of its head. */
const UNREADABLE = headOf({ closes: true });
