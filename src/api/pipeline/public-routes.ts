import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { HttpResponse } from '../../platform/http/connection.ts';
import type { Exchange } from '../../platform/http/exchange.ts';
import type { AllowedOrigins } from '../../platform/http/origins.ts';
import type { RequestHead } from '../../platform/http/request-head.ts';
import type { Principal } from '../access/principal.ts';
import type { AnsweredRequest } from './request-log.ts';

/**
 * Routes by path; a path that ends in `/*` covers everything below it. They require no headers, and
 * answer GET and HEAD, also PUT, only POST, or the methods that they name. `PublicRoutes` are not
 * part of the API: some have a protocol of their own, with callers.
 */
export type PublicRoutes = Readonly<
  Record<string, PublicRoute | PublicFile | PublicAction | LimitedRoute | CalledRoute>
>;

export type PublicRoute = (request: PublicRequest) => PublicAnswer | Promise<PublicAnswer>;

/** A resource that can be both read and put. */
interface PublicFile {
  readonly get: PublicRoute;
  readonly put: (request: PutRequest) => Promise<PublicAnswer>;
}

/** An action without a resource; its body is not read. */
interface PublicAction {
  readonly post: PublicRoute;
}

/**
 * Handlers by method, called after the limit of its address. They may read the body as it arrives.
 */
interface LimitedRoute {
  readonly limited: Readonly<Partial<Record<'get' | 'post' | 'put' | 'delete', LimitedHandler>>>;
}

/**
 * A POST of a protocol of its own, whose handler finds out who calls. It is called after the limit
 * of its address, and pages of allowed origins may call it.
 */
interface CalledRoute {
  readonly called: CalledHandler;
}

type CalledHandler = (request: CalledRequest) => Promise<PublicAnswer>;

export interface CalledRequest extends RequestHead {
  /** The Request-Id of the answer. */
  readonly id: string;
  /** Aborted when the request is over: answered, or its client gone. */
  readonly signal: AbortSignal;
  /**
   * Resolves with the text of the body, which has the limits of the API. Rejects with ApiError as
   * `BodyReceiver` says.
   */
  readBody(): Promise<string>;
  /**
   * Names the caller, for the log and for the limits of untaken answers. Throws ApiError
   * `service_unavailable` if the caller leaves too much untaken.
   */
  calledBy(principal: Principal): void;
}

export type LimitedHandler = (request: StreamedRequest) => Promise<PublicAnswer>;

export type PublicRequest = Pick<
  RequestHead,
  'path' | 'query' | 'ifNoneMatch' | 'host' | 'origin' | 'accept' | 'acceptEncoding'
>;

export interface PutRequest extends PublicRequest, Pick<RequestHead, 'contentType' | 'contentLength'> {
  /** Throws ApiError `client_closed_request` if the body does not arrive as a whole. */
  readonly body: AsyncIterable<Buffer>;
}

export interface StreamedRequest extends PutRequest, Pick<RequestHead, 'signature' | 'cookie' | 'site'> {
  /** The peer's address, as text. */
  readonly address: string;
}

export interface PublicAnswer extends HttpResponse {
  /** Values never have text of a caller. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The refusal that the answer tells in the form of its protocol, for log and metrics. */
  readonly refusal?: ApiError;
  /** Values of Set-Cookie. */
  readonly cookies?: readonly string[];
}

/** The server's parts that public routes use. */
export interface PublicHost {
  readonly origins: AllowedOrigins;
  readonly parts: { readonly addressLimiter?: { consume(key: string): unknown } };
  refuse(exchange: Exchange, thrown: unknown): void;
  answerError(exchange: Exchange, error: ApiError, request: AnsweredRequest): void;
  record(exchange: Exchange, request: AnsweredRequest, status: number, error?: ApiError): void;
}

/** A route, with the matched pattern for the metrics. */
export interface FoundPublic {
  readonly pattern: string;
  readonly route: PublicRoutes[string];
}

export class PublicTable {
  readonly #exact = new Map<string, FoundPublic>();
  /** Routes for pages and pictures, which need no fast look-up. */
  readonly #below: { readonly prefix: string; readonly found: FoundPublic }[] = [];

  constructor(routes: PublicRoutes) {
    for (const [pattern, route] of Object.entries(routes)) {
      const found = { pattern, route };
      if (pattern.endsWith('/*')) this.#below.push({ prefix: pattern.slice(0, -1), found });
      else this.#exact.set(pattern, found);
    }
  }

  find(path: string): FoundPublic | undefined {
    return this.#exact.get(path) ?? this.#below.find(({ prefix }) => path.startsWith(prefix))?.found;
  }
}

