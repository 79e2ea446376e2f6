import type { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import type { ServerFrame } from '@parley/protocol/socket/server-frames.ts';
import { AUTHENTICATE_MS } from '@parley/protocol/socket/socket-limits.ts';
import { type ClientError, clientError, reasonOfEnd } from '../errors/client-error.ts';
import type { ConnectionEnd } from '../errors/connection-end.ts';
import { ParleyError } from '../errors/parley-error.ts';
import {
  afterClose,
  Connection,
  FIRST_FRAME_MS,
  type Incoming,
  type SocketConstructor,
  type SocketLike,
} from './connection.ts';
import type { HttpSocketOptions } from './http/http-socket.ts';
import {
  BID,
  CLIMB,
  CLOSE,
  DIAL,
  DOWN,
  DUE,
  FAILED,
  FALLS,
  LINK_TABLE,
  type LinkEvent,
  type LinkMove,
  type LinkState,
  LOST,
  MOVED,
  NEXT,
  OPENS,
  OVER,
  PAUSE,
  READY,
  RELAY,
  RUNGS,
  STUCK,
  WAKE,
  YIELD,
} from './link-table.ts';
import type { OriginCheck } from './origin-check.ts';
import { Backoff } from './pauses.ts';
import type { Server } from './server.ts';
import type { Transport } from './transport.ts';
import type { TransportChoice } from './transport-choice.ts';

export interface LinkOptions extends Server {
  readonly choice: TransportChoice;
  readonly originCheck: OriginCheck;
  /** Undefined only if `choice` excludes it. */
  readonly WebSocket: SocketConstructor | undefined;
  /** Sends a request over REST. Rejects with ParleyError. */
  readonly call: HttpSocketOptions['call'];
}

export type ReadyFrame = Extract<ServerFrame, { type: 'ready' }>;

export interface LinkListener {
  /** This connection is now the current one; `ready` has the server's position at that time. */
  attached(connection: Connection, ready: ReadyFrame): void;
  /** From the current connection, and from the previous one until it is closed. */
  received(connection: Connection, frame: Incoming): void;
  /** The server refused our cursor. */
  cursorRefused(): void;
  /** `phase` may have changed. */
  changed(): void;
  /** Connecting failed, or the connection was lost. The credential reports its own failures. */
  failed(error: ClientError): void;
  /** The client will not connect again. */
  finished(end: ConnectionEnd): void;
}

/**
 * Keeps a client connected: retries by close code (docs/realtime.md#close-codes) and by transport,
 * and keeps the credential fresh. It moves to another connection before a node closes the current
 * one or where a better transport works. LINK_TABLE says when.
 */
export class SocketLink {
  readonly #options: LinkOptions;
  readonly #listener: LinkListener;
  readonly #backoff: Backoff;
  readonly #climbs: Backoff;
  #state: LinkState = DOWN;
  /** The try that is under way; a placeholder until it has a socket. */
  #opening: Pick<Connection, 'close'> | undefined;
  current: Connection | undefined;
  /** The previous connection, which sends events too until the current one has caught up. */
  leaving: Connection | undefined;
  /** Number of better transports that the present climb has tried. */
  #rung = 0;
  /** Successive failures to leave the current connection. */
  #failedMoves = 0;
  #stopWaiting = () => {};
  #stopClimbing = () => {};
  #stopRefreshing = () => {};

  constructor(options: LinkOptions, listener: LinkListener) {
    this.#options = options;
    this.#listener = listener;
    this.#backoff = new Backoff(options.timing, options.mostWaitMs);
    this.#climbs = new Backoff(options.timing, () => MOST_CLIMB_MS, FIRST_CLIMB_MS);
  }

  get phase(): 'open' | 'opening' | 'waiting' {
    if (this.current !== undefined) return 'open';
    return this.#state <= DIAL ? 'opening' : 'waiting';
  }

  open(): void {
    this.#try(NEXT);
  }

  /**
   * Tries now, as something has changed for the better, but keeps a wait from the server.
   * Checks the current connection, which may have been cut unnoticed.
   */
  wake(): void {
    this.current?.check();
    this.#try(WAKE);
  }

  /** Ends for good: the server refuses the origin of the page. */
  refuse({ message, error }: ParleyError): void {
    if (this.#state !== OVER)
      this.#finish({ code: FORBIDDEN, reason: message, error: error! }, 'origin_rejected');
  }

  /** Closes the previous connection, because everything has arrived. */
  settled(): void {
    this.#backoff.reset();
    this.leaving?.close();
  }

  /** Replaces a connection that is not good enough, as if it had broken. */
  reopen(): void {
    this.current?.close();
  }

  close(): void {
    if (!this.#on(CLOSE)) return;
    this.#release();
    this.#stopClimbing();
    this.#stopRefreshing();
    this.leaving?.close();
    this.current?.close();
    this.#listener.changed();
  }

  /** Goes to the next state. Returns the move that the caller has to make; 0 is none. */
  #on(event: LinkEvent): LinkMove {
    const move = LINK_TABLE[this.#state][event];
    if (move !== 0) this.#state = (move % 10) as LinkState;
    return move;
  }

  #try(event: typeof NEXT | typeof DUE | typeof WAKE): void {
    if (!this.#on(event)) return;
    this.#dial();
    this.#listener.changed();
  }

  #plan(event: typeof PAUSE | typeof BID, ms: number): void {
    const move = this.#on(event);
    if (!move) return;
    this.#release();
    if (move === YIELD) this.#climbLater();
    this.#stopWaiting = this.#options.timing.after(ms, () => this.#try(DUE));
  }

  /** Ends the wait or the try of the state before. */
  #release(): void {
    this.#stopWaiting();
    const connection = this.#opening;
    this.#opening = undefined;
    connection?.close();
  }

  /** Begins a try: over the current transport, or a better one beside the current connection. */
  #dial(better?: Transport): void {
    this.#release();
    const begun = { close() {} };
    this.#opening = begun;
    this.#connect(begun, better).catch((error: unknown) => {
      if (this.#opening !== begun) return;
      this.#opening = undefined;
      if (this.#on(FAILED) === RUNGS) return void this.#climbLater();
      this.#plan(PAUSE, this.#backoff.next());
      if (error instanceof ParleyError && error.code === 'url_source') {
        this.#listener.failed(clientError('url_source', true, error));
      }
      this.#listener.changed();
    });
  }

  /** Rejects if there will be no connection. */
  async #connect(begun: object, better: Transport | undefined): Promise<void> {
    const { origin, account, version, credential, choice, timing, WebSocket } = this.#options;
    const [base, token] = await Promise.all([origin(), credential.current()]);
    choice.recall(base);
    const transport = better ?? choice.current;
    let dial = (): SocketLike =>
      new WebSocket!(`${base.replace(/^http/, 'ws')}/v1/realtime?account=${account}`);
    if (transport !== 'websocket') {
      try {
        const { HttpSocket } = await import('./http/http-socket.ts');
        dial = () => new HttpSocket({ ...this.#options, transport, base, token });
      } catch (error) {
        // Firefox does not ask for this module again, so the next try is over another transport.
        choice.failed(transport, 'unanswered');
        throw error;
      }
    }
    if (this.#opening !== begun) return;
    try {
      this.#opening = new Connection({
        transport,
        socket: dial(),
        openingMs: choice.hasNext ? FIRST_FRAME_MS : LAST_FRAME_MS,
        credential: { token, account, version },
        timing,
        listener: {
          received: (connection, frame) => this.#received(connection, frame),
          ended: (connection, end) => this.#ended(connection, end),
        },
      });
    } catch (error) {
      if (better !== undefined) throw error;
      // The platform refuses the URL, such as ws: on a page that was loaded over https:.
      this.#finish({ code: 1006, reason: String(error) }, 'url_rejected');
    }
  }

  #received(connection: Connection, frame: Incoming): void {
    if (frame.type === 'ready' && connection === this.#opening) {
      this.#adopt(connection, frame);
      return;
    }
    if (frame.type === 'ping') this.#options.choice.proved(connection.transport);
    if (connection === this.current) {
      if (frame.type === 'goaway') this.#plan(BID, frame.reconnect_in_ms);
      if (frame.type === 'auth_expiring') this.#refresh(connection);
    }
    this.#listener.received(connection, frame);
  }

  #adopt(connection: Connection, frame: ReadyFrame): void {
    this.leaving?.close();
    // The application may have closed the link.
    if (connection !== this.#opening) return;
    const move = this.#on(READY);
    this.leaving = this.current;
    this.#failedMoves = 0;
    this.#opening = undefined;
    this.current = connection;
    this.#options.choice.opened(connection.transport);
    // The network may have changed.
    if (move === OPENS) this.#climbs.reset();
    if (move !== MOVED) this.#climbLater();
    this.#listener.attached(connection, frame);
  }

  #ended(connection: Connection, end: ConnectionEnd): void {
    if (connection === this.leaving) {
      this.leaving = undefined;
      this.#listener.changed();
      return;
    }
    const event = connection === this.current ? LOST : FAILED;
    if (event === LOST) {
      this.current = undefined;
      this.#stopClimbing();
    } else if (connection === this.#opening) this.#opening = undefined;
    else return;
    const { next, waitMs } = afterClose(end);
    const { credential, choice, follow, originCheck } = this.#options;
    const move = this.#on(event);
    if (move === RUNGS) return void this.#climb();
    if (!move) return;
    follow(end.error);
    if (next === 'stop' || (next === 'authenticate' && !credential.renewable)) {
      this.#finish(end, reasonOfEnd(end) ?? 'protocol');
      return;
    }
    const reason = reasonOfEnd(end);
    // While the current connection lasts, nothing is lost.
    if (reason !== undefined && move !== STUCK) {
      this.#listener.failed(clientError(reason, true, end.error ?? end));
    }
    if (next === 'authenticate') credential.expired();
    if (next === 'start_afresh') this.#listener.cursorRefused();
    // The network ended it: servers close with codes of their own, the client itself with 1000.
    const isOfNetwork = end.code < 4000 && end.code !== 1000;
    if (isOfNetwork && connection.progress === 'unanswered') void originCheck.ask();
    if (move === FALLS && isOfNetwork && choice.failed(connection.transport, connection.progress))
      this.open();
    else if (move !== RELAY) this.#plan(waitMs === 0 ? PAUSE : BID, waitMs + this.#backoff.next());
    // There is no other node, and this one waits for the client before it stops.
    if (move === STUCK && ++this.#failedMoves % MAX_MOVES === 0) this.reopen();
    this.#listener.changed();
  }

  /** Tries the next of the better transports while the current connection lasts. */
  #climb(): void {
    const better = this.#options.choice.better[this.#rung++];
    if (better !== undefined && this.#on(CLIMB)) this.#dial(better);
    else this.#climbLater();
  }

  /** Plans another climb, because networks change. */
  #climbLater(): void {
    const { choice, timing } = this.#options;
    if (choice.better.length === 0) return;
    this.#stopClimbing = timing.after(this.#climbs.next(), () => {
      this.#rung = 0;
      this.#climb();
    });
  }

  /** Renews the token until it succeeds or the server closes the socket. */
  #refresh(connection: Connection): void {
    const { credential, timing } = this.#options;
    if (connection !== this.current || !credential.renewable) return;
    const again = () => {
      if (connection !== this.current) return;
      this.#stopRefreshing();
      this.#stopRefreshing = timing.after(REFRESH_AGAIN_MS, () => this.#refresh(connection));
    };
    credential.expired();
    credential.current().then(
      (token) =>
        connection.ask('refresh', { token }, ({ error }) => {
          if (!error) return;
          this.#listener.failed(clientError('credential_rejected', true, error));
          again();
        }),
      again,
    );
  }

  #finish(end: ConnectionEnd, reason: ClientError['reason']): void {
    this.close();
    this.#listener.failed(clientError(reason, false, end.error ?? end));
    this.#listener.finished(end);
  }
}

/** The code of a refused socket, which browsers do not show. */
const FORBIDDEN: (typeof CLOSE_CODES)['forbidden']['code'] = 4403;
const REFRESH_AGAIN_MS = 5_000;
const MAX_MOVES = 5;

/**
 * Milliseconds to the first frame over the last transport: as long as the server waits for a
 * client.
 */
const LAST_FRAME_MS = AUTHENTICATE_MS;

/** Bounds of the wait before the better transports are tried again. */
const FIRST_CLIMB_MS = 60_000;
const MOST_CLIMB_MS = 3_600_000;
