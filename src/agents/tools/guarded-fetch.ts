import { lookup } from 'node:dns/promises';
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { KeyedLimiter } from '../../lifecycle.ts';
import { AllowedPlaces, isPublicAddress } from './addresses.ts';
import { ToolRefusal } from './tool.ts';

export interface GuardedFetchOptions {
  /** `PARLEY_FETCH_ALLOW`. */
  readonly allow: readonly string[];
  /** Returns all addresses of a name. Default: the resolver of this machine. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

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
 * GET of URLs that users and models name, limited to public addresses. The address that is connected to counts: each
 * result of a look-up is checked where the socket takes it, so that a name cannot gain anything by changing its
 * address, and a literal address is checked before. Each redirect is checked like the first request. Proxies are not
 * used, and no header identifies the sender.
 */
export class GuardedFetch {
  readonly #allowed: AllowedPlaces;
  readonly #resolve: (name: string) => Promise<readonly string[]>;

  constructor({ allow, resolve = resolveName }: GuardedFetchOptions) {
    this.#allowed = new AllowedPlaces(allow);
    this.#resolve = resolve;
  }

  /**
   * Rejects with ToolRefusal: `invalid_format` or `validation_failed` (not a URL that may be requested),
   * `insufficient_permissions` (a forbidden address or host), `connection_error`, `external_service_error` (a response
   * that cannot be read), or with the reason of `signal`.
   */
  async fetch(url: string, options: FetchOptions): Promise<Fetched> {
    let target = readUrl(url);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#ask(target, options);
      const next = redirectOf(response, target);
      if (next === undefined) return await read(response, target, options);
      response.destroy();
      if (redirects === MAX_REDIRECTS) {
        throw new ToolRefusal('external_service_error', `It redirects more than ${MAX_REDIRECTS} times.`);
      }
      target = next;
    }
  }

  async #ask(url: URL, { mayAsk, signal }: FetchOptions): Promise<IncomingMessage> {
    signal.throwIfAborted();
    const host = hostOf(url);
    const isSecure = url.protocol === 'https:';
    const port = Number(url.port || (isSecure ? 443 : 80));
    if (!mayAsk(host)) throw new ToolRefusal('insufficient_permissions', 'This host may not be asked.');
    // A literal address needs no look-up: it is connected to as it stands.
    if (isIP(host) !== 0 && !this.#permits(host, port)) throw notPublic();
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const asked = (isSecure ? requestHttps : requestHttp)({
      host,
      port,
      path: url.pathname + url.search,
      headers: { Host: url.host, ...HEADERS },
      agent: isSecure ? AGENTS.https : AGENTS.http,
      lookup: this.#lookupFor(port, signal),
      signal,
    });
    asked.once('socket', (socket: Socket) => {
      socket.once('connect', () => {
        if (!this.#mayTalk(socket, host, port)) asked.destroy(notPublic());
      });
    });
    // The listener stays: errors after the response go to the reader, and without a listener they would end the
    // process.
    asked.once('response', resolve).on('error', reject).end();
    try {
      return await promise;
    } catch (error) {
      throw asRefusal(error, signal);
    }
  }

  /** Returns only those addresses of the name that may be reached. */
  #lookupFor(port: number, signal: AbortSignal): LookupFunction {
    return (name, { all }, callback) => {
      this.#addressesOf(name, port, signal).then(
        (addresses) => {
          const found = addresses.map((address) => ({ address, family: isIP(address) }));
          if (all === true) callback(null, found);
          else callback(null, found[0]!.address, found[0]!.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, []),
      );
    };
  }

  async #addressesOf(name: string, port: number, signal: AbortSignal): Promise<readonly string[]> {
    const all = await lookups.run({}, async () => {
      // The caller has given up.
      signal.throwIfAborted();
      return this.#resolve(name);
    });
    if (all.length === 0) throw new ToolRefusal('connection_error', 'This name has no address.');
    const open = this.#allowed.hasName(name, port) ? all : all.filter((found) => this.#permits(found, port));
    if (open.length === 0) throw notPublic();
    return open;
  }

  /** Checks the connected address, however the connection came about. */
  #mayTalk({ remoteAddress = '' }: Socket, host: string, port: number): boolean {
    return this.#allowed.hasName(host, port) || this.#permits(remoteAddress, port);
  }

  #permits(address: string, port: number): boolean {
    return isPublicAddress(address) || this.#allowed.hasAddress(address, port);
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

async function resolveName(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/**
 * Each look-up occupies one of the process's four threads until the name's server answers: files and compression need
 * the others.
 */
const lookups = new KeyedLimiter(2);

function readUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new ToolRefusal('invalid_format', 'This is not an absolute URL.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new ToolRefusal('validation_failed', 'Only http and https can be fetched.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new ToolRefusal('validation_failed', 'The URL must not hold a user name or password.');
  }
  return url;
}

/**
 * Returns the host in the form of the URL standard, in which every spelling of an IPv4 address has become four decimal
 * numbers.
 */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | undefined {
  const isRedirect = [301, 302, 303, 307, 308].includes(statusCode);
  return isRedirect && headers.location !== undefined ? readUrl(headers.location, from) : undefined;
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
    throw new ToolRefusal(
      'external_service_error',
      `What is there is ${what}, which cannot be read as text.`,
    );
  }
  try {
    return { url, status, contentType, ...(await readBytes(unpacked(response), maxBytes)) };
  } catch (error) {
    throw asRefusal(error, signal);
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
    throw new ToolRefusal('external_service_error', 'It is packed in a way that was not asked for.');
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

function notPublic(): ToolRefusal {
  return new ToolRefusal('insufficient_permissions', 'This address is not public.');
}

function asRefusal(thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (thrown instanceof ToolRefusal || !(thrown instanceof Error)) return thrown;
  const code = 'code' in thrown ? String(thrown.code) : thrown.name;
  return new ToolRefusal('connection_error', `It could not be fetched: ${code}.`, thrown);
}
