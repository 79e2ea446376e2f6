import { ApiError } from '@parley/protocol/errors/errors.ts';
import { parseTraceparent, type TraceContext } from '@parley/protocol/traceparent.ts';

/** A request's head, copied while uWebSockets.js still has it. Headers not sent are undefined. */
export type RequestHead = Readonly<Head>;

class Head {
  /** The method as sent, because methods are case-sensitive. */
  method = '';
  /** The path without the query; not decoded. */
  path = '';
  /** The query without `?`; '' if there is none. */
  query = '';
  host: string | undefined;
  authorization: string | undefined;
  /** Service-Version. */
  version: string | undefined;
  /** Service-Account. */
  account: string | undefined;
  idempotencyKey: string | undefined;
  origin: string | undefined;
  /** Sec-Fetch-Site: how a browser relates the page that began the request to this server. */
  site: string | undefined;
  /** All cookies, as sent. They authenticate nothing but what reads them (features/identity/). */
  cookie: string | undefined;
  /** Access-Control-Request-Method, which marks an OPTIONS request as a browser's preflight. */
  preflightFor: string | undefined;
  /** If-None-Match: the entity tags that the caller already has. */
  ifNoneMatch: string | undefined;
  accept: string | undefined;
  acceptEncoding: string | undefined;
  contentType: string | undefined;
  /** Parley-Signature, as sent. */
  signature: string | undefined;
  /** The headers whose names begin with `mcp-`, by their names in lower case. */
  mcp: Readonly<Record<string, string>> | undefined;
  /** The trace of a valid `traceparent`. */
  trace: TraceContext | undefined;
  /** Announced bytes of the body; 0 if there is none. */
  contentLength = 0;
  /** Whether the answer ends the connection: the client asked, or the request's end is in doubt. */
  closes = false;
}

/** Returns a head that no client sent. */
export function headOf(fields: Partial<RequestHead>): RequestHead {
  return Object.assign(new Head(), fields);
}

/** The used part of uWebSockets.js's HttpRequest. It is dead when the handler returns. */
export interface IncomingRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(visit: (name: string, value: string) => void): void;
}

/**
 * Returns a copy of the head, or the reason not to process the request at all. Its connection is
 * then cut before one more byte is parsed, so a request hidden behind it never runs (RFC 9112, 3.2
 * and 6.3). The library's parser accepts requests that proxies read differently: two lengths, two
 * hosts, any Transfer-Encoding.
 */
export function readHead(request: IncomingRequest): RequestHead | ApiError {
  const head = headers.begin();
  request.forEach(headers.read);
  if (headers.problem !== undefined) return unreadable(headers.problem);
  const { contentLength: announced, traceparent } = headers;
  const method = request.getCaseSensitiveMethod();
  const path = request.getUrl();
  const query = request.getQuery() ?? '';
  if (method.length + path.length + query.length + headers.bytes > MAX_HEAD_BYTES) {
    const message = `Request line and headers are larger than ${MAX_HEAD_BYTES} bytes.`;
    return new ApiError('head_too_large', message);
  }
  if (!isMethod(method)) return unreadable('The method is not a valid HTTP method.');
  if (!TARGET.test(path) || (query !== '' && !TARGET.test(query))) {
    return unreadable('The request target has characters that must be percent-encoded.');
  }
  if (!isHost(head.host)) return unreadable('The Host header is not valid.');
  if (announced !== undefined && !LENGTH.test(announced)) {
    return unreadable('The Content-Length header is not a number.');
  }
  const mayHaveBody = !BODILESS.has(method);
  head.contentLength = announced === undefined ? 0 : Number(announced);
  if (head.contentLength > 0 && !mayHaveBody) return unreadable(`A ${method} request must not have a body.`);
  head.method = method;
  head.path = path;
  head.query = query;
  head.trace = traceparent === undefined ? undefined : parseTraceparent(traceparent);
  // The parser stops at a header without a name, so there may be a length that it did not report.
  head.closes ||= mayHaveBody && announced === undefined;
  return head;
}

function unreadable(message: string): ApiError {
  return new ApiError('invalid_format', message);
}

