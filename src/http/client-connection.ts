/**
 * The object that the library's filter hands out when a connection is accepted. Unlike the one of a request it stays
 * good until the connection closes or becomes a WebSocket; used after that, it ends the process.
 */
export interface ConnectionHandle {
  onAborted(closed: () => void): unknown;
  onData(receive: (chunk: ArrayBuffer, last: boolean) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  close(): unknown;
}

/** A request and its answer (exchange.ts), as far as its connection goes. */
export interface ConnectionUser {
  bind(connection: ClientConnection): void;
  receive(chunk: ArrayBuffer, last: boolean): void;
  clientGone(): void;
}

/** What a connection needs of its server. */
export interface ConnectionHost {
  /** Returns the request whose head the library has just shown, once. */
  takeArriving(): ConnectionUser | undefined;
  /** The connection closed, or is not ours any more. */
  forget(connection: ClientConnection): void;
}

/**
 * One TCP connection. The library closes a connection that brings no request for 8 to 12 s, counted from its
 * acceptance by the kernel: a client that is too busy to write at once finds the connection closed under the request
 * it has just sent. So this object keeps the connection open, for as long as the server allows.
 *
 * The library does not say which connection a request came on. But it calls the data handler of the connection right
 * behind the request's own handler, also for a request without a body: that is how the two are brought together.
 */
export class ClientConnection {
  readonly #handle: ConnectionHandle;
  readonly #host: ConnectionHost;
  #exchange: ConnectionUser | undefined;
  #idleSinceMs = performance.now();
  /** When the library's clock was last set back. */
  #keptMs = this.#idleSinceMs;

  constructor(handle: ConnectionHandle, host: ConnectionHost) {
    this.#handle = handle;
    this.#host = host;
    this.#listen();
  }

  /** Its answer is out, and the connection still there. Never within the library's call of the data handler, which this replaces. */
  awaitRequest(): void {
    this.#exchange = undefined;
    this.#idleSinceMs = performance.now();
    this.#keptMs = this.#idleSinceMs;
    this.#listen();
  }

  /** It closed without a word, or has become a WebSocket. */
  drop(): void {
    this.#exchange = undefined;
    this.#host.forget(this);
  }

  /** Called every KEEP_OPEN_TICK_MS with `performance.now()`: closes what has been idle for `idleMs`, and keeps the rest open. */
  keepOpen(nowMs: number, idleMs: number): void {
    if (this.#exchange !== undefined) return;
    if (nowMs - this.#idleSinceMs >= idleMs) this.#handle.close();
    else if (nowMs - this.#keptMs >= KEEP_OPEN_MS) {
      this.#keptMs = nowMs;
      // Sets the library's clock back to its 10 s.
      this.#handle.pause();
      this.#handle.resume();
    }
  }

  #listen(): void {
    this.#handle.onAborted(this.#closed);
    this.#handle.onData(this.#onData);
  }

  readonly #onData = (chunk: ArrayBuffer, last: boolean): void => {
    if (this.#exchange === undefined) {
      this.#exchange = this.#host.takeArriving();
      this.#exchange?.bind(this);
    }
    this.#exchange?.receive(chunk, last);
  };

  readonly #closed = (): void => {
    const exchange = this.#exchange;
    this.drop();
    exchange?.clientGone();
  };
}

/** Twice within the 8 s after which the library may close. */
export const KEEP_OPEN_TICK_MS = 1_000;
const KEEP_OPEN_MS = 3_000;
