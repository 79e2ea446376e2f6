import { ApiError } from '../protocol/errors.ts';
import type { Exchange, Outgoing } from './exchange.ts';

/** By path; one that ends in `/*` stands for everything below it. Asks for no headers, GET and HEAD only. */
export type PublicRoutes = Readonly<Record<string, PublicRoute>>;

export type PublicRoute = (request: PublicRequest) => PublicAnswer | Promise<PublicAnswer>;

export interface PublicRequest {
  readonly path: string;
  /** As sent, without `?`. */
  readonly query: string;
}

export interface PublicAnswer extends Outgoing {
  /** Values never with text of a caller. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What answering a public route needs of the rest. */
export interface PublicHost {
  refuse(exchange: Exchange, thrown: unknown): void;
  answerError(exchange: Exchange, error: ApiError, label: string): void;
  count(label: string, status: number, exchange: Exchange): void;
}

/** With the pattern that was found, for the metrics. */
export interface FoundPublic {
  readonly pattern: string;
  readonly route: PublicRoute;
}

/** Finds public routes by path. */
export class PublicTable {
  readonly #exact = new Map<string, FoundPublic>();
  /** Pages and pictures: nothing that has to be found fast. */
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
  const { method, path, query } = exchange.head;
  if (method !== 'GET' && method !== 'HEAD') {
    exchange.setHeader('Allow', 'GET, HEAD');
    http.answerError(
      exchange,
      new ApiError('method_not_allowed', `${method} is not possible here.`),
      pattern,
    );
    return;
  }
  const send = (answer: PublicAnswer) => sendPublic(http, exchange, answer, pattern);
  const fail = (thrown: unknown) => http.refuse(exchange, thrown);
  try {
    const answer = route({ path, query });
    if (answer instanceof Promise) answer.then(send).catch(fail);
    else send(answer);
  } catch (thrown) {
    fail(thrown);
  }
}

function sendPublic(
  http: PublicHost,
  exchange: Exchange,
  { headers, ...outgoing }: PublicAnswer,
  pattern: string,
): void {
  const { 'Content-Type': contentType = outgoing.contentType, ...others } = headers ?? {};
  for (const [name, value] of Object.entries(others)) exchange.setHeader(name, value);
  exchange.send(contentType === undefined ? outgoing : { ...outgoing, contentType });
  http.count(pattern, outgoing.status, exchange);
}
