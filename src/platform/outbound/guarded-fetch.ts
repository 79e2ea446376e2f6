import { pipeline, type Readable } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { AddressGuard } from './address-guard.ts';
import { guardedConnector, loadUndici } from './address-guard.ts';
import { OutboundError, readOutboundUrl, targetOf } from './outbound-url.ts';

export interface FetchOptions {
  /** Maximum bytes of the unpacked body; the rest is discarded. */
  readonly maxBytes: number;
  /** Returns whether a host, in lower case, may be requested; called again for each redirect. */
  readonly mayAsk: (host: string) => boolean;
  /** Returns whether a body of this type is wanted; if not, the fetch is refused. */
  readonly wants: (contentType: string) => boolean;
  /** Most redirects that are followed. Default: 5. */
  readonly redirects?: number;
  readonly signal: AbortSignal;
  /** Returns further headers for a host, in lower case; called again for each redirect. */
  readonly headersFor?: (host: string) => Readonly<Record<string, string>>;
}

export interface Fetched {
  /** The URL after all redirects. */
  readonly url: string;
  readonly status: number;
  /** '' if the response has no type. */
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Whether the body is longer than `maxBytes`. */
  readonly truncated: boolean;
}

/**
 * GET of URLs that users and models name, limited to the addresses that the guard permits. Each
 * redirect is checked like the first request. No proxy is used; no header identifies the sender.
 */
export class GuardedFetch {
  readonly #guard: AddressGuard;

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  /** Rejects with OutboundError, or with the reason of `signal`. */
  async fetch(url: string, options: FetchOptions): Promise<Fetched> {
    let target = readOutboundUrl(url);
    const { redirects: most = MAX_REDIRECTS } = options;
    for (let redirects = 0; ; redirects++) {
      const response = await this.#ask(target, options);
      const next = redirectOf(response, target);
      if (next === undefined) return await read(response, target, options);
      discard(response);
      if (redirects === most) {
        const message = most === 0 ? 'It redirects.' : `It redirects more than ${most} times.`;
        throw new OutboundError('external_service_error', message);
      }
      target = next;
    }
  }

  async #ask(url: URL, { mayAsk, signal, headersFor }: FetchOptions): Promise<Dispatcher.ResponseData> {
    signal.throwIfAborted();
    const target = targetOf(url);
    if (!mayAsk(target.host)) {
      throw new OutboundError('insufficient_permissions', 'This host may not be asked.');
    }
    this.#guard.requireLiteral(target);
    const undici = await loadUndici();
    const connect = guardedConnector(undici, this.#guard, target, {
      ...(signal !== undefined && { signal }),
    });
    // Without pipelining, the connection ends with its one response.
    const client = new undici.Client(url.origin, { connect, allowH2: false, pipelining: 0 });
    const path = url.pathname + url.search;
    const headers = { ...HEADERS, ...headersFor?.(target.host) };
    try {
      return await client.request({ method: 'GET', path, headers, signal });
    } catch (error) {
      throw asOutboundError(error, signal);
    } finally {
      void client.close();
    }
  }
}

const MAX_REDIRECTS = 5;

const HEADERS = {
  Accept: 'text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.9, */*;q=0.1',
  'Accept-Encoding': 'gzip, deflate',
  'User-Agent': 'Parley (fetch_url)',
};

function redirectOf({ statusCode, headers }: Dispatcher.ResponseData, from: URL): URL | undefined {
  const isRedirect = [301, 302, 303, 307, 308].includes(statusCode);
  const location = headerOf(headers.location);
  return isRedirect && location !== undefined ? readOutboundUrl(location, from) : undefined;
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}

/** Ends the connection of a response that is not read. */
function discard({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => {}).destroy();
}

async function read(
  response: Dispatcher.ResponseData,
  { href: url }: URL,
  { maxBytes, wants, signal }: FetchOptions,
): Promise<Fetched> {
  const { statusCode: status, headers } = response;
  const contentType = headerOf(headers['content-type']) ?? '';
  const isEmpty = status === 204 || headers['content-length'] === '0';
  if (!isEmpty && !wants(contentType)) {
    discard(response);
    const what = /^[\w!#$&^.+/-]{1,100}/.exec(contentType)?.[0] ?? 'something without a type';
    throw new OutboundError(
      'external_service_error',
      `What is there is ${what}, which cannot be read as text.`,
    );
  }
  try {
    return { url, status, contentType, ...(await readBytes(unpacked(response), maxBytes)) };
  } catch (error) {
    throw asOutboundError(error, signal);
  } finally {
    discard(response);
  }
}

/** Decompresses only as much as is read. */
function unpacked({ headers, body }: Dispatcher.ResponseData): Readable {
  const coding = (headerOf(headers['content-encoding']) ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity') return body;
  const unpack = DECODERS.get(coding);
  if (unpack === undefined) {
    throw new OutboundError('external_service_error', 'It is packed in a way that was not asked for.');
  }
  // Errors of the stream reach the reader.
  return pipeline(body, unpack(), () => {});
}

const DECODERS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
]);

export async function readBytes(
  stream: Readable,
  most: number,
): Promise<Pick<Fetched, 'bytes' | 'truncated'>> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    if (size > most) break;
  }
  return { bytes: Buffer.concat(pieces).subarray(0, most), truncated: size > most };
}

export function asOutboundError(thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (thrown instanceof OutboundError || !(thrown instanceof Error)) return thrown;
  const code = 'code' in thrown ? String(thrown.code ?? thrown.name) : thrown.name;
  const reason = ENDED_EARLY.has(code) ? 'ECONNRESET' : code;
  return new OutboundError('connection_error', `It could not be fetched: ${reason}.`, thrown);
}

/** undici's codes for a connection that ended before or within a response. */
const ENDED_EARLY = new Set(['UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']);
