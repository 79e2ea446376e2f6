import { STATUS_CODES } from 'node:http';
import type { ByteSource, Sink } from './byte-source.ts';

/** The one answer of an exchange. */
export interface HttpResponse {
  readonly status: number;
  /** Text or bytes, or a source that is read while it is sent, or null for no content. */
  readonly body: string | Buffer | ByteSource | null;
  /** The default is `application/json`. */
  readonly contentType?: string;
}

/**
 * The part of uWebSockets.js's HttpResponse that is used here. After end or abort each of these
 * throws.
 */
export interface Connection extends Sink {
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  end(body: string | Buffer, closeConnection: boolean): unknown;
  endWithoutBody(reportedLength?: number, closeConnection?: boolean): unknown;
  tryEnd(body: string | Buffer, totalSize: number): [boolean, boolean];
  pause(): unknown;
  resume(): unknown;
  close(): unknown;
  getRemoteAddressAsText(): ArrayBuffer;
}

/** Time limits of the parts of an exchange in milliseconds, and of a body in bytes. */
export interface ExchangeLimits {
  readonly bodyBytes: number;
  readonly bodyMs: number;
  /** For a client that takes nothing of its answer. */
  readonly writeMs: number;
  /** For a connection without a request, before its first one or between two. */
  readonly idleMs: number;
}

/** Returns the text of a status line. */
export function statusLine(status: number): string {
  const reason = REASONS[status] ?? STATUS_CODES[status];
  return reason === undefined ? String(status) : `${status} ${reason}`;
}

/** Where Node has the words of an earlier standard, or none. */
const REASONS: Readonly<Record<number, string>> = {
  413: 'Content Too Large',
  422: 'Unprocessable Content',
  499: 'Client Closed Request',
};