export function answerPublic(http: PublicHost, exchange: Exchange, { pattern, route }: FoundPublic): void {
  const { method } = exchange.head;
  const { get, put, post, limited, called } = handlersOf(route);
  const handler = limited === undefined ? undefined : LIMITED_METHODS.get(method)?.(limited);
  if (get !== undefined && (method === 'GET' || method === 'HEAD')) {
    run(http, exchange, pattern, get, exchange.head);
  } else if (put !== undefined && method === 'PUT') {
    run(http, exchange, pattern, put, { ...exchange.head, body: exchange.streamBody() });
  } else if (put !== undefined && method === 'OPTIONS') {
    http.origins.answerOptions(exchange, FILE_METHODS);
  } else if (post !== undefined && method === 'POST') {
    run(http, exchange, pattern, post, exchange.head);
  } else if (handler !== undefined) {
    const address = exchange.readAddress();
    const request = { ...exchange.head, address, body: exchange.streamBody() };
    const admitted = async (request: StreamedRequest) => {
      await http.parts.addressLimiter?.consume(request.address);
      return handler(request);
    };
    run(http, exchange, pattern, admitted, request);
  } else if (called !== undefined && method === 'POST') {
    answerCalled(http, exchange, pattern, called);
  } else if (called !== undefined && method === 'OPTIONS') {
    http.origins.answerOptions(exchange, CALLED_METHODS);
  } else {
    exchange.setHeader('Allow', methodsOf(route));
    const error = new ApiError('method_not_allowed', `This path does not accept ${method}.`);
    http.answerError(exchange, error, { route: pattern, principal: undefined });
  }
}

function answerCalled(http: PublicHost, exchange: Exchange, pattern: string, called: CalledHandler): void {
  const over = new AbortController();
  exchange.whenOver = () => over.abort();
  let caller: Principal | undefined;
  const request: CalledRequest = {
    ...exchange.head,
    id: exchange.id,
    signal: over.signal,
    readBody: () => new Promise((bodyArrived, bodyFailed) => exchange.whenBody({ bodyArrived, bodyFailed })),
    calledBy(principal) {
      caller = principal;
      exchange.answerTo(principal.credential.id);
    },
  };
  const address = exchange.readAddress();
  const admitted = async () => {
    await http.parts.addressLimiter?.consume(address);
    return called(request);
  };
  run(http, exchange, pattern, admitted, request, () => caller);
}

const LIMITED_METHODS: ReadonlyMap<string, (by: LimitedRoute['limited']) => LimitedHandler | undefined> =
  new Map([
    ['GET', ({ get }) => get],
    ['HEAD', ({ get }) => get],
    ['POST', ({ post }) => post],
    ['PUT', ({ put }) => put],
    ['DELETE', (by) => by.delete],
  ]);

const FILE_METHODS = 'GET, HEAD, PUT, OPTIONS';
const CALLED_METHODS = 'POST, OPTIONS';

function handlersOf(
  route: PublicRoutes[string],
): Partial<PublicFile & PublicAction & LimitedRoute & CalledRoute> {
  return typeof route === 'function' ? { get: route } : route;
}

function methodsOf(route: PublicRoutes[string]): string {
  const { get, put, limited, called } = handlersOf(route);
  if (called !== undefined) return CALLED_METHODS;
  if (limited !== undefined)
    return [...LIMITED_METHODS].flatMap(([method, of]) => (of(limited) ? [method] : [])).join(', ');
  return put !== undefined ? FILE_METHODS : get !== undefined ? 'GET, HEAD' : 'POST';
}

function run<Request>(
  http: PublicHost,
  exchange: Exchange,
  pattern: string,
  route: (request: Request) => PublicAnswer | Promise<PublicAnswer>,
  request: Request,
  caller?: () => Principal | undefined,
): void {
  const send = (answer: PublicAnswer) =>
    sendPublic(http, exchange, answer, { route: pattern, principal: caller?.() });
  const fail = (thrown: unknown) => http.refuse(exchange, thrown);
  try {
    const answer = route(request);
    if (answer instanceof Promise) answer.then(send).catch(fail);
    else send(answer);
  } catch (thrown) {
    fail(thrown);
  }
}

function sendPublic(
  http: PublicHost,
  exchange: Exchange,
  { headers, cookies = [], refusal, ...outgoing }: PublicAnswer,
  request: AnsweredRequest,
): void {
  const { 'Content-Type': contentType = outgoing.contentType, ...others } = headers ?? {};
  const { origin } = exchange.head;
  const isNamed = origin !== undefined && http.origins.allows(origin);
  for (const [name, value] of Object.entries(others)) {
    // Browsers refuse the header twice, and an allowed origin is named in it already.
    if (!isNamed || name !== 'Access-Control-Allow-Origin') exchange.setHeader(name, value);
  }
  for (const cookie of cookies) exchange.setHeader('Set-Cookie', cookie);
  exchange.send(contentType === undefined ? outgoing : { ...outgoing, contentType });
  http.record(exchange, request, outgoing.status, refusal);
}
