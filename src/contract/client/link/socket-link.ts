import type { ServerFrame } from '../../protocol/socket/server-frames.ts';
import { type ClientError, clientError, reasonOfEnd } from '../client-error.ts';
import { ParleyError } from '../parley-error.ts';
import {
  afterClose,
  Connection,
  type ConnectionEnd,
  type ConnectionListener,
  type Incoming,
  type SocketConstructor,
} from './connection.ts';
import type { Credential } from './credential.ts';
import { Backoff } from './pauses.ts';
import type { Timing } from './timing.ts';

export interface LinkOptions {
  /** http: or https:, without a trailing slash. Rejects with ParleyError `url_source`. */
  readonly origin: () => Promise<string>;
  readonly account: string;
  readonly version: string;
  readonly credential: Credential;
  readonly WebSocket: SocketConstructor;
  /** Longest wait between two tries, in milliseconds. */
  readonly mostWaitMs: number;
  readonly timing: Timing;
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
 * Keeps a client connected: retries by close code (docs/realtime.md#close-codes), moves to another
 * connection before a node closes the current one, and keeps the credential fresh.
 */
export class SocketLink {
  readonly #options: LinkOptions;
  readonly #listener: LinkListener;
  readonly #backoff: Backoff;
  #opening: Connection | undefined;
  #current: Connection | undefined;
  /** The previous connection, kept until the current one has caught up. */
  #leaving: Connection | undefined;
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
    const attempt = ++this.#attempts;
    this.#stopWaiting = undefined;
    this.#connect(attempt).catch((error: unknown) => {
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
    if (this.#stopWaiting === undefined || !this.#mayWake || this.#over) return;
    this.#stopWaiting();
    this.open();
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
    for (const connection of [this.#opening, this.#leaving, this.#current]) connection?.close();
    this.#listener.changed();
  }

  async #connect(attempt: number): Promise<void> {
    const { origin, account, version, credential, WebSocket, timing } = this.#options;
    const [base, token] = await Promise.all([origin(), credential.current()]);
    if (this.#over || attempt !== this.#attempts || this.#opening !== undefined) return;
    const url = `${base.replace(/^http/, 'ws').replace(/\/+$/, '')}/v1/realtime`;
    const listener: ConnectionListener = {
      received: (connection, frame) => this.#received(connection, frame),
      ended: (connection, end) => this.#ended(connection, end),
    };
    try {
      const connection = { url, WebSocket, credential: { token, account, version }, timing, listener };
      this.#opening = new Connection(connection);
    } catch (error) {
      // The platform refuses the URL, such as ws: on a page that was loaded over https:.
      this.#finish({ code: 1006, reason: String(error) }, 'url_rejected');
    }
  }

  #received(connection: Connection, frame: Incoming): void {
    if (frame.type === 'ready' && connection === this.#opening) {
      this.#leaving?.close();
      this.#leaving = this.#current;
      this.#failedMoves = 0;
      this.#opening = undefined;
      this.#current = connection;
      this.#listener.attached(connection, frame);
      return;
    }
    if (connection === this.#current) {
      if (frame.type === 'goaway') this.#wait(frame.reconnect_in_ms, false);
      if (frame.type === 'auth_expiring') this.#refresh(connection);
    }
    this.#listener.received(connection, frame);
  }

  #ended(connection: Connection, end: ConnectionEnd): void {
    if (connection === this.#leaving) {
      this.#leaving = undefined;
      this.#listener.changed();
      return;
    }
    const isMove = connection === this.#opening && this.#current !== undefined;
    if (connection === this.#opening) this.#opening = undefined;
    if (connection === this.#current) this.#current = undefined;
    if (this.#over) return;
    this.#goOn(end, isMove);
    // There is no other node, and this one waits for the client before it stops.
    if (isMove && ++this.#failedMoves % MAX_MOVES === 0) this.reopen();
    this.#listener.changed();
  }

  #goOn(end: ConnectionEnd, isMove: boolean): void {
    const { next, waitMs } = afterClose(end);
    const { credential } = this.#options;
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
    if (this.#opening === undefined) this.#wait(waitMs + this.#backoff.next(), waitMs === 0);
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

const REFRESH_AGAIN_MS = 5_000;
const MAX_MOVES = 5;
