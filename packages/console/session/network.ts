import type { ConnectOptions } from '@parley/client';
import { texts } from '../texts/texts.ts';

/**
 * The network of the page, which a person may break for a while to see the effects: requests under
 * way fail, the socket is lost, and new requests find nothing.
 */
class Network {
  readonly #listeners = new Set<() => void>();
  #breaking: AbortController = new AbortController();
  #mends: ReturnType<typeof setTimeout> | undefined;
  #brokenUntil: number | null = null;

  /** The latest time of its mending, in milliseconds since 1970; null while it is whole. */
  readonly brokenUntil = (): number | null => this.#brokenUntil;

  /** Returns the function that removes the listener. */
  readonly follow = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Returns the platform's parts that `connect` takes. */
  options(): Pick<ConnectOptions, 'WebSocket' | 'fetch' | 'XMLHttpRequest'> {
    return {
      WebSocket: socketOver(this) as unknown as NonNullable<ConnectOptions['WebSocket']>,
      fetch: (input, init) => this.#fetch(input, init),
      XMLHttpRequest: requestOver(this) as unknown as NonNullable<ConnectOptions['XMLHttpRequest']>,
    };
  }

  break(ms: number): void {
    this.#brokenUntil = Date.now() + ms;
    this.#breaking.abort(new TypeError(texts.session.broken));
    clearTimeout(this.#mends);
    this.#mends = setTimeout(() => this.mend(), ms);
    this.#announce();
  }

  mend(): void {
    if (this.#brokenUntil === null) return;
    clearTimeout(this.#mends);
    this.#brokenUntil = null;
    this.#breaking = new AbortController();
    this.#announce();
    // Dispatched as a browser does it, so that the SDK tries at once.
    dispatchEvent(new Event('online'));
  }

  /** Aborts when the network breaks; it is aborted while it is broken. */
  get breaking(): AbortSignal {
    return this.#breaking.signal;
  }

  #fetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
    const signals = [this.breaking, ...(init.signal ? [init.signal] : [])];
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  }

  #announce(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** The network of this page. */
export const network = new Network();

/** The close code of a connection that ended without a word. */
const LOST = 1006;

/** Returns a WebSocket class whose sockets are lost when the network breaks. */
function socketOver(network: Network) {
  return class extends EventTarget {
    readonly #socket: WebSocket | undefined;
    readonly #breaking = network.breaking;
    #isOver = false;

    constructor(url: string) {
      super();
      if (this.#breaking.aborted) {
        queueMicrotask(() => this.#lose());
        return;
      }
      const socket = new WebSocket(url);
      this.#socket = socket;
      this.#breaking.addEventListener('abort', this.#lose);
      socket.addEventListener('message', ({ data }) => {
        if (!this.#isOver) this.dispatchEvent(new MessageEvent('message', { data }));
      });
      socket.addEventListener('error', () => {
        if (!this.#isOver) this.dispatchEvent(new Event('error'));
      });
      socket.addEventListener('close', ({ code, reason }) => this.#end(code, reason));
    }

    send(text: string): void {
      if (!this.#isOver) this.#socket?.send(text);
    }

    close(code?: number): void {
      this.#socket?.close(code);
    }

    readonly #lose = (): void => {
      this.#end(LOST, texts.session.broken);
      this.#socket?.close();
    };

    #end(code: number, reason: string): void {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#breaking.removeEventListener('abort', this.#lose);
      this.dispatchEvent(new CloseEvent('close', { code, reason }));
    }
  };
}

/** Returns a class of requests with progress that fail when the network breaks. */
function requestOver(network: Network) {
  return class extends XMLHttpRequest {
    override send(body?: Document | XMLHttpRequestBodyInit | null): void {
      const { breaking } = network;
      const fail = () => {
        const failed = this.onerror;
        this.onload = this.onerror = this.onabort = null;
        this.abort();
        failed?.call(this, new ProgressEvent('error'));
      };
      if (breaking.aborted) {
        queueMicrotask(fail);
        return;
      }
      breaking.addEventListener('abort', fail);
      this.addEventListener('loadend', () => breaking.removeEventListener('abort', fail));
      super.send(body);
    }
  };
}
