import { type ByteSource, isSource, type Sink } from './byte-source.ts';
import { isOpenBody, type OpenBody, type OpenSink } from './open-body.ts';

/** The answer of an exchange. */
export interface HttpResponse {
  readonly status: number;
  /** A source is read while it is sent, an open body written; null is no content. */
  readonly body: string | Buffer | ByteSource | OpenBody | null;
  /** Default: `application/json`. */
  readonly contentType?: string;
}

/** Statuses whose answers have neither a body nor a length (RFC 9110, 15.3.5 and 15.4.5). */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Returns the Content-Length of an answer, undefined if it has none. */
export function lengthOf({ status, body }: HttpResponse): number | undefined {
  if (BODILESS.has(status) || isOpenBody(body)) return undefined;
  if (body === null) return 0;
  return isSource(body) ? body.size : Buffer.byteLength(body);
}

/** The used part of uWebSockets.js's HttpResponse. After end or abort each call throws. */
export interface Connection extends Sink, OpenSink {
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  end(body: string | Buffer, closeConnection: boolean): unknown;
  endWithoutBody(): unknown;
  tryEnd(body: string | Buffer, totalSize: number): [boolean, boolean];
  pause(): unknown;
  resume(): unknown;
  close(): unknown;
  getRemoteAddressAsText(): ArrayBuffer;
}

export interface ExchangeLimits {
  readonly bodyBytes: number;
  readonly bodyMs: number;
  /** Milliseconds for a client that takes nothing of its answer. */
  readonly writeMs: number;
  /** Milliseconds of a connection without a request, before its first one or between two. */
  readonly idleMs: number;
}

/** An import of `node:http` would load Node's own `fetch` too, which takes a start 25 ms. */
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** Returns the text of a status line. */
export function statusLine(status: number): string {
  const reason = REASONS[status] ?? STATUS_CODES[status];
  return reason === undefined ? String(status) : `${status} ${reason}`;
}

/** Texts for statuses that Node lacks, or names as an earlier standard did. */
const REASONS: Readonly<Record<number, string>> = {
  413: 'Content Too Large',
  422: 'Unprocessable Content',
  499: 'Client Closed Request',
};
