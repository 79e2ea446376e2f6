import type { ServerFrame } from '@parley/protocol/socket/server-frames.ts';
import { AUTHENTICATE_MS } from '@parley/protocol/socket/socket-limits.ts';
import { type ClientError, clientError, reasonOfEnd } from '../errors/client-error.ts';
import type { ConnectionEnd } from '../errors/connection-end.ts';
import { ParleyError } from '../errors/parley-error.ts';
import {
  afterClose,
  Connection,
  type ConnectionListener,
  FIRST_FRAME_MS,
  type Incoming,
  type SocketConstructor,
  type SocketLike,
} from './connection.ts';
import type { HttpSocketOptions } from './http/http-socket.ts';
import { Backoff } from './pauses.ts';
import type { Server } from './server.ts';
import type { Transport } from './transport.ts';
import type { TransportChoice } from './transport-choice.ts';

export interface LinkOptions extends Server {
  readonly choice: TransportChoice;
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
 * moves to another connection before a node closes the current one or where a better transport
 * works, and keeps the credential fresh.
 */
export class SocketLink {
  readonly #options: LinkOptions;
  readonly #listener: LinkListener;
  readonly #backoff: Backoff;
  readonly #climbs: Backoff;
  #opening: Connection | undefined;
  #current: Connection | undefined;
  /** The previous connection, kept until the current one has caught up. */
  #leaving: Connection | undefined;
  /** Where the opening connection stands among the better transports, if it is to find one. */
  #climbing: number | undefined;
  #stopClimbing: (() => void) | undefined;
  /** The server of the newest connection. */
  #base = '';
  /** Cancels the next try. */
  #stopWaiting: (() => void) | undefined;
  /** Whether the wait is our own and may be cut short, unlike one that the server asked for. */
  #mayWake = false;
  #attempts = 0;
  /** Successive failures to leave the current connection. */
  #failedMoves = 0;
  #over = false;

  constructor(options: LinkOptions, listener: LinkListener) {
    this.#options = options;
    this.#listener = listener;
    this.#backoff = new Backoff(options.timing, options.mostWaitMs);
    this.#climbs = new Backoff(options.timing, MOST_CLIMB_MS, FIRST_CLIMB_MS);
  }

  get current(): Connection | undefined {
    return this.#current;
  }

  /** The previous connection, while events still arrive over it too. */
  get leaving(): Connection | undefined {
    return this.#leaving;
  }