/** Enough for a token and the cookies of other applications on the same host. */
export const MAX_HEAD_BYTES = 16 * 1024;

/** Their bodies mean nothing (RFC 9110, 9.3): bytes that follow may be a smuggled request. */
const BODILESS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']);

const USED = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const METHOD = /^[A-Z]{1,20}$/;

function isMethod(text: string): boolean {
  return USED.has(text) || METHOD.test(text);
}

/** Visible ASCII but what RFC 3986 requires to be encoded. The parser accepts all of Latin-1. */
const TARGET = /^[\x21\x24-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;
/** Name or address, and port (RFC 9110, 7.2). */
const HOST = /^[\w.~!$&'()*+,;=%-]+(?::\d*)?$|^\[[\da-fA-F:.]+\](?::\d*)?$/;
let lastHost = '';

/** Returns whether a Host is valid. Cached, since nearly every request names the same host. */
function isHost(text: string | undefined): boolean {
  if (text === lastHost && text !== '') return true;
  if (text === undefined || !HOST.test(text)) return false;
  lastHost = text;
  return true;
}

/** Sixteen digits would no longer be exact, and are far above any limit. */
const LENGTH = /^\d{1,15}$/;

/** Reads the headers of one request, with names in lower case. */
class HeaderReader {
  #head = new Head();
  traceparent: string | undefined;
  contentLength: string | undefined;
  /** Includes the four bytes between and after a name and its value. */
  bytes = 0;
  problem: string | undefined;

  /** Returns the head that the headers are read into from now on. */
  begin(): Head {
    this.#head = new Head();
    this.traceparent = undefined;
    this.contentLength = undefined;
    this.bytes = 0;
    this.problem = undefined;
    return this.#head;
  }

  readonly read = (name: string, value: string): void => {
    const head = this.#head;
    this.bytes += name.length + value.length + 4;
    switch (name) {
      case 'host':
        head.host = this.#once(name, head.host, value);
        break;
      case 'authorization':
        head.authorization = this.#once(name, head.authorization, value);
        break;
      case 'service-version':
        head.version = this.#once(name, head.version, value);
        break;
      case 'service-account':
        head.account = this.#once(name, head.account, value);
        break;
      case 'content-length':
        this.contentLength = this.#once(name, this.contentLength, value);
        break;
      case 'idempotency-key':
        head.idempotencyKey = this.#once(name, head.idempotencyKey, value);
        break;
      case 'origin':
        head.origin = this.#once(name, head.origin, value);
        break;
      case 'sec-fetch-site':
        head.site = value;
        break;
      case 'cookie':
        head.cookie = head.cookie === undefined ? value : `${head.cookie}; ${value}`;
        break;
      case 'access-control-request-method':
        head.preflightFor = this.#once(name, head.preflightFor, value);
        break;
      case 'if-none-match':
        head.ifNoneMatch = value;
        break;
      case 'accept':
        head.accept = value;
        break;
      case 'accept-encoding':
        head.acceptEncoding = value;
        break;
      case 'content-type':
        head.contentType = this.#once(name, head.contentType, value);
        break;
      case 'parley-signature':
        head.signature = this.#once(name, head.signature, value);
        break;
      case 'traceparent':
        // With two, none counts.
        this.traceparent = this.traceparent === undefined ? value : '';
        break;
      case 'connection':
        if (CLOSE.test(value)) head.closes = true;
        break;
      case 'transfer-encoding':
        this.problem ??= 'Transfer-Encoding is not accepted: send the body whole, with Content-Length.';
        break;
      default:
        if (name.startsWith('mcp-')) {
          head.mcp = { ...head.mcp, [name]: this.#once(name, head.mcp?.[name], value) };
        }
    }
  };

  /** Parsers may differ in which of two values they use, so even two equal ones are refused. */
  #once(name: string, earlier: string | undefined, value: string): string {
    if (earlier !== undefined) this.problem ??= `The header ${name} was sent more than once.`;
    return value;
  }
}

const CLOSE = /(?:^|[\s,])close(?:$|[\s,])/i;

/** Shared by all requests, because a head is read in one go. */
const headers = new HeaderReader();
