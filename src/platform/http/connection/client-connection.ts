/**
 * The object that the library's filter passes when a connection is accepted. Unlike the object of a
 * request it stays valid until the connection closes or becomes a WebSocket. Using it after that
 * ends the process.
 */
export interface ConnectionHandle {
  onAborted(closed: () => void): unknown;
  onData(receive: (chunk: ArrayBuffer, last: boolean) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  close(): unknown;
}

/** A request and its answer (exchange.ts), as seen by its connection. */
export interface ConnectionUser {
  bind(connection: ClientConnection): void;
  receive(chunk: ArrayBuffer, last: boolean): void;
  clientGone(): void;
}

/** The parts of the server that a connection uses. */
export interface ConnectionHost {
  /** Returns, once, the request whose head the library has just delivered. */
  takeArriving(): ConnectionUser | undefined;
  /** The connection closed or was handed over. */
  forget(connection: ClientConnection): void;
}

/**
 * One TCP connection. The library closes a connection that brings no request for 8 to 12 s, counted
 * from its acceptance by the kernel: a client that is too busy to write at once finds the
 * connection closed under the request that it has just sent. So this object keeps the connection
 * open for as long as the server allows.
 *
 * The library does not report the connection of a request. But it calls the data handler of the
 * connection directly after the request's own handler, also for a request without a body, and that
 * associates the two.
 */
export class ClientConnection {
  readonly #handle: ConnectionHandle;
  readonly #host: ConnectionHost;
  #exchange: ConnectionUser | undefined;
  #idleSinceMs = performance.now();
  /** When the library's clock was last reset. */
  #keptMs = this.#idleSinceMs;

  constructor(handle: ConnectionHandle, host: ConnectionHost) {
    this.#handle = handle;
    this.#host = host;
    this.#listen();
  }

  /**
   * The answer was sent and the connection is still open. Never called within the library's call of
   * the data handler, which this replaces.
   */
  awaitRequest(): void {
    this.#exchange = undefined;
    this.#idleSinceMs = performance.now();
    this.#keptMs = this.#idleSinceMs;
    this.#listen();
  }

  /** The connection closed, or became a WebSocket. */
  drop(): void {
    this.#exchange = undefined;
    this.#host.forget(this);
  }

  /**
   * Called every KEEP_OPEN_TICK_MS with `performance.now()`: closes the connection after `idleMs`,
   * and keeps it open until then.
   */
  keepOpen(nowMs: number, idleMs: number): void {
    if (this.#exchange !== undefined) return;
    if (nowMs - this.#idleSinceMs >= idleMs) this.#handle.close();
    else if (nowMs - this.#keptMs >= KEEP_OPEN_MS) {
      this.#keptMs = nowMs;
      // Resets the library's clock to its 10 s.
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

/** With KEEP_OPEN_MS, twice within the 8 s after which the library may close. */
export const KEEP_OPEN_TICK_MS = 1_000;
const KEEP_OPEN_MS = 3_000;
