import type { HttpResponse, us_listen_socket, WebSocket } from 'uWebSockets.js';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../platform/http/uws.ts';

type Cork = WebSocket<unknown>['cork'];

/**
 * Corks requests that become sockets after an `await`, so that the answer and the first frames
 * leave in one write. Without a cork uWS writes the answer in some twenty pieces, each a system
 * call that sends a packet: a third of the processor time of a resume.
 *
 * The request's own cork must not do it (v20.49, mended in v20.80). An upgrade makes the request's
 * memory smaller with `realloc`, which may leave it at its address; then HttpResponse::cork takes
 * the socket for the request that it was. Behind the corked bytes it reads the request's flags,
 * from the part of the memory that was given back, and closes the socket if the part has been
 * reused since and two of its bits are set in the wrong way. Even if nothing but the library's own
 * work happens within the cork, a collection of garbage may, and one socket in 200,000 was closed.
 *
 * So requests are corked by the method of sockets: the binary does not check what a method is
 * called on, and keeps the address of either kind in the same place. WebSocket::cork takes the cork
 * for its address, runs the work, and writes the corked bytes if the cork is still held for that
 * address. It reads nothing but the address of the event loop and the queue of bytes, which both
 * kinds have at the same offsets, and no flags, so there is nothing that could close the socket.
 * It depends on the address: glibc never moves a block that becomes smaller. An allocator that does
 * would leave the cork held, so with another one, on other systems, and until a first socket has
 * shown its method, answers are written in pieces.
 *
 * Of 2,000,000 upgrades (two of `npm run campaign -- upgrades`) none was closed before its client
 * left; with the request's own cork, one of the first 3,600 was.
 */
export class UpgradeCork {
  /** Must have resolved before `run` is called. */
  readonly ready: Promise<void>;
  #corkAsSocket: Cork | undefined;
  #held: HttpResponse | undefined;
  #client: Socket | undefined;

  constructor() {
    this.ready = this.#hold();
    // The first upgrade reports a rejection.
    this.ready.catch(() => {});
  }

  /** Runs `upgrade`, which makes this request a socket. Nothing else may be corked meanwhile. */
  run(request: HttpResponse, upgrade: () => void): void {
    // Its own method finds the cork taken and only notes, for the library, that there is one.
    if (this.#corkAsSocket !== undefined)
      Reflect.apply(this.#corkAsSocket, request, [() => request.cork(upgrade)]);
    else if (this.#held !== undefined) this.#held.cork(upgrade);
    else upgrade();
  }

  /** Must be called with a socket of the server. */
  learn(socket: { readonly cork: Cork }): void {
    if (this.#corkAsSocket !== undefined || !KEEPS_ADDRESS) return;
    this.#corkAsSocket = socket.cork;
    this.close();
  }

  close(): void {
    this.#client?.destroy();
  }

  /**
   * Makes a request of our own, on a listener that is closed afterwards, and never answers it.
   * While it holds uWS's one cork, uWS does not complain on standard error about uncorked writes.
   */
  async #hold(): Promise<void> {
    const app = App();
    const { promise: requested, resolve } = Promise.withResolvers<void>();
    app.get('/', (response) => {
      response.onAborted(() => {
        this.#held = undefined;
      });
      this.#held = response;
      resolve();
    });
    const listener = await new Promise<us_listen_socket>((resolve, reject) => {
      app.listen('127.0.0.1', 0, (socket) =>
        socket === false ? reject(new Error('cannot listen on 127.0.0.1')) : resolve(socket),
      );
    });
    this.#client = connect(us_socket_local_port(listener), '127.0.0.1').unref();
    this.#client.write('GET / HTTP/1.1\r\nHost: cork\r\n\r\n');
    await requested;
    us_listen_socket_close(listener);
  }
}

const KEEPS_ADDRESS = isAllocatorOfGlibc();

/** Returns whether glibc, which the binary needs on Linux, has no replacement like jemalloc. */
function isAllocatorOfGlibc(): boolean {
  try {
    return !readFileSync('/proc/self/maps', 'latin1').includes('malloc');
  } catch {
    return false;
  }
}
