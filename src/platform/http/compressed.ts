import { constants, gzip } from 'node:zlib';
import type { HttpResponse } from './connection.ts';
import type { RequestHead } from './request-head.ts';

/** Shorter answers are one or two packets either way. */
const MIN_CHARACTERS = 4_096;

/** An Accept-Encoding that takes gzip, which every browser sends. */
export const GZIP: RegExp = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$|\s))/i;

interface ForPage extends HttpResponse {
  readonly body: string;
}

/**
 * Returns whether an answer is JSON that a page reads and whose length a person waits for
 * (DECISIONS.md#json-is-compressed-for-pages-alone). `Sec-Fetch-Site` marks a browser.
 */
export function isForPage(head: RequestHead, outgoing: HttpResponse): outgoing is ForPage {
  const { status, body, contentType } = outgoing;
  const isJson = typeof body === 'string' && body.length >= MIN_CHARACTERS && contentType === undefined;
  return isJson && status === 200 && head.method === 'GET' && head.site !== undefined;
}

/** Calls back with the bytes, undefined if there is no memory; the event loop goes on meanwhile. */
export function compressed(text: string, done: (bytes: Buffer | undefined) => void): void {
  gzip(text, { level: constants.Z_BEST_SPEED }, (error, bytes) => done(error === null ? bytes : undefined));
}
