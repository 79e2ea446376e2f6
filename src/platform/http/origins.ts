import type { Exchange } from './exchange.ts';

/** Origins whose pages may call this server (`PARLEY_ALLOWED_ORIGINS`; Fetch standard, CORS). */
export class AllowedOrigins {
  readonly #origins: ReadonlySet<string>;
  readonly #loopback: boolean;

  /** `loopback` also allows this machine's ports, for development beside the demo account. */
  constructor(origins: readonly string[], { loopback = false }: { readonly loopback?: boolean } = {}) {
    this.#origins = new Set(origins);
    this.#loopback = loopback;
  }

  allows(origin: string): boolean {
    return this.#origins.has(origin) || (this.#loopback && isLoopbackOrigin(origin));
  }

  /** Permits an allowed page to read the answer. */
  mark(exchange: Exchange): void {
    const { origin } = exchange.head;
    if (origin === undefined || !this.allows(origin)) return;
    // A configured origin, or a match of a whole pattern, is safe in a header.
    exchange.setHeader('Access-Control-Allow-Origin', origin);
    exchange.setHeader('Access-Control-Expose-Headers', EXPOSED);
    exchange.setHeader('Vary', 'Origin');
  }

  /** Answers OPTIONS: the preflight of a browser, and any other request for the methods. */
  answerOptions(exchange: Exchange, methods: string): void {
    exchange.setHeader('Allow', methods);
    const { origin, preflightFor } = exchange.head;
    if (preflightFor !== undefined && origin !== undefined && this.allows(origin)) {
      exchange.setHeader('Access-Control-Allow-Methods', methods);
      exchange.setHeader('Access-Control-Allow-Headers', ACCEPTED);
      exchange.setHeader('Access-Control-Max-Age', '600');
    }
    exchange.send({ status: 204, body: null });
  }
}

const ACCEPTED =
  'Authorization, Content-Type, Idempotency-Key, Service-Account, Service-Version, Traceparent, Tracestate';
const EXPOSED =
  'Deprecation, Idempotent-Replayed, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Request-Id, Retry-After, Sunset';

/** Returns whether a server on this address can be reached from its own machine only. */
export function isLoopbackAddress(host: string): boolean {
  return LOOPBACK.test(host) || host === '::1';
}

/** Returns whether a Host header names this machine. After DNS rebinding it has another name. */
export function isLoopbackHost(header: string | undefined): boolean {
  return header !== undefined && LOOPBACK_HOST.test(header);
}

export function isLoopbackOrigin(origin: string): boolean {
  return isLoopbackHost(/^https?:\/\/(.*)$/.exec(origin)?.[1]);
}

const NAMES = String.raw`(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3})`;
const LOOPBACK = new RegExp(`^${NAMES}$`, 'i');
const LOOPBACK_HOST = new RegExp(String.raw`^(?:${NAMES}|\[::1\])(?::\d{1,5})?$`, 'i');
