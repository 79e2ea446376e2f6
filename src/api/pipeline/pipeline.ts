import { randomBytes } from 'node:crypto';
import type { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Version } from '@parley/protocol/versions.ts';
import type { HttpResponse } from '../../platform/http/connection.ts';
import type { Exchange, RequestHandler } from '../../platform/http/exchange.ts';
import { AllowedOrigins } from '../../platform/http/origins.ts';
import { KeyedQueue } from '../../platform/lifecycle.ts';
import type { ApiMetrics } from '../metrics.ts';
import { CursorSeal } from './cursor-seal.ts';
import { type Endpoint, prepareEndpoint } from './endpoint.ts';
import { ErrorMapper, type FailuresOptions } from './failure.ts';
import { answerPublic, type PublicHost, type PublicRoutes, PublicTable } from './public-routes.ts';
import { type AnsweredRequest, RequestLog } from './request-log.ts';
import { RequestRun } from './request-run.ts';
import type { Route } from './route.ts';
import { type Match, Router } from './router.ts';
import type { Entrance, RunHost, RunParts } from './run-host.ts';
import { deprecationHeaders } from './spoken-version.ts';

export interface HttpOptions extends RunParts, FailuresOptions {
  readonly routes: readonly Route[];
  /** Answered before any check: /healthz, /readyz, /metrics, documents. */
  readonly publicRoutes?: PublicRoutes;
  /** Signs cursors on every node. Without it cursors are valid in this process only. */
  readonly cursorSecret?: string;
  readonly metrics: Pick<ApiMetrics, 'httpRequests' | 'httpSeconds' | 'httpRefusals'>;
  readonly origins?: AllowedOrigins;
}

export function createHttp(options: HttpOptions): Http {
  return new Http(options);
}

/** Connections of the pool for one credential's requests at once: fewer than half of the pool. */
const CONNECTIONS_OF_ONE = 4;

/** The whole HTTP API, which an HttpServer calls for each request. */
export class Http implements RequestHandler, RunHost, PublicHost {
  readonly failures: ErrorMapper;
  readonly origins: AllowedOrigins;
  readonly parts: RunParts;
  readonly changeQueue = new KeyedQueue(1);
  readonly connectionQueue = new KeyedQueue(CONNECTIONS_OF_ONE);
  readonly cursors: CursorSeal;
  readonly #network: Entrance;

  readonly #router = new Router<Endpoint>();
  readonly #endpoints: Endpoint[] = [];
  readonly #publicTable: PublicTable;
  readonly #metrics: HttpOptions['metrics'];
  readonly #requestLog: RequestLog;

  constructor(options: HttpOptions) {
    this.failures = new ErrorMapper(options);
    this.origins = options.origins ?? new AllowedOrigins([]);
    this.parts = options;
    const { authenticator, addressLimiter } = options;
    this.#network = {
      authenticator,
      ...(addressLimiter && { addressLimiter }),
      find: (path) => this.find(path),
    };
    this.cursors = new CursorSeal(options.cursorSecret ?? randomBytes(32).toString('base64url'));
    this.#publicTable = new PublicTable(options.publicRoutes ?? {});
    this.#metrics = options.metrics;
    this.#requestLog = new RequestLog(options.log);
    for (const route of options.routes) {
      const endpoint = prepareEndpoint(route);
      this.#endpoints.push(endpoint);
      this.#router.add(route.method, route.path, endpoint);
    }
  }

  /** Prepares frequent endpoints, so that their first requests need not wait. */
  warmUp(version: Version): void {
    for (const endpoint of this.#endpoints) if (endpoint.route.frequent) endpoint.prepare(version);
  }

  /** Answers one request, now or later; never throws. */
  handle(exchange: Exchange): void {
    this.origins.mark(exchange);
    const found = this.#publicTable.find(exchange.head.path);
    if (found !== undefined) answerPublic(this, exchange, found);
    else {
      for (const [name, value] of deprecationHeaders(exchange.head.version)) exchange.setHeader(name, value);
      new RequestRun(this, exchange, this.#network).begin();
    }
  }

  /** Refuses a request that must not be processed at all; nothing after it is parsed. */
  cut(exchange: Exchange, error: ApiError): void {
    exchange.cut({ status: error.status, body: this.failures.toBody(error, exchange.id) });
    this.record(exchange, NO_ROUTE, error.status, error);
  }

  /** Answers with the error envelope for an error from any part of the server. */
  refuse(exchange: Exchange, thrown: unknown): void {
    this.answerError(exchange, this.failures.map(thrown), NO_ROUTE);
  }

  /** Returns undefined if there is no route at this path. */
  find(path: string): Match<Endpoint> | undefined {
    return this.#router.find(path);
  }

  answerError(exchange: Exchange, error: ApiError, request: AnsweredRequest): void {
    const { status, retryAfterS = status === 503 ? 1 : undefined } = error;
    if (retryAfterS !== undefined) exchange.setHeader('Retry-After', String(retryAfterS));
    // Browsers keep this answer for good by default, but what was deleted may be restored.
    if (status === 410) exchange.setHeader('Cache-Control', 'no-store');
    // The page may read why it is refused: the answer has nothing else.
    if (error.param === 'Origin') exchange.setHeader('Access-Control-Allow-Origin', '*');
    if (status === 401) exchange.setHeader('WWW-Authenticate', 'Bearer');
    if (status === 426) {
      exchange.setHeader('Upgrade', 'websocket');
      exchange.setHeader('Connection', 'Upgrade');
    }
    exchange.send({ status, body: this.failures.toBody(error, exchange.id) });
    this.record(exchange, request, status, error);
  }

  answer(exchange: Exchange, outgoing: HttpResponse, request: AnsweredRequest): void {
    exchange.send(outgoing);
    this.record(exchange, request, outgoing.status);
  }

  record(exchange: Exchange, request: AnsweredRequest, status: number, error?: ApiError): void {
    if (error !== undefined) this.#metrics.httpRefusals.inc({ code: error.condition });
    const ms = performance.now() - exchange.startedAtMs;
    const { route } = request;
    const method = METHODS.has(exchange.head.method) ? exchange.head.method : 'other';
    this.#metrics.httpSeconds.observe({ method, route }, ms / 1_000);
    this.#metrics.httpRequests.inc({ method, route, status });
    this.#requestLog.write(exchange, request, status, ms, error);
  }
}

const NO_ROUTE: AnsweredRequest = { route: 'none', principal: undefined };

/** Methods counted by name, because callers may send any word. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
