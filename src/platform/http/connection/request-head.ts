import { ApiError } from '../../../contract/protocol/errors.ts';
import { parseTraceparent, type TraceContext } from '../../../contract/protocol/traceparent.ts';

/** A request's head, copied while uWebSockets.js still has it. Headers not sent are undefined. */
export interface RequestHead {
  /** As sent, because methods are case-sensitive. */
  readonly method: string;
  /** Without the query; not decoded. */
  readonly path: string;
  /** Without `?`; '' if there is none. */
  readonly query: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  /** Service-Version. */
  readonly version: string | undefined;
  /** Service-Account. */
  readonly account: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly origin: string | undefined;
  /** Access-Control-Request-Method, which marks an OPTIONS request as a browser's preflight. */
  readonly preflightFor: string | undefined;
  /** If-None-Match: the entity tags that the caller already has. */
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly contentType: string | undefined;
  /** Parley-Signature, as sent. */
  readonly signature: string | undefined;
  /** From a valid `traceparent`. */
  readonly trace: TraceContext | undefined;
  /** Announced bytes of the body; 0 if there is none. */
  readonly contentLength: number;
  /** The answer ends the connection, by the client's wish or as the request's end is in doubt. */
  readonly closes: boolean;
}

/** The used part of uWebSockets.js's HttpRequest. It is dead when the handler returns. */
export interface IncomingRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(visit: (name: string, value: string) => void): void;
}

/**
 * Returns a copy of the head, or the reason not to process the request at all: its connection is
 * then cut before one more byte is parsed, so a request hidden behind it never runs (RFC 9112, 3.2
 * and 6.3). The library's parser accepts requests that proxies read differently: two lengths, two
 * hosts, any Transfer-Encoding.
 */
export function readHead(request: IncomingRequest): RequestHead | ApiError {
  headers.reset();
  request.forEach(headers.read);
  if (headers.problem !== undefined) return unreadable(headers.problem);

  const method = request.getCaseSensitiveMethod();
  const path = request.getUrl();
  const query = request.getQuery() ?? '';
  if (method.length + path.length + query.length + headers.bytes > MAX_HEAD_BYTES) return headTooLarge();
  if (!isMethod(method)) return unreadable('The method is not a valid HTTP method.');
  if (!TARGET.test(path) || (query !== '' && !TARGET.test(query))) {
    return unreadable('The request target has characters that must be percent-encoded.');
  }
  if (!isHost(headers.host)) return unreadable('The Host header is not valid.');

  const { contentLength: announced } = headers;
  if (announced !== undefined && !LENGTH.test(announced)) {
    return unreadable('The Content-Length header is not a number.');
  }
  const contentLength = announced === undefined ? 0 : Number(announced);
  const mayHaveBody = !BODILESS.has(method);
  if (contentLength > 0 && !mayHaveBody) return unreadable(`A ${method} request must not have a body.`);

  return {
    method,
    path,
    query,
    host: headers.host,
    authorization: headers.authorization,
    version: headers.version,
    account: headers.account,
    idempotencyKey: headers.idempotencyKey,
    origin: headers.origin,
    preflightFor: headers.preflightFor,
    ifNoneMatch: headers.ifNoneMatch,
    acceptEncoding: headers.acceptEncoding,
    contentType: headers.contentType,
    signature: headers.signature,
    trace: headers.traceparent === undefined ? undefined : parseTraceparent(headers.traceparent),
    contentLength,
    // The parser stops at a header without a name, so there may be a length that it did not report.
    closes: headers.closes || (mayHaveBody && announced === undefined),
  };
}

function unreadable(message: string): ApiError {
  return new ApiError('invalid_format', message);
}

function headTooLarge(): ApiError {
  return new ApiError('head_too_large', `Request line and headers are larger than ${MAX_HEAD_BYTES} bytes.`);
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

/** Cached, because nearly every request names the same host. */
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
  host: string | undefined;
  authorization: string | undefined;
  version: string | undefined;
  account: string | undefined;
  idempotencyKey: string | undefined;
  origin: string | undefined;
  preflightFor: string | undefined;
  ifNoneMatch: string | undefined;
  acceptEncoding: string | undefined;
  contentType: string | undefined;
  signature: string | undefined;
  traceparent: string | undefined;
  contentLength: string | undefined;
  closes = false;
  /** Includes the four bytes between and after a name and its value. */
  bytes = 0;
  problem: string | undefined;

  reset(): void {
    this.host = undefined;
    this.authorization = undefined;
    this.version = undefined;
    this.account = undefined;
    this.idempotencyKey = undefined;
    this.origin = undefined;
    this.preflightFor = undefined;
    this.ifNoneMatch = undefined;
    this.acceptEncoding = undefined;
    this.contentType = undefined;
    this.signature = undefined;
    this.traceparent = undefined;
    this.contentLength = undefined;
    this.closes = false;
    this.bytes = 0;
    this.problem = undefined;
  }

  readonly read = (name: string, value: string): void => {
    this.bytes += name.length + value.length + 4;
    switch (name) {
      case 'host':
        this.host = this.#once(name, this.host, value);
        break;
      case 'authorization':
        this.authorization = this.#once(name, this.authorization, value);
        break;
      case 'service-version':
        this.version = this.#once(name, this.version, value);
        break;
      case 'service-account':
        this.account = this.#once(name, this.account, value);
        break;
      case 'content-length':
        this.contentLength = this.#once(name, this.contentLength, value);
        break;
      case 'idempotency-key':
        this.idempotencyKey = this.#once(name, this.idempotencyKey, value);
        break;
      case 'origin':
        this.origin = this.#once(name, this.origin, value);
        break;
      case 'access-control-request-method':
        this.preflightFor = this.#once(name, this.preflightFor, value);
        break;
      case 'if-none-match':
        this.ifNoneMatch = value;
        break;
      case 'accept-encoding':
        this.acceptEncoding = value;
        break;
      case 'content-type':
        this.contentType = this.#once(name, this.contentType, value);
        break;
      case 'parley-signature':
        this.signature = this.#once(name, this.signature, value);
        break;
      case 'traceparent':
        // With two, none counts.
        this.traceparent = this.traceparent === undefined ? value : '';
        break;
      case 'connection':
        if (CLOSE.test(value)) this.closes = true;
        break;
      case 'transfer-encoding':
        this.problem ??= 'Transfer-Encoding is not accepted: send the body whole, with Content-Length.';
        break;
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
