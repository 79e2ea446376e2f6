import type { AddressGuard } from './address-guard.ts';
import { KeptConnection } from './kept-connection.ts';
import { OutboundError } from './outbound-error.ts';
import { targetOf } from './outbound-url.ts';
import type { ResponseHead } from './response-reader.ts';

export interface PostRequest {
  /** From `readOutboundUrl`. */
  readonly url: URL;
  /**
   * Which requests may share connections: those of one scope to one origin. What one receiver
   * answers can then never be taken for the answer of another that is served by the same host.
   */
  readonly scope: string;
  /** Besides Host, Content-Length and User-Agent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** Milliseconds for the look-up, the connection and the head of the response together. */
  readonly timeoutMs: number;
}

export interface Posted {
  readonly status: number;
  /** What the header Retry-After asks for; undefined: nothing that can be understood. */
  readonly retryAfterMs: number | undefined;
}

/**
 * POST to hosts that accounts name, limited to the addresses that the guard permits. Redirects are
 * not followed, and nothing of a response is kept but its status. Connections are kept for further
 * requests.
 */
export class GuardedPost {
  readonly #guard: AddressGuard;
  readonly #idle = new Map<string, KeptConnection[]>();
  readonly #open = new Set<KeptConnection>();
  readonly #sweep: NodeJS.Timeout;

  constructor(guard: AddressGuard) {
    this.#guard = guard;
    this.#sweep = setInterval(() => this.#closeOld(), SWEEP_EVERY_MS).unref();
  }

  /**
   * Rejects with OutboundError: `insufficient_permissions`, `timeout`, `connection_error` or
   * `external_service_error`.
   */
  async post(request: PostRequest): Promise<Posted> {
    const { url, scope, body, timeoutMs } = request;
    const place = `${scope} ${url.origin}`;
    const head = headOf(request);
    const deadlineMs = performance.now() + timeoutMs;
    const kept = this.#take(place);
    if (kept !== undefined) {
      try {
        return posted(await this.#send(kept, place, head, body, timeoutMs));
      } catch (error) {
        // Its peer closed it while it was idle. The request has not been answered, and is sent once
        // more.
        const isLost = error instanceof OutboundError && error.condition === 'connection_error';
        if (!isLost || kept.hasBegun) throw error;
      }
    }
    const leftMs = Math.max(1, deadlineMs - performance.now());
    return posted(await this.#send(this.#connect(url), place, head, body, leftMs));
  }

  /** Number of connections that are kept and serve no request at the moment. */
  get idleConnections(): number {
    let count = 0;
    for (const connections of this.#idle.values()) count += connections.length;
    return count;
  }

  /** Closes every connection; requests under way are rejected. */
  close(): void {
    clearInterval(this.#sweep);
    for (const connection of this.#open) connection.destroy();
    this.#idle.clear();
  }

  async #send(
    connection: KeptConnection,
    place: string,
    head: string,
    body: string | Buffer,
    timeoutMs: number,
  ): Promise<ResponseHead> {
    const timer = setTimeout(() => connection.destroy(new OutboundError('timeout', TOO_LATE)), timeoutMs);
    try {
      return await connection.request(head, body, () => this.#keep(connection, place));
    } finally {
      clearTimeout(timer);
    }
  }

  #connect(url: URL): KeptConnection {
    const target = targetOf(url);
    this.#guard.requireLiteral(target);
    const connection = new KeptConnection(target, this.#guard, () => this.#open.delete(connection));
    this.#open.add(connection);
    return connection;
  }

  #take(place: string): KeptConnection | undefined {
    const idle = this.#idle.get(place);
    if (idle === undefined) return undefined;
    let connection = idle.pop();
    while (connection !== undefined && !connection.isOpen) connection = idle.pop();
    if (idle.length === 0) this.#idle.delete(place);
    return connection;
  }

  #keep(connection: KeptConnection, place: string): void {
    if (this.#open.size > MAX_CONNECTIONS || performance.now() - connection.openedAtMs > MAX_AGE_MS) {
      connection.destroy();
      return;
    }
    const idle = this.#idle.get(place);
    if (idle === undefined) this.#idle.set(place, [connection]);
    else idle.push(connection);
  }

  #closeOld(): void {
    const before = performance.now() - MAX_IDLE_MS;
    for (const connection of this.#open) if (connection.quietSinceMs < before) connection.destroy();
    for (const [place, connections] of this.#idle) {
      const open = connections.filter(({ isOpen }) => isOpen);
      if (open.length === 0) this.#idle.delete(place);
      else this.#idle.set(place, open);
    }
  }
}

/** Milliseconds that a connection is kept without a request, or without the rest of a response. */
const MAX_IDLE_MS = 20_000;
const SWEEP_EVERY_MS = 5_000;
/** Milliseconds after which a connection ends, so that a name that has moved is looked up again. */
const MAX_AGE_MS = 5 * 60_000;
/** With more open connections on this node none is kept. */
const MAX_CONNECTIONS = 2_000;

const TOO_LATE = 'There was no response in time.';

function headOf({ url, headers, body }: PostRequest): string {
  let head = `POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nUser-Agent: Parley\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (LINE_END.test(value)) throw new RangeError(`The header ${name} has more than one line.`);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
}

const LINE_END = /[\r\n]/;

function posted({ status, retryAfter }: ResponseHead): Posted {
  return { status, retryAfterMs: retryAfter === undefined ? undefined : readRetryAfter(retryAfter) };
}

/** Seconds, or a date of HTTP. */
function readRetryAfter(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
