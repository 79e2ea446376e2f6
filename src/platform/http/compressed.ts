import { constants, gzip } from 'node:zlib';
import type { HttpResponse } from './connection.ts';
import type { RequestHead } from './request-head.ts';

/** Shorter answers are one or two packets either way. */
const MIN_CHARACTERS = 4_096;

/** An Accept-Encoding that takes gzip, which every browser sends. */
const GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$|\s))/i;

interface Answering {
  readonly head: RequestHead;
  setHeader(name: string, value: string): void;
}

/**
 * Calls back with the answer to send: compressed where a page reads it that takes gzip, which the
 * event loop does not wait for, else as it is, at once.
 */
export function compressForPage(
  exchange: Answering,
  outgoing: HttpResponse,
  done: (sent: HttpResponse) => void,
): void {
  const { body } = outgoing;
  if (typeof body !== 'string' || body.length < MIN_CHARACTERS || !isForPage(exchange, outgoing)) {
    done(outgoing);
    return;
  }
  exchange.setHeader('Vary', 'Accept-Encoding');
  if (!GZIP.test(exchange.head.acceptEncoding ?? '')) {
    done(outgoing);
    return;
  }
  gzip(body, { level: constants.Z_BEST_SPEED }, (error, bytes) => {
    if (error === null) exchange.setHeader('Content-Encoding', 'gzip');
    // Without memory for it the answer is sent as it is.
    done(error === null ? { ...outgoing, body: bytes } : outgoing);
  });
}

/**
 * Returns whether an answer is JSON that a page reads and whose length a person waits for
 * (DECISIONS.md#json-is-compressed-for-pages-alone). `Sec-Fetch-Site` marks a browser.
 */
function isForPage({ head }: Answering, { status, contentType }: HttpResponse): boolean {
  return status === 200 && contentType === undefined && head.method === 'GET' && head.site !== undefined;
}
