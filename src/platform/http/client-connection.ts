/**
 * The library's filter passes it when a connection is accepted. Unlike the object of a request it
 * is valid until the connection closes or becomes a WebSocket. Later use ends the process.
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
  /** Returns once the request whose head the library has just delivered. */
  takeArriving(): ConnectionUser | undefined;
  /** Called when the connection closed or was handed over. */
  forget(connection: ClientConnection): void;
}

/**
 * One TCP connection. The library closes a connection that brings no request for 8 to 12 s, counted
 * from its acceptance by the kernel. A client too busy to write at once would find it closed under
 * the request that it has just sent. This object keeps it open as long as the server allows.
 *
 * The library does not report the connection of a request. But it calls the connection's data
 * handler directly after the request's handler, also without a body, which associates the two.
 */
export class ClientConnection {
  readonly #handle: ConnectionHandle;
  readonly #host: ConnectionHost;
  #exchange: ConnectionUser | undefined;
  #idleSinceMs = performance.now();
  /** The last reset of the library's clock. */
  #keptMs = this.#idleSinceMs;

  constructor(handle: ConnectionHandle, host: ConnectionHost) {
    this.#handle = handle;
    this.#host = host;
    this.#listen();
  }

  /**
   * Called when the answer was sent and the connection is still open, but never within the
   * library's call of the data handler, which this replaces.
   */
  awaitRequest(): void {
    this.#exchange = undefined;
    this.#idleSinceMs = performance.now();
    this.#keptMs = this.#idleSinceMs;
    this.#listen();
  }

  /** Ends a connection that is open and has no request. */
  close(): void {
    this.#handle.close();
  }

  /** Called when the connection closed or became a WebSocket. */
  drop(): void {
    this.#exchange = undefined;
    this.#host.forget(this);
  }

  /** Called every KEEP_OPEN_TICK_MS with `performance.now()`; closes when idle for `idleMs`. */
  keepOpen(nowMs: number, idleMs: number): void {
    if (this.#exchange !== undefined) return;
    if (nowMs - this.#idleSinceMs >= idleMs) this.close();
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