  get phase(): 'open' | 'opening' | 'waiting' {
    if (this.#current !== undefined) return 'open';
    return this.#over || this.#stopWaiting !== undefined ? 'waiting' : 'opening';
  }

  open(): void {
    if (this.#over) return;
    const attempt = ++this.#attempts;
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    this.#abandonClimb();
    const isNeeded = () => attempt === this.#attempts && this.#opening === undefined;
    this.#connect(isNeeded).catch((error: unknown) => {
      if (this.#over || attempt !== this.#attempts) return;
      this.#wait(this.#backoff.next(), true);
      if (error instanceof ParleyError && error.code === 'url_source') {
        this.#listener.failed(clientError('url_source', true, error));
      }
      this.#listener.changed();
    });
    this.#listener.changed();
  }

  /** Tries now, as the network is back or the page visible, but keeps a wait from the server. */
  wake(): void {
    if (this.#stopWaiting !== undefined && this.#mayWake) this.open();
  }

  /** Closes the previous connection, because everything has arrived. */
  settled(): void {
    this.#backoff.reset();
    this.#leaving?.close();
  }

  /** Replaces a connection that cannot do what is needed, as if it had broken. */
  reopen(): void {
    this.#current?.close();
  }

  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopWaiting?.();
    this.#stopClimbing?.();
    for (const connection of [this.#opening, this.#leaving, this.#current]) connection?.close();
    this.#listener.changed();
  }

  /** Returns whether a connection is being opened: over `climb`, one of the better transports. */
  async #connect(isNeeded: () => boolean, climb?: number): Promise<boolean> {
    const { origin, account, version, credential, choice, timing } = this.#options;
    const [base, token] = await Promise.all([origin(), credential.current()]);
    choice.recall(base);
    const transport = climb === undefined ? choice.current : choice.better[climb];
    if (transport === undefined) return false;
    const dial = await this.#dialer(transport);
    if (this.#over || !isNeeded()) return false;
    const listener: ConnectionListener = {
      received: (connection, frame) => this.#received(connection, frame),
      ended: (connection, end) => this.#ended(connection, end),
    };
    try {
      const socket = dial(base, token);
      const openingMs = choice.hasNext ? FIRST_FRAME_MS : LAST_FRAME_MS;
      const fields = { token, account, version };
      this.#base = base;
      this.#climbing = climb;
      this.#opening = new Connection({ transport, socket, openingMs, credential: fields, timing, listener });
    } catch (error) {
      if (climb !== undefined) return false;
      // The platform refuses the URL, such as ws: on a page that was loaded over https:.
      this.#finish({ code: 1006, reason: String(error) }, 'url_rejected');
    }
    return true;
  }

  /** Loads what the transport needs. Rejects if that fails. */
  async #dialer(transport: Transport): Promise<(base: string, token: string) => SocketLike> {
    const { WebSocket, account } = this.#options;
    if (transport === 'websocket' && WebSocket !== undefined) {
      return (base) => new WebSocket(`${base.replace(/^http/, 'ws')}/v1/realtime?account=${account}`);
    }
    const { HttpSocket } = await import('./http/http-socket.ts');
    const kind = transport === 'poll' ? 'poll' : 'stream';
    return (base, token) => new HttpSocket({ ...this.#options, transport: kind, base, token });
  }

  #received(connection: Connection, frame: Incoming): void {
    if (frame.type === 'ready' && connection === this.#opening) {
      this.#leaving?.close();
      this.#leaving = this.#current;
      this.#failedMoves = 0;
      this.#opening = undefined;
      this.#current = connection;
      this.#settle(connection);
      this.#listener.attached(connection, frame);
      return;
    }
    if (frame.type === 'ping') this.#options.choice.proved(connection.transport);
    if (connection === this.#current) {
      if (frame.type === 'goaway') this.#wait(frame.reconnect_in_ms, false);
      if (frame.type === 'auth_expiring') this.#refresh(connection);
    }
    this.#listener.received(connection, frame);
  }

  /** The connection is ready: what was planned before is void. */
  #settle({ transport }: Connection): void {
    const { choice } = this.#options;
    this.#climbing = undefined;
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    choice.opened(transport, this.#base);
    if (this.#leaving === undefined) {
      // Perhaps in another network.
      this.#climbs.reset();
      this.#stopClimbing?.();
      this.#stopClimbing = undefined;
    }
    if (this.#stopClimbing === undefined) this.#climbLater();
  }

  #ended(connection: Connection, end: ConnectionEnd): void {
    if (connection === this.#leaving) {
      this.#leaving = undefined;
      this.#listener.changed();
      return;
    }
    if (connection !== this.#opening && connection !== this.#current) return;
    const isMove = connection === this.#opening && this.#current !== undefined;
    const climb = connection === this.#opening ? this.#climbing : undefined;
    if (connection === this.#opening) this.#opening = this.#climbing = undefined;
    if (connection === this.#current) this.#current = undefined;
    if (this.#over) return;
    if (isMove && climb !== undefined) {
      this.#climb(climb + 1);
      return;
    }
    this.#goOn(connection, end, isMove);
    // There is no other node, and this one waits for the client before it stops.
    if (isMove && ++this.#failedMoves % MAX_MOVES === 0) this.reopen();
    this.#listener.changed();
  }

  #goOn({ transport, progress }: Connection, end: ConnectionEnd, isMove: boolean): void {
    const { next, waitMs } = afterClose(end);
    const { credential, choice, follow } = this.#options;
    follow(end.error);
    if (next === 'stop' || (next === 'authenticate' && !credential.renewable)) {
      this.#finish(end, reasonOfEnd(end) ?? 'protocol');
      return;
    }
    const reason = reasonOfEnd(end);
    // While the current connection lasts, nothing is lost.
    if (reason !== undefined && !isMove) this.#listener.failed(clientError(reason, true, end.error ?? end));
    if (next === 'authenticate') credential.expired();
    if (next === 'start_afresh') this.#listener.cursorRefused();
    // A move to another connection is already under way.
    if (this.#opening !== undefined && this.#climbing === undefined) return;
    if (!isMove && isOfNetwork(end) && choice.failed(transport, progress)) this.open();
    else this.#wait(waitMs + this.#backoff.next(), waitMs === 0);
  }

  /** Tries the better transports from this one on while the current connection lasts. */
  #climb(index: number): void {
    this.#stopClimbing = undefined;
    const isNeeded = () => this.#current !== undefined && this.#opening === undefined;
    const later = () => {
      if (this.#stopClimbing === undefined) this.#climbLater();
    };
    if (!isNeeded() || index >= this.#options.choice.better.length) later();
    else this.#connect(isNeeded, index).then((isOpening) => isOpening || later(), later);
  }

  /** Networks change, and so does what they block. */
  #climbLater(): void {
    const { choice, timing } = this.#options;
    if (this.#over || choice.better.length === 0) return;
    this.#stopClimbing = timing.after(this.#climbs.next(), () => this.#climb(0));
  }

  #abandonClimb(): void {
    if (this.#climbing === undefined) return;
    const connection = this.#opening;
    this.#opening = this.#climbing = undefined;
    connection?.close();
    this.#climbLater();
  }

  #wait(ms: number, mayWake: boolean): void {
    this.#stopWaiting?.();
    this.#mayWake = mayWake;
    this.#stopWaiting = this.#options.timing.after(ms, () => this.open());
  }

  /** Retries until it succeeds, or the server closes the socket for it. */
  #refresh(connection: Connection): void {
    const { credential, timing } = this.#options;
    if (!credential.renewable) return;
    const again = () => {
      timing.after(REFRESH_AGAIN_MS, () => {
        if (connection === this.#current) this.#refresh(connection);
      });
    };
    credential.expired();
    credential.current().then(
      (token) =>
        connection.ask('refresh', { token }, (answer) => {
          if (answer.ok || answer.error === null) return;
          this.#listener.failed(clientError('credential_rejected', true, answer.error));
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

/**
 * The network ended the connection: the server closes with codes of its own, the client with 1000.
 */
function isOfNetwork({ code }: ConnectionEnd): boolean {
  return code < 4000 && code !== 1000;
}

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
