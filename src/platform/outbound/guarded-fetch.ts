import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { AddressGuard } from './address-guard.ts';
import { OutboundError } from './outbound-error.ts';
import { readOutboundUrl, targetOf } from './outbound-url.ts';

export interface FetchOptions {
  /** Maximum bytes of the unpacked body; the rest is discarded. */
  readonly maxBytes: number;
  /** Returns whether a host, in lower case, may be requested; called again for each redirect. */
  readonly mayAsk: (host: string) => boolean;
  /** Returns whether a body of this type is wanted; otherwise the fetch is refused. */
  readonly wants: (contentType: string) => boolean;
  readonly signal: AbortSignal;
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
 * redirect is checked like the first request. Proxies are not used, and no header identifies the
 * sender.
 */
export class GuardedFetch {
  readonly #guard: AddressGuard;

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  /** Rejects with OutboundError, or with the reason of `signal`. */
  async fetch(url: string, options: FetchOptions): Promise<Fetched> {
    let target = readOutboundUrl(url);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#ask(target, options);
      const next = redirectOf(response, target);
      if (next === undefined) return await read(response, target, options);
      response.destroy();
      if (redirects === MAX_REDIRECTS) {
        throw new OutboundError('external_service_error', `It redirects more than ${MAX_REDIRECTS} times.`);
      }
      target = next;
    }
  }

  async #ask(url: URL, { mayAsk, signal }: FetchOptions): Promise<IncomingMessage> {
    signal.throwIfAborted();
    const target = targetOf(url);
    const { host, port, isSecure } = target;
    if (!mayAsk(host)) throw new OutboundError('insufficient_permissions', 'This host may not be asked.');
    this.#guard.requireLiteral(target);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const asked = (isSecure ? requestHttps : requestHttp)({
      host,
      port,
      path: url.pathname + url.search,
      headers: { Host: url.host, ...HEADERS },
      agent: isSecure ? AGENTS.https : AGENTS.http,
      lookup: this.#guard.lookupFor(target, signal),
      signal,
    });
    asked.once('socket', (socket: Socket) => {
      socket.once('connect', () => {
        try {
          this.#guard.requireConnected(socket, target);
        } catch (error) {
          asked.destroy(error as Error);
        }
      });
    });
    // The listener stays: errors after the response go to the reader, and without a listener they
    // would end the process.
    asked.once('response', resolve).on('error', reject).end();
    try {
      return await promise;
    } catch (error) {
      throw asOutboundError(error, signal);
    }
  }
}

const MAX_REDIRECTS = 5;

/** Agents of our own: the environment may configure the global ones to use a proxy. */
const AGENTS = { http: new HttpAgent({ keepAlive: false }), https: new HttpsAgent({ keepAlive: false }) };

const HEADERS = {
  Accept: 'text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.9, */*;q=0.1',
  'Accept-Encoding': 'gzip, deflate, br',
  'User-Agent': 'Parley (fetch_url)',
};

function redirectOf({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | undefined {
  const isRedirect = [301, 302, 303, 307, 308].includes(statusCode);
  return isRedirect && headers.location !== undefined ? readOutboundUrl(headers.location, from) : undefined;
}

async function read(
  response: IncomingMessage,
  { href: url }: URL,
  { maxBytes, wants, signal }: FetchOptions,
): Promise<Fetched> {
  const { statusCode: status = 0, headers } = response;
  const contentType = headers['content-type'] ?? '';
  const isEmpty = status === 204 || headers['content-length'] === '0';
  if (!isEmpty && !wants(contentType)) {
    response.destroy();
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
    response.destroy();
  }
}

/** Decompresses only as much as is read. */
function unpacked(response: IncomingMessage): Readable {
  const coding = (response.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity') return response;
  const unpack = DECODERS.get(coding);
  if (unpack === undefined) {
    throw new OutboundError('external_service_error', 'It is packed in a way that was not asked for.');
  }
  // Errors of the stream reach the reader.
  return pipeline(response, unpack(), () => {});
}

const DECODERS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

async function readBytes(stream: Readable, most: number): Promise<Pick<Fetched, 'bytes' | 'truncated'>> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    if (size > most) break;
  }
  return { bytes: Buffer.concat(pieces).subarray(0, most), truncated: size > most };
}

function asOutboundError(thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (thrown instanceof OutboundError || !(thrown instanceof Error)) return thrown;
  const code = 'code' in thrown ? String(thrown.code) : thrown.name;
  return new OutboundError('connection_error', `It could not be fetched: ${code}.`, thrown);
}
