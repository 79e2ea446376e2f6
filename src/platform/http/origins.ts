import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Logger } from '../log.ts';
import type { Exchange } from './exchange.ts';
import type { RequestHead } from './request-head.ts';

export interface OriginsOptions {
  /** Also allows this machine's ports, for development beside the demo account. */
  readonly loopback?: boolean;
  readonly log?: Pick<Logger, 'warn'>;
}

/** Origins whose pages may call this server (`PARLEY_ALLOWED_ORIGINS`; Fetch standard, CORS). */
export class AllowedOrigins {
  readonly #origins: ReadonlySet<string>;
  readonly #loopback: boolean;
  readonly #log: OriginsOptions['log'];
  /** Origins whose refusal was logged in this hour. */
  readonly #logged = new Set<string>();
  #loggedSinceMs = 0;

  constructor(origins: readonly string[], { loopback = false, log }: OriginsOptions = {}) {
    this.#origins = new Set(origins);
    this.#loopback = loopback;
    this.#log = log;
  }

  allows(origin: string): boolean {
    return this.#origins.has(origin) || (this.#loopback && isLoopbackOrigin(origin));
  }

  /**
   * Throws ApiError `insufficient_permissions` for a page of another origin. Allows the host's
   * origin with either scheme: behind a TLS proxy a node does not know its own.
   */
  require({ origin, host }: Pick<RequestHead, 'origin' | 'host'>): void {
    if (origin === undefined || this.allows(origin)) return;
    if (['https', 'http'].some((scheme) => origin === URL.parse(`${scheme}://${host}`)?.origin)) return;
    this.#logRefusal(origin);
    const message = `Pages of ${shortened(origin)} may not call this server: PARLEY_ALLOWED_ORIGINS does not have this origin.`;
    throw new ApiError('insufficient_permissions', message, { param: 'Origin' });
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
    if (preflightFor !== undefined && origin !== undefined) {
      if (this.allows(origin)) {
        exchange.setHeader('Access-Control-Allow-Methods', methods);
        exchange.setHeader('Access-Control-Allow-Headers', ACCEPTED);
        exchange.setHeader('Access-Control-Max-Age', '600');
      } else this.#logRefusal(origin);
    }
    exchange.send({ status: 204, body: null });
  }

  /** Logs each origin once an hour, and no more than a hundred: callers may send any. */
  #logRefusal(origin: string): void {
    const nowMs = Date.now();
    if (nowMs - this.#loggedSinceMs > HOUR_MS) {
      this.#logged.clear();
      this.#loggedSinceMs = nowMs;
    }
    const shown = shortened(origin);
    if (this.#logged.has(shown) || this.#logged.size === MAX_LOGGED) return;
    this.#logged.add(shown);
    this.#log?.warn({ origin: shown }, 'a page was refused: PARLEY_ALLOWED_ORIGINS does not have its origin');
  }
}

const HOUR_MS = 3_600_000;
const MAX_LOGGED = 100;

function shortened(origin: string): string {
  return origin.slice(0, 200);
}

const ACCEPTED =
  'Authorization, Content-Type, Idempotency-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Service-Account, Service-Version, Traceparent, Tracestate';
const EXPOSED =
  'Deprecation, Idempotent-Replayed, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Request-Id, Retry-After, Sunset, WWW-Authenticate';

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
