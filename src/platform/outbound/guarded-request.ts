import type { Dispatcher } from 'undici';
import { type AddressGuard, guardedConnector, loadUndici } from './address-guard.ts';
import { asOutboundError, readBytes } from './guarded-fetch.ts';
import { OutboundError, readOutboundUrl, targetOf } from './outbound-url.ts';

/** The options that libraries pass to a `fetch`. */
export interface GuardedInit {
  readonly method?: string;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
  readonly signal?: AbortSignal | null;
}

/**
 * GET and POST for libraries that take a `fetch`: limited to the addresses that the guard permits.
 * It follows no redirects (the library gets the 3xx), reads at most MAX_BYTES of a body that is not
 * packed, and ends after TIMEOUT_MS. A connection ends with its one response.
 */
export class GuardedRequest {
  readonly #guard: AddressGuard;

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  /** Rejects with OutboundError, or with the reason of `signal`. */
  readonly fetch = async (text: string | URL, init: GuardedInit = {}): Promise<Response> => {
    const url = readOutboundUrl(String(text));
    const target = targetOf(url);
    this.#guard.requireLiteral(target);
    const undici = await loadUndici();
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const client = new undici.Client(url.origin, {
      connect: guardedConnector(undici, this.#guard, target, { ...(signal !== undefined && { signal }) }),
      allowH2: false,
      pipelining: 0,
      maxHeaderSize: 16 * 1024,
    });
    const headers = {
      ...Object.fromEntries(new Headers(init.headers)),
      'accept-encoding': 'identity',
      'user-agent': 'Parley',
    };
    try {
      const response = await client.request({
        method: (init.method ?? 'GET') as Dispatcher.HttpMethod,
        path: url.pathname + url.search,
        headers,
        body: bodyOf(init.body),
        signal,
      });
      return await whole(response);
    } catch (error) {
      if (limit.aborted) throw new OutboundError('timeout', 'There was no response in time.', error);
      throw asOutboundError(error, signal);
    } finally {
      void client.destroy();
    }
  };
}

/** Milliseconds for the look-up, the connection and the whole response. */
const TIMEOUT_MS = 5_000;
/** The documents of a provider: its configuration, its keys, its tokens. */
const MAX_BYTES = 64 * 1024;

function bodyOf(body: unknown): string | null {
  return body === undefined || body === null ? null : String(body);
}

async function whole({ statusCode: status, headers, body }: Dispatcher.ResponseData): Promise<Response> {
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    throw new OutboundError('external_service_error', 'It is packed in a way that was not asked for.');
  }
  const { bytes, truncated } = await readBytes(body, MAX_BYTES);
  if (truncated) throw new OutboundError('external_service_error', `It is larger than ${MAX_BYTES} bytes.`);
  const shown = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) shown.append(name, one);
  }
  return new Response(BODILESS.has(status) ? null : new Uint8Array(bytes), { status, headers: shown });
}

const BODILESS = new Set([204, 205, 304]);
